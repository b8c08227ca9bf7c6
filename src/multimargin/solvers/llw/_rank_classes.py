"""The classes of Lee-Lin-Wahba that this rank holds, and sums over the classes of all ranks.

Classes lie in bundles, bundles on ranks. Sums over classes are made within a bundle by the core,
then over the bundles in their order, so that they are the same for any number of ranks. The mean
itself does not travel: after a pass over some samples the sums of their dual variables do, one
number per sample, and every rank moves its copy of the mean by them. That makes about one number
per sample and epoch, however often the mean is reduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Part
from multimargin.parallel._collectives import sum_parts
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import bundle_cuts, divided, line_lanes
from multimargin.solvers._problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """Sums and maxima over all classes, all at the same weights."""

    half_norm: float
    loss: float
    alpha: float
    violation: float
    margin: float
    free: int


@dataclass(frozen=True)
class Measured:
    """Gap and violation over all classes in an epoch, each sample just before it moved."""

    gap: float
    violation: float


class Share:
    """The bundles of one rank.

    Parameters
    ----------
    problem : Problem
    comm : Communicator
    bundles : int
        Of all ranks together; fewer where there are not as many lines of classes.
    **options
        Of the compiled solver.
    """

    def __init__(self, problem: Problem, comm: Communicator, bundles: int, **options: Any) -> None:
        self._problem, self._comm = problem, comm
        cuts = bundle_cuts(problem.n_classes, line_lanes(problem.X.dtype), bundles)
        ranks = divided(len(cuts) - 1, comm.size)
        self.numbers = range(ranks[comm.rank], ranks[comm.rank + 1])
        self._cuts = cuts[self.numbers.start : self.numbers.stop + 1]
        self.classes = np.arange(self._cuts[0], self._cuts[-1], dtype=np.int32)
        self.engine = _core.lee_lin_wahba(problem.samples, cuts=self._cuts, **options)

    # ------------------------------------------------------------ sums over all classes

    def _total(self, parts: Array) -> Array:
        """Return the sum of all ranks' rows, one per bundle."""
        numbered = dict(zip(self.numbers, parts, strict=True))
        return sum_parts(self._comm, numbered, parts.shape[1], np.float64)

    def _alpha_sums(self, samples: NDArray[np.int32]) -> Array:
        sums = np.empty((len(self.numbers), len(samples)))
        self.engine.alpha_sums(samples, sums)
        return self._total(sums)

    def _everywhere(self, rows: Sequence[tuple[float, ...]], columns: int) -> Array:
        """Return the rows of all bundles in their order."""
        mine = np.array(rows, dtype=np.float64).reshape(-1, columns)
        # Ranks hold neighbouring bundles, in the order of the ranks.
        return np.concatenate([part for (part,) in self._comm.allgather([mine])])

    def recompute(self) -> None:
        """Make the weights of all classes anew from their dual variables."""
        n = self._problem.X.shape[0]
        self.engine.recompute_from(self._alpha_sums(np.arange(n, dtype=np.int32)))
        self.engine.centre(self._weight_sums())

    def _weight_sums(self) -> Array:
        """Return the sums over all classes, for each feature and the constant one."""
        sums = np.empty((len(self.numbers), self._problem.X.shape[1] + 1))
        self.engine.weight_sums(sums)
        return self._total(sums)

    def look(self) -> Certificate:
        """Return the certificate at the present weights."""
        rows = self._everywhere(
            [
                (r.half_norm, r.loss, r.alpha, r.violation, r.margin, r.free)
                for r in self.engine.certify_bundles(self._weight_sums())
            ],
            6,
        )
        half_norm, loss, alpha = (_in_order(rows[:, k]) for k in range(3))
        violation, margin = (float(rows[:, k].max()) for k in (3, 4))
        return Certificate(half_norm, loss, alpha, violation, margin, int(rows[:, 5].sum()))

    # ------------------------------------------------------------ an epoch

    def pass_samples(
        self, samples: NDArray[np.int32], held: Array, everything: bool, idle: float
    ) -> tuple[bool, list[_core.PassReport]]:
        """Pass every class over some samples with the mean held, then move the mean.

        Returns whether all ranks finished before the time limit, and this rank's reports.
        """
        self.engine.hold_mean(held, samples)
        reports = self.engine.pass_lines(samples, everything, idle)
        sums = np.empty((len(self.numbers), len(samples)))
        self.engine.alpha_sums(samples, sums)
        # Whether a rank finished travels with the sums: one message less.
        unfinished = np.array([[not r.complete] for r in reports], dtype=np.float64)
        total = self._total(np.hstack([sums, unfinished.reshape(-1, 1)]))
        self.engine.move_mean(samples, total[:-1].copy())
        return total[-1] == 0, reports

    def measured(self, reports: list[list[_core.PassReport]]) -> Measured:
        """Add up the reports of all bundles on the parts of an epoch."""
        mine = [
            (sum(r.gap for r in bundle), max(r.violation for r in bundle))
            for bundle in zip(*reports, strict=True)
        ]
        rows = self._everywhere(mine, 2)
        return Measured(_in_order(rows[:, 0]), float(rows[:, 1].max()))

    # ------------------------------------------------------------ rows of samples x classes held

    def split(self, rows: NDArray[Any]) -> dict[int, NDArray[Any]]:
        """Return the columns of each bundle, by its number."""
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
        """Return the sum of all ranks' vectors, one per bundle."""
        return self._total(np.array(bundles, dtype=np.float64).reshape(-1, length))

    # ------------------------------------------------------------ state

    def assign(self, alpha: NDArray[Any]) -> None:
        """Set the dual variables of the classes held, and make all weights anew."""
        self.engine.set_alpha(alpha)
        self.recompute()

    def save(self) -> dict[int, dict[str, NDArray[Any]]]:
        """Return each bundle's state between two epochs."""
        parts = {}
        for k, number in enumerate(self.numbers):
            state = self._empty_state(k)
            self.engine.save(k, state["alpha"], state["w"], state["drops"])
            parts[number] = state
        return parts

    def load(self, parts: Mapping[int, Part], mean: Array) -> None:
        """Take over the state of a checkpoint: this rank's bundles, and the mean."""
        for k, number in enumerate(self.numbers):
            state = {name: np.ascontiguousarray(v) for name, v in parts[number].items()}
            self.engine.load(k, state["alpha"], state["w"], state["drops"])
        n = self._problem.X.shape[0]
        self.engine.loaded(
            self._alpha_sums(np.arange(n, dtype=np.int32)), np.ascontiguousarray(mean)
        )

    def _empty_state(self, k: int) -> dict[str, NDArray[Any]]:
        n, d = self._problem.X.shape
        classes = self._cuts[k + 1] - self._cuts[k]
        lines = -(-classes // line_lanes(self._problem.X.dtype))
        return {
            "alpha": np.empty((n, classes), dtype=self._problem.X.dtype),
            "w": np.empty((d + 1, classes), dtype=self._problem.X.dtype),
            "drops": np.empty((3 * lines, n), dtype=np.uint16),
        }


def _in_order(values: Array) -> float:
    """Return their sum, added one after the other; numpy adds pairs."""
    return float(sum(values.tolist()))
