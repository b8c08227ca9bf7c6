"""Scans by ranks that each own some of the classes: the certificate, and the worst violators."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided
from multimargin.solvers._problem import Problem
from multimargin.solvers._stopping import PassSummary
from multimargin.solvers.active_set._workspace import Scan


def sum_over_bundles(comm: Communicator, values: dict[int, float]) -> float:
    """Return the sum of one number per bundle over all ranks, in the order of bundles."""
    mine = [np.array(list(values), np.int64), np.array(list(values.values()), np.float64)]
    by_bundle: dict[int, float] = {}
    for numbers, amounts in comm.allgather(mine):
        by_bundle.update(zip(numbers.tolist(), amounts.tolist(), strict=True))
    return sum(by_bundle[b] for b in sorted(by_bundle))


def summary_of(
    comm: Communicator, seen: dict[tuple[int, int], tuple[float, float]], complete: bool
) -> PassSummary:
    """Add up all ranks' meetings in their order: gap and violation by round and match."""
    places = np.array(list(seen), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(seen.values()), dtype=np.float64).reshape(-1, 2)
    rows: list[tuple[int, int, float, float]] = []
    for place, value, full in comm.allgather([places, values, np.array([complete])]):
        rows += [(*p, *v) for p, v in zip(place.tolist(), value.tolist(), strict=True)]
        complete = complete and bool(full[0])
    rows.sort()
    violation = max((row[3] for row in rows), default=0.0)
    return PassSummary(sum(row[2] for row in rows), violation, complete)


class StepClock:
    """Calls steps of the core and adds up their processor time."""

    seconds = 0.0

    def __call__(self, step: Callable[..., Any], *args: Any) -> Any:
        began = time.process_time()
        try:
            return step(*args)
        finally:
            self.seconds += time.process_time() - began


class Losses:
    """Losses of samples: the sum over classes or, with a shared budget, the worst class's loss.

    Added bundle by bundle, so that no more than one number per sample is kept.
    """

    def __init__(self, samples: int, shared: bool) -> None:
        self._sums: dict[int, float] = {}
        self._most = np.zeros(samples if shared else 0)
        self._shared = shared

    def add(self, bundle: int, loss: NDArray[np.float64]) -> None:
        if self._shared:
            np.maximum(self._most, loss, out=self._most)
        else:
            self._sums[bundle] = float(loss.sum())

    def total(self, comm: Communicator) -> float:
        """Return the loss of all samples and ranks."""
        if self._shared:
            return float(comm.allreduce(self._most, "max").sum())
        return sum_over_bundles(comm, self._sums)


