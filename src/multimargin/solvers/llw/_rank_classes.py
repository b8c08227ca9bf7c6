"""The classes of Lee-Lin-Wahba that this rank holds, and sums over the classes of all ranks.

Classes lie in bundles, bundles on ranks. Sums over classes are made within a bundle by the core,
then over the bundles in their order, so that they are the same for any number of ranks. The mean
itself does not travel: after a pass over some samples the sums of their dual variables do, one
number per sample, and every rank moves its copy of the mean by them. That makes about one number
per sample and epoch, however often the mean is reduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Part
from multimargin.parallel._collectives import sum_parts
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import bundle_cuts, divided, line_lanes
from multimargin.solvers._problem import Problem
from multimargin.solvers._stopping import PassSummary

Array = NDArray[np.float64]


class Certificate(NamedTuple):
    """Sums and maxima over all classes, all at the same weights."""

    half_norm: float
    loss: float
    alpha: float
    violation: float
    margin: float
    free: int


_row = attrgetter(*Certificate._fields)  # of the core's report on a bundle


class Share:
    """The bundles of one rank, with a compiled solver that takes the options.

    All ranks together have so many bundles, or fewer if there are not as many lines of classes.
    """

    def __init__(self, problem: Problem, comm: Communicator, bundles: int, **options: Any) -> None:
        self._problem, self._comm = problem, comm
        cuts = bundle_cuts(problem.n_classes, line_lanes(problem.X.dtype), bundles)
        ranks = divided(len(cuts) - 1, comm.size)
        self.numbers = range(ranks[comm.rank], ranks[comm.rank + 1])
        self._cuts = cuts[self.numbers.start : self.numbers.stop + 1]
        self.classes = np.arange(self._cuts[0], self._cuts[-1], dtype=np.int32)
        self.engine = _core.lee_lin_wahba(problem.samples, cuts=self._cuts, **options)
        self._samples = np.arange(problem.X.shape[0], dtype=np.int32)

    def _total(self, parts: Array) -> Array:
        numbered = dict(zip(self.numbers, parts, strict=True))
        return sum_parts(self._comm, numbered, parts.shape[1], np.float64)

    def _alpha_sums(self, samples: NDArray[np.int32]) -> Array:
        """Return the sums of the samples' dual variables, one row per bundle."""
        sums = np.empty((len(self.numbers), len(samples)))
        self.engine.alpha_sums(samples, sums)
        return sums

    def _everywhere(self, rows: Sequence[tuple[float, ...]], columns: int) -> Array:
        mine = np.array(rows, dtype=np.float64).reshape(-1, columns)
        # Ranks hold neighbouring bundles, in the order of the ranks.
        return np.concatenate([part for (part,) in self._comm.allgather([mine])])

    def recompute(self) -> None:
        self.engine.recompute_from(self._total(self._alpha_sums(self._samples)))
        self.engine.centre(self._weight_sums())

    def _weight_sums(self) -> Array:
        """Return the sums over all classes, for each feature and the constant one."""
        sums = np.empty((len(self.numbers), self._problem.X.shape[1] + 1))
        self.engine.weight_sums(sums)
        return self._total(sums)

    def look(self) -> Certificate:
        reports = self.engine.certify_bundles(self._weight_sums())
        rows = self._everywhere([_row(report) for report in reports], 6)
        half_norm, loss, alpha = (_in_order(rows[:, k]) for k in range(3))
        violation, margin = (float(rows[:, k].max()) for k in (3, 4))
        return Certificate(half_norm, loss, alpha, violation, margin, int(rows[:, 5].sum()))

    def pass_samples(
        self, samples: NDArray[np.int32], held: Array, everything: bool, idle: float
    ) -> tuple[bool, list[_core.PassReport]]:
        """Pass every class over some samples with the mean held, then move the mean.

        Return whether all ranks finished before the time limit, and this rank's reports.
        """
        self.engine.hold_mean(held, samples)
        reports = self.engine.pass_lines(samples, everything, idle)
        # Whether a rank finished travels with the sums: one message less.
        unfinished = np.array([[not r.complete] for r in reports], dtype=np.float64)
        total = self._total(np.hstack([self._alpha_sums(samples), unfinished.reshape(-1, 1)]))
        self.engine.move_mean(samples, total[:-1].copy())
        return total[-1] == 0, reports

    def measured(self, reports: list[list[_core.PassReport]]) -> PassSummary:
        """Add up the reports of all bundles on the parts of an epoch."""
        mine = [
            (sum(r.gap for r in bundle), max(r.violation for r in bundle))
            for bundle in zip(*reports, strict=True)
        ]
        rows = self._everywhere(mine, 2)
        return PassSummary(_in_order(rows[:, 0]), float(rows[:, 1].max()))

    def split(self, rows: NDArray[Any]) -> dict[int, NDArray[Any]]:
        """Return the columns of each bundle from rows of all classes held, by its number."""
        first = self._cuts[0]
        return {
            number: np.ascontiguousarray(rows[:, self._cuts[k] - first : self._cuts[k + 1] - first])
            for k, number in enumerate(self.numbers)
        }

    def joined(self, bundles: dict[int, NDArray[Any]]) -> NDArray[Any]:
        """Return the columns of all bundles side by side: undo `split`."""
        none = np.empty((self._problem.X.shape[0], 0), dtype=self._problem.X.dtype)
        return np.hstack([none, *(bundles[number] for number in self.numbers)])

    def add_up(self, bundles: list[Array], length: int) -> Array:
        return self._total(np.array(bundles, dtype=np.float64).reshape(-1, length))

    def assign(self, alpha: NDArray[Any]) -> None:
        """Set the dual variables of the classes held, and make all weights anew."""
        self.engine.set_alpha(alpha)
        self.recompute()

    def save(self) -> dict[int, dict[str, NDArray[Any]]]:
        parts = {number: self._empty_state(k) for k, number in enumerate(self.numbers)}
        for k, state in enumerate(parts.values()):
            self.engine.save(k, **state)
        return parts

    def load(self, parts: Mapping[int, Part], mean: Array) -> None:
        """Take over the state of a checkpoint: this rank's bundles, and the mean."""
        for k, number in enumerate(self.numbers):
            state = [np.ascontiguousarray(parts[number][name]) for name in ("alpha", "w", "drops")]
            self.engine.load(k, *state)
        sums = self._total(self._alpha_sums(self._samples))
        self.engine.loaded(sums, np.ascontiguousarray(mean))

    def _empty_state(self, k: int) -> dict[str, NDArray[Any]]:
        (n, d), dtype = self._problem.X.shape, self._problem.X.dtype
        classes = self._cuts[k + 1] - self._cuts[k]
        lines = -(-classes // line_lanes(dtype))
        return {
            "alpha": np.empty((n, classes), dtype=dtype),
            "w": np.empty((d + 1, classes), dtype=dtype),
            "drops": np.empty((3 * lines, n), dtype=np.uint16),
        }


def _in_order(values: Array) -> float:
    """Return their sum, added one after the other; numpy adds pairs."""
    return float(sum(values.tolist()))
