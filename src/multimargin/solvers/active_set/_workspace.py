"""Where the active set is worked on: whole, in this process, or divided over ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint, Part
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights
from multimargin.solvers._solution import csr_weights
from multimargin.solvers._stopping import PassResult
from multimargin.solvers.active_set._reports import Scan


class Lists(NamedTuple):
    """Active classes of all samples, ragged: the own class first, whose alpha is not used."""

    slot_begin: NDArray[np.int64]
    cls: NDArray[np.int32]
    alpha: NDArray[Any]

    def restore(self, workspace: Workspace) -> None:
        workspace.begin(self)


@dataclass(frozen=True)
class Load:
    """What plans are made from: samples that touch each class, and multiply-adds of a pass."""

    touched: NDArray[np.int64]
    work: int


class Report(PassResult, Protocol):
    """Result of a pass."""

    @property
    def complete(self) -> bool: ...


class Snapshot(Protocol):
    """Dual variables that a run may come back to, perhaps after its classes were divided."""

    def restore(self, workspace: Any) -> None:
        """Let a workspace go on from here."""


class Workspace(Protocol):
    """The steps of an active-set solver. The solver decides which comes next.

    Attributes
    ----------
    divided : bool
        Whether classes are divided into bundles, if only one, and samples solved in parts.
    bundles : int
    first_share, phase_share : float
        When passes give way to a scan: at this share of the gap that the first pass of the run, or
        of a later phase, has measured.
    """

    divided: bool
    bundles: int
    first_share: float
    phase_share: float

    def nearest_centroids(self, candidates: int, budget: int) -> None:
        """Begin with the classes that have the nearest centroids."""

    def begin(self, lists: Lists) -> None:
        """Begin with these classes and dual variables."""

    def load(self) -> Load: ...

    def arrange(self) -> None:
        """Get ready for passes over the present active set."""

    def run_pass(self, rule: _core.VisitRule) -> Report:
        """One pass."""

    def recompute(self) -> None:
        """Make the weights anew from alpha: rounding drift cannot hide in a certificate."""

    def scan(self, capacity: int, idle: float, exact: bool = False) -> Scan:
        """The certificate at the present weights; violators are kept for `merge_found`.

        ``exact``: scores in double precision, for about twice the time.
        """

    def scale(self, factor: float) -> None:
        """Multiply all dual variables, and so the weights, by a number between 0 and 1."""

    def merge_found(self) -> None:
        """Forget pairs that do nothing, add the violators of the last scan."""

    @property
    def active_pairs(self) -> int: ...

    def weights(self) -> Weights: ...

    def snapshot(self) -> Snapshot:
        """The present dual variables."""

    def lists(self) -> Lists | None:
        """All dual variables, where this process has them all."""

    def set_time_limit(self, seconds: float) -> None:
        """Let steps end after so many seconds; negative: not at all."""

    def state(self) -> tuple[dict[str, int], dict[str, Part]]:
        """Between two passes: the position that ranks share, and the parts of this rank."""

    def resume(self, position: Mapping[str, int], checkpoint: Checkpoint) -> None:
        """Go on from a `state` in a checkpoint."""

    def snapshot_parts(self, name: str, snapshot: Any) -> dict[str, Part]:
        """The parts of a checkpoint that hold a snapshot."""

    def snapshot_from(self, name: str, checkpoint: Checkpoint) -> Snapshot: ...


class LocalWorkspace:
    """The whole active set in this process: samples move as a whole, in batches.

    It keeps no checkpoints: a run with checkpoints has bundles, if only one.
    """

    divided = False
    bundles = 1
    first_share = 0.01
    phase_share = 0.03  # 0.1, 0.3 and 1 cost more scans than they saved passes

    def __init__(self, problem: Problem, threads: int, seed: int, isa: int | None) -> None:
        self._problem = problem
        self._engine = _core.engine(problem.samples, problem.formulation, threads, seed, isa)
        self.merge_found = self._engine.merge_found
        self.recompute = self._engine.recompute
        self.run_pass = self._engine.run_pass
        self.nearest_centroids = self._engine.start_from_centroids
        self.set_time_limit = self._engine.set_time_limit

    def begin(self, lists: Lists) -> None:
        self._engine.assign(*lists)

    def scale(self, factor: float) -> None:
        lists = self.lists()
        self.begin(lists._replace(alpha=lists.alpha * lists.alpha.dtype.type(factor)))

    def load(self) -> Load:
        problem = self._problem
        slot_begin, cls, _ = self._engine.alpha()
        work = int(np.diff(slot_begin) @ np.diff(problem.X.indptr).astype(np.int64))
        return Load(np.bincount(cls, minlength=problem.n_classes), work)

    def arrange(self) -> None:
        pass

    def scan(self, capacity: int, idle: float, exact: bool = False) -> Scan:
        found = self._engine.scan(capacity, idle, exact)
        return Scan(
            found.primal, found.dual, found.violation, found.rounding, found.found, found.complete
        )

    @property
    def active_pairs(self) -> int:
        return self._engine.active_pairs

    def weights(self) -> Weights:
        return csr_weights(self._engine.weights(), self._problem.X.shape[1])

    def snapshot(self) -> Lists:
        return self.lists()

    def lists(self) -> Lists:
        return Lists(*self._engine.alpha())

    def state(self) -> tuple[dict[str, int], dict[str, Part]]:
        raise NotImplementedError

    def resume(self, position: Mapping[str, int], checkpoint: Checkpoint) -> None:
        raise NotImplementedError

    def snapshot_parts(self, name: str, snapshot: Any) -> dict[str, Part]:
        raise NotImplementedError

    def snapshot_from(self, name: str, checkpoint: Checkpoint) -> Snapshot:
        raise NotImplementedError