class RankScanner:
    """Scans the bundles ``owned`` by this rank in its compiled workspace ``core``."""

    def __init__(
        self, problem: Problem, comm: Communicator, core: Any, owned: list[int], timed: StepClock
    ) -> None:
        self._problem, self._comm, self._core = problem, comm, core
        self._owned, self._timed = owned, timed
        self._shared: bool = core.budget_is_shared
        # Brings samples that are looked at together, one part after the other; None: all are there.
        self.parts: Callable[[], Iterable[tuple[int, int] | None]] = lambda: [None]
        # Passes do not see all of the gap of an intercept that is held.
        self._violators: dict[int, tuple[NDArray[np.int64], NDArray[Any]]] = {}

    def scan(
        self,
        sums: NDArray[np.float64],
        norms: NDArray[np.float64],
        half_norms: tuple[float, float],
        capacity: int,
        idle: float,
        exact: bool,
    ) -> Scan:
        """Return the certificate at the present weights; see `LocalWorkspace.scan`.

        It needs the sums of each sample's dual variables, the norms of each class's weights, and
        half the sum of their squares, with the intercept as it is held and as alpha makes it.
        """
        problem, core, comm = self._problem, self._core, self._comm
        n = len(problem.y)
        own, first_loss, worst = self._look_at_active(sums)
        losses, bounds = Losses(n, self._shared), Losses(n, self._shared)
        self._violators = {}
        complete, found = True, 0
        for samples in self.parts():
            for bundle in self._owned:
                given = own, self._least, first_loss, norms, capacity, idle, exact
                self._timed(core.scan, bundle, *given, samples)
        for bundle in self._owned:
            loss, bound, violation, begin, margin, whole = core.found(bundle)
            losses.add(bundle, self._timed(np.multiply, loss, problem.box))
            bounds.add(bundle, self._timed(np.multiply, bound, problem.box))
            self._violators[bundle] = (begin, margin)
            worst = max(worst, violation)
            complete, found = complete and whole, found + len(margin)
        self._capacity = capacity
        norm_error = 2 * float(np.finfo(problem.X.dtype).eps) * half_norms[0]
        total = bounds.total(comm)
        return Scan(
            primal=half_norms[0] + norm_error + total + core.empty_value,
            dual=self._gain(sums) - half_norms[1] - norm_error + core.empty_value,
            violation=float(comm.allreduce(np.array([worst], dtype=np.float64), "max")[0]),
            rounding=total - losses.total(comm) + 2 * norm_error,
            found=int(comm.allreduce(np.array([found]), "sum")[0]),
            complete=bool(comm.allreduce(np.array([int(complete)]), "min")[0]),
        )

    def add_own_scores(self, own: NDArray[np.float64]) -> None:
        for samples in self.parts():
            for bundle in self._owned:
                self._timed(self._core.own_scores, bundle, own, samples)

    def _gain(self, sums: NDArray[np.float64]) -> float:
        """Return the sum of all dual variables, each times what is asked of its class."""
        if self._problem.costs is None:
            return float(sums.sum())
        return sum_over_bundles(self._comm, {b: self._core.value(b) for b in self._owned})

    def _look_at_active(
        self, sums: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any], float]:
        """Return scores of own classes, losses in active classes, and the largest violation there.

        Every class that is not active violates where its margin exceeds ``self._least``.
        """
        n, dtype, comm = len(self._problem.y), self._problem.X.dtype, self._comm
        own = np.full(n, -np.inf)
        self.add_own_scores(own)
        own = comm.allreduce(own, "max")
        largest = np.finfo(dtype).max
        most, least = np.full(n, -largest, dtype=dtype), np.full(n, largest, dtype=dtype)
        violation = np.zeros(n, dtype=dtype)
        for bundle in self._owned:
            self._timed(self._core.look, bundle, own, most, least, violation)
        if self._shared:
            most, least = comm.allreduce(most, "max"), comm.allreduce(least, "min")
        violation = comm.allreduce(violation, "max")
        self._least, first_loss, worst = self._core.judge(most, least, violation, sums)
        return own, first_loss, worst

    def merge_found(self, drawn: int, seed: int) -> None:
        threshold = self._thresholds()
        for bundle in self._owned:
            self._timed(self._core.merge, bundle, self._least, threshold, drawn, seed)
        self._violators = {}

    def _thresholds(self) -> NDArray[Any]:
        """Return the margin of each sample from which on violators become active.

        Every rank finds it for a part of the samples.
        """
        comm = self._comm
        cut = divided(len(self._problem.y), comm.size)
        outgoing: list[list[NDArray[Any]]] = [[] for _ in range(comm.size)]
        for begin, margin in self._violators.values():
            for message, (a, b) in zip(outgoing, itertools.pairwise(cut), strict=True):
                some = begin[a : b + 1]
                message += [some, margin[some[0] : some[-1]]]
        found: list[Any] = []
        for message in comm.alltoall(outgoing):
            found += zip(message[::2], message[1::2], strict=True)
        mine = cut[comm.rank + 1] - cut[comm.rank]
        threshold = self._timed(self._core.thresholds, found, mine, self._capacity)
        return np.concatenate([part for (part,) in comm.allgather([threshold])])
