"""Where the active set is worked on: whole, in this process, or divided over ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights
from multimargin.solvers._solution import csr_weights
from multimargin.solvers._stopping import Certificate, PassResult
from multimargin.solvers.active_set._pass_plan import Plan


class Lists(NamedTuple):
    """Active classes of all samples, ragged: the own class first, whose alpha is not used."""

    pair: NDArray[np.int64]
    cls: NDArray[np.int32]
    alpha: NDArray[Any]


@dataclass(frozen=True)
class Load:
    """What plans are made from: samples that touch each class, and multiply-adds of a pass."""

    touched: NDArray[np.int64]
    work: int


@dataclass(frozen=True)
class Visiting:
    """How a pass treats what it finds; see VisitRule and Quiet in the core."""

    everything: bool
    leave_below: float
    idle: float
    quiet_gap: float
    quiet_violation: float


class Report(PassResult, Protocol):
    """Result of a pass."""

    @property
    def complete(self) -> bool: ...


class ScanResult(Certificate, Protocol):
    """Result of a scan."""

    @property
    def rounding(self) -> float:
        """What of primal - dual is there because scores are rounded."""

    @property
    def found(self) -> int:
        """Violators that were not active."""

    @property
    def complete(self) -> bool:
        """Whether it came to the end; otherwise it is no certificate."""


class Workspace(Protocol):
    """The steps of an active-set solver. The solver decides which comes next.

    ``bundles``: how many the classes are divided into; 1: not at all.
    """

    bundles: int

    def nearest_centroids(self, candidates: int, budget: int) -> None:
        """Begin with the classes that have the nearest centroids."""

    def begin(self, lists: Lists) -> None:
        """Begin with these classes and dual variables."""

    def load(self) -> Load: ...

    def arrange(self) -> None:
        """Get ready for passes over the present active set."""

    def run_pass(self, plan: Plan, how: Visiting) -> Report:
        """One pass."""

    def recompute(self) -> None:
        """Make the weights anew from alpha: rounding drift cannot hide in a certificate."""

    def scan(self, capacity: int, idle: float, exact: bool = False) -> ScanResult:
        """The certificate at the present weights; violators are kept for `merge_found`.

        ``exact``: scores in double precision, for about twice the time.
        """

    def scale(self, factor: float) -> None:
        """Multiply all dual variables, and so the weights, by a number between 0 and 1."""

    def merge_found(self) -> None:
        """Forget pairs that do nothing, add what the last scan found."""

    @property
    def active_pairs(self) -> int: ...

    def weights(self) -> Weights: ...

    def snapshot(self) -> Any:
        """What `restore` needs to come back to the present dual variables."""

    def restore(self, snapshot: Any) -> None: ...

    def lists(self) -> Lists | None:
        """All dual variables, where this process has them all."""

    def set_time_limit(self, seconds: float) -> None:
        """Let steps end after so many seconds; negative: not at all."""


class LocalWorkspace:
    """The whole active set in this process: samples move as a whole, in batches."""

    bundles = 1

    def __init__(self, problem: Problem, threads: int, seed: int, isa: int | None) -> None:
        self._problem = problem
        self._engine = _core.engine(problem.samples, problem.formulation, threads, seed, isa)
        self.merge_found = self._engine.merge_found
        self.recompute = self._engine.recompute
        self.scan = self._engine.scan
        self.nearest_centroids = self._engine.start_from_centroids
        self.set_time_limit = self._engine.set_time_limit

    def begin(self, lists: Lists) -> None:
        self._engine.assign(*lists)

    def scale(self, factor: float) -> None:
        pair, cls, alpha = self.lists()
        self.begin(Lists(pair, cls, alpha * alpha.dtype.type(factor)))

    def load(self) -> Load:
        problem = self._problem
        pair, cls, _ = self._engine.alpha()
        work = int(np.diff(pair) @ np.diff(problem.X.indptr).astype(np.int64))
        return Load(np.bincount(cls, minlength=problem.n_classes), work)

    def arrange(self) -> None:
        pass

    def run_pass(self, plan: Plan, how: Visiting) -> Report:
        return self._engine.pass_batches(
            plan.batch,
            how.everything,
            how.leave_below,
            how.idle,
            plan.coupling,
            how.quiet_gap,
            how.quiet_violation,
        )

    @property
    def active_pairs(self) -> int:
        return self._engine.active_pairs

    def weights(self) -> Weights:
        return csr_weights(self._engine.weights(), self._problem.X.shape[1])

    def snapshot(self) -> Lists:
        return self.lists()

    def restore(self, snapshot: Lists) -> None:
        self.begin(snapshot)

    def lists(self) -> Lists:
        return Lists(*self._engine.alpha())
