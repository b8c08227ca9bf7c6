"""Stopping rules of a run, and of the passes between two scans, for any formulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from multimargin import _core


class Certificate(Protocol):
    """Bounds of the objectives from a scan of all classes at the same weights."""

    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def violation(self) -> float: ...


class PassSummary(NamedTuple):
    """A pass of all ranks, each sample as it was just before its move; sums in a fixed order."""

    gap: float
    violation: float
    complete: bool = True


PassResult: TypeAlias = _core.PassReport | PassSummary


def relative_gap(scan: Certificate) -> float:
    """Return (primal - dual) / primal; the primal is positive unless everything is zero."""
    if math.isnan(scan.primal) or math.isnan(scan.dual):
        return math.inf  # proves nothing
    if math.isinf(scan.primal):
        return 1.0  # a hard margin that is not met yet
    scale = max(abs(scan.primal), abs(scan.dual))
    return (scan.primal - scan.dual) / scale if scale > 0 else 0.0


@dataclass(frozen=True)
class GapStopping:
    """Stop when the relative duality gap is at most ``tol``."""

    by_gap: ClassVar[bool] = True
    tol: float
    idle: float = -1.0  # every coordinate of a visited sample moves
    # Of the target: a pass over due samples that measures this is followed by one over all.
    confirm: float = 0.6

    def reached(self, scan: Certificate) -> bool:
        return relative_gap(scan) <= self.tol

    def measure(self, result: PassResult) -> float:
        return result.gap

    def target(self, scan: Certificate, share: float) -> float:
        """Return the measure at which the next scan is due: a share of what this one found."""
        return max(share * (scan.primal - scan.dual), self.floor(scan))

    def floor(self, scan: Certificate | None) -> float:
        """Return the measure below which passes need not go, given the last scan."""
        # The next scan should confirm, so leave room for violators outside the active set.
        return 0.5 * self.tol * scan.primal if scan is not None else 0.0

    def quiet(self, target: float, samples: int) -> tuple[float, float]:
        """Return gap and violation of a sample below which its next visit can wait."""
        return 0.5 * target / samples, -1.0


@dataclass(frozen=True)
class ViolationStopping:
    """Stop when no projected gradient exceeds ``tol``; those within ``tol`` are left alone."""

    by_gap: ClassVar[bool] = False
    tol: float
    confirm: float = 1.0  # coordinates within tol stay, so no pass ever measures much less

    @property
    def idle(self) -> float:
        return self.tol

    def reached(self, scan: Certificate) -> bool:
        return scan.violation <= self.tol

    def measure(self, result: PassResult) -> float:
        return result.violation

    def target(self, scan: Certificate, share: float) -> float:
        return max(share * scan.violation, self.tol)

    def floor(self, scan: Certificate | None) -> float:
        return self.tol

    def quiet(self, target: float, samples: int) -> tuple[float, float]:
        return 0.0, max(0.5 * target, self.tol)


Stopping = GapStopping | ViolationStopping

STOPPINGS: dict[str, type[GapStopping] | type[ViolationStopping]] = {
    "gap": GapStopping,
    "violation": ViolationStopping,
}
