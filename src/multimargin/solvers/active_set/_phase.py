"""Phases of a run, passes between two scans, and the numbers of a run that a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from multimargin.solvers.active_set._pass_plan import Plan


@dataclass
class Phase:
    """Passes between two scans: what they aim at, and how they have fared so far."""

    target: float | None  # unknown before the first scan
    floor: float
    everything: bool = True  # whether the next pass visits all samples
    first: bool = True
    best: float = np.inf
    stale: int = 0  # passes since the best
    measure: float = np.inf  # of the last pass over all samples

    def set_target(self, measure: float, first_share: float, phase_share: float) -> float:
        """Choose the target from what the first pass has measured, and return it.

        Where most of the gap lies outside the active set, the scan's target is reached at once; but
        passes are cheaper than scans, so get on with what is inside.
        """
        share = first_share if self.target is None else phase_share
        wanted = np.inf if self.target is None else self.target
        self.target = max(self.floor, min(share * measure, wanted))
        self.first = False
        return self.target

    def note(self, gap: float) -> None:
        """Count passes without progress."""
        if gap < 0.95 * self.best:
            self.start_over(gap)
        else:
            self.stale += 1

    def start_over(self, gap: float) -> None:
        self.best, self.stale = gap, 0


@dataclass
class RunNumbers:
    """The numbers of a run between two passes. The order is that of the checkpoints."""

    phase: Phase
    plan: Plan
    passes: int
    scans: int
    stalled: int
    exact: bool
    least_coupling: float
    tried_interior_point: bool
    best: list[int]  # places of the best records in the history
    seconds: float

    def to_json(self) -> dict[str, Any]:
        numbers = asdict(self)
        numbers["phase"] = {k: _to_json(v) for k, v in numbers["phase"].items()}
        return numbers

    @classmethod
    def from_json(cls, numbers: Mapping[str, Any]) -> RunNumbers:
        phase = Phase(**{k: _from_json(v) for k, v in numbers["phase"].items()})
        others = {k: numbers[k] for k in cls.__dataclass_fields__ if k not in ("phase", "plan")}
        return cls(phase=phase, plan=Plan(**numbers["plan"]), **others)


def _to_json(value: Any) -> Any:
    """JSON has no infinity."""
    return "inf" if value == np.inf else value


def _from_json(value: Any) -> Any:
    return np.inf if value == "inf" else value
