"""The active set as a whole in this process, and the result of a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.solvers._layout import row_entries
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights
from multimargin.solvers._solution import csr_weights

_MANY_CLASSES = 4_000  # from which on scans of dense rows are dear; two sets were tried


class Lists(NamedTuple):
    """Active classes of all samples, ragged: the own class first, whose alpha is not used."""

    slot_begin: NDArray[np.int64]
    cls: NDArray[np.int32]
    alpha: NDArray[Any]
    constant: NDArray[Any] | None = None  # weights of the constant feature; None: made by alpha
    balanced: NDArray[Any] | None = None  # variables of the certified dual point; None: alpha


class Load(NamedTuple):
    """Samples that touch each class, and multiply-adds of a pass: plans are made from these."""

    touched: NDArray[np.int64]
    work: int


@dataclass(frozen=True)
class Scan:
    """A certificate, see `multimargin.solvers._stopping.Certificate`."""

    primal: float
    dual: float
    violation: float
    rounding: float  # the part of primal - dual that is there because scores are rounded
    found: int  # violators that were not active
    complete: bool  # whether the scan came to its end; otherwise it is no certificate


class LocalWorkspace:
    """The steps of an active-set solver, which decides on their order: samples move as a whole.

    `RankWorkspace` has the same steps, and checkpoints: a run with these has bundles, if only one.
    """

    divided = False  # into bundles, if only one: then samples are solved in parts
    bundles = 1
    # Passes give way to a scan at this share of the gap that the first pass of the run, or of a
    # later phase, or the last scan has measured. 0.1, 0.3 and 1 in phases cost more scans than they
    # saved passes.
    first_share, phase_share, scan_share = 0.01, 0.03, 0.1

    def __init__(
        self,
        problem: Problem,
        threads: int,
        seed: int,
        isa: int | None,
        hold_intercept: bool = True,  # while samples move; see src/core/intercept/intercept.hpp
    ) -> None:
        self._problem = problem
        self._balanced: NDArray[Any] | None = None
        if isinstance(problem.X, np.ndarray):
            # Scans of dense rows cost as much as five passes, and passes see little of the gap: 1.3
            # million visits and 6 scans instead of 3.2 and 10 (28,630 x 256, 1,000 classes). With
            # 12,582 classes a scan costs as much as 36 passes.
            self.first_share, self.phase_share = 0.1, 0.3
            self.scan_share = 0.3 if problem.n_classes < _MANY_CLASSES else 0.1
        self._engine = _core.engine(
            problem.samples,
            problem.formulation,
            threads,
            seed,
            isa,
            hold_intercept,
            problem.free_intercept,
        )
        self.nearest_centroids = self._engine.start_from_centroids
        self.run_pass = self._engine.run_pass
        self.focus = self._engine.focus  # passes over the samples with most of the gap
        self.half_norm = 0.0  # of the weights, at the last scan
        self.set_time_limit = self._engine.set_time_limit  # of steps, in seconds; negative: none
        # Makes the weights anew from alpha: rounding drift cannot hide in a certificate.
        self.recompute = self._engine.recompute
        # Forget pairs that do nothing, add the violators of the last scan, and some by lot.
        self.merge_found = self._engine.merge_found

    def begin(self, lists: Lists) -> None:
        self._engine.assign(*lists[:4])
        self._balanced = lists.balanced

    def scale(self, factor: float) -> None:
        """Multiply all dual variables, and so the weights, by a number between 0 and 1."""
        lists, by = self.lists(), self._problem.X.dtype.type(factor)
        assert lists.constant is not None
        value = lists.alpha if lists.balanced is None else lists.balanced
        self.begin(Lists(*lists[:2], value * by, lists.constant * by))

    def load(self) -> Load:
        problem = self._problem
        slot_begin, cls, _ = self._engine.alpha()
        work = int(np.diff(slot_begin) @ row_entries(problem.X))
        return Load(np.bincount(cls, minlength=problem.n_classes), work)

    def arrange(self) -> None:
        """Get ready for passes over the present active set: nothing to do."""

    def scan(self, capacity: int, most: int, idle: float, exact: bool = False) -> Scan:
        """Return the certificate at the present weights; keep violators for `merge_found`.

        These are the ``capacity`` worst of a sample, or fewer so that all together are not more
        than ``most`` with the pairs that stay. ``exact``: losses by scores in double precision.
        """
        return self._scanned(self._engine.scan(capacity, most, idle, exact))

    def look(self, capacity: int, most: int, idle: float, classes: int) -> Scan:
        """Scan so many classes, those that are likely to have the most violators.

        The primal is too small then: nothing is certified.
        """
        return self._scanned(self._engine.scan(capacity, most, idle, False, classes))

    def _scanned(self, found: _core.ScanReport) -> Scan:
        self.half_norm = found.half_norm
        return Scan(
            found.primal, found.dual, found.violation, found.rounding, found.found, found.complete
        )

    @property
    def active_pairs(self) -> int:
        return self._engine.active_pairs

    def weights(self) -> Weights:
        return csr_weights(self._engine.weights(), self._problem.X.shape[1])

    def lists(self) -> Lists:
        balanced = self._engine.balanced()
        kept = balanced if len(balanced) else self._balanced
        slot_begin, cls, alpha = self._engine.alpha()
        return Lists(slot_begin, cls, alpha, self._engine.w_bias(), kept)

    restore, snapshot = begin, lists
