"""A rank's part of the active set where samples are divided over ranks, too.

Each step is that of `RankWorkspace`, in the same order of sums, with rows that are there only while
it needs them. Where a bundle is laid out, computed, looked at or scanned, all rows go by, some at a
time. The meetings of a round have the rows of their own samples, and give them back after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._divided_rows import DividedRows
from multimargin.solvers._records import Weights
from multimargin.solvers.active_set._rank_workspace import RankWorkspace
from multimargin.solvers.active_set._workspace import Lists


def memory_of_host(X: DividedRows, n_classes: int, first: int) -> str:
    """Estimate the memory of a host, where samples begin with so many active classes."""
    total, hosts, value = int(X.starts[-1]), X.comm.size, X.dtype.itemsize
    # Its own, those of a round of meetings, and some that go by; and of all samples what is small.
    rows = 5 * total * (value + X.indices.itemsize) // (2 * hosts) + 150 * X.shape[0]
    pairs = 4 * total * (first + min(first, 2 * hosts - 1)) // hosts
    weights = (value + 4) * min(n_classes * X.shape[1], (first + 1) * total) // hosts
    parts = [f"{part / 2**20:,.0f} MB" for part in (rows, pairs, weights)]
    return (
        f"memory per host: about {parts[0]} for rows, {parts[1]} for active pairs at first, up to "
        f"{parts[2]} for weights"
    )


class DividedWorkspace(RankWorkspace):
    """The workspace of a rank that keeps some of the rows, which are `DividedRows`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        X: Any = self._problem.X
        self._rows: DividedRows = X
        own = slice(*X.cuts[self._comm.rank : self._comm.rank + 2])
        gathered = self._comm.allgather([np.array(norms[own]) for norms in self._core.norms()])
        norms = [np.concatenate(parts) for parts in zip(*gathered, strict=True)]
        having = np.bincount(X.indices, minlength=X.shape[1])
        self._core.let_rows_come(X.lengths, *norms, self._comm.allreduce(having, "sum"))
        self._scanner.parts = self._parts

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Bring all rows, some at a time."""
        for samples, arrays in self._rows.parts():
            self._core.set_rows(*arrays)
            yield samples

    def nearest_centroids(self, candidates: int, budget: int) -> None:
        """Begin with the classes of the nearest centroids; each rank has those of some classes."""
        core, comm, y = self._core, self._comm, self._problem.y
        work = np.cumsum(np.bincount(y, self._rows.lengths + 1.0, self._problem.n_classes))
        rank_of = (work / work[-1] * comm.size - 1e-9).astype(np.int64).clip(0, comm.size - 1)
        order = np.argsort(y, kind="stable").astype(np.int32)
        mine = order[rank_of[y[order]] == comm.rank]
        core.set_rows(*self._rows.fetched(np.sort(mine)))
        lengths = comm.allreduce(self._timed(core.make_centroids, mine), "sum")
        lists = []
        for samples in self._parts():
            found = comm.allgather(
                self._timed(core.near_centroids, lengths, candidates, budget, samples)
            )
            lists.append(core.best_candidates([*map(tuple, found)], samples, candidates))
        core.make_centroids(mine[:0])
        counts, classes = zip(*((np.diff(begin), cls) for begin, cls in lists), strict=True)
        slot_begin = np.concatenate([[0], *counts], dtype=np.int64).cumsum()
        cls = np.concatenate(classes)
        self.begin(Lists(slot_begin, cls, np.zeros(len(cls), dtype=self._rows.dtype)))

    def _make_weights(self, constant: NDArray[Any] | None) -> None:
        self._core.drop_meetings()  # they are built anew: room for the layout
        self._by_parts(self._core.number)
        for bundle in self.owned:
            self._core.end_layout(bundle)
        self._make_bundle_states(constant)

    def _made_weights(self) -> dict[int, Any]:
        self._by_parts(self._core.add, self._sums)
        return {b: self._timed(self._core.end_weights, b, self._sums) for b in self.owned}

    def _by_parts(self, step: Any, *args: Any) -> None:
        """Take a step with the classes' own samples, then with those that are active in them."""
        for own in (True, False):
            for samples in self._parts():
                for bundle in self.owned:
                    self._timed(step, bundle, samples, own, *args)

    def _build(self, meetings: list[tuple[int, int]], here: dict[int, Any], r: int) -> None:
        super()._build(meetings, here, r)
        self._fetch(meetings, everything=True, features=True)
        for a, b in meetings:
            self._timed(self._core.place, a, b, list(here[a]), list(here[b]))

    def _bring_rows(self, r: int, *, everything: bool) -> None:
        meetings = [self._placement.rounds[r][match] for match in self._placement.mine]
        self._fetch(meetings, everything=everything, features=False)

    def _fetch(self, meetings: list[tuple[int, int]], *, everything: bool, features: bool) -> None:
        there = np.zeros(len(self._problem.y), dtype=np.bool_)
        for a, b in meetings:
            there[self._core.due_samples(a, b, everything)] = True
        none = np.zeros(len(there) + 1, self._rows.indices.dtype)
        self._core.set_rows(self._rows.data[:0], None, none)  # room for those that come
        rows = np.flatnonzero(there).astype(np.int32)
        self._core.set_rows(*self._rows.fetched(rows, features=features))

    def weights(self) -> Weights:
        self._scanner.add_own_scores(np.zeros(len(self._problem.y)))  # lists all weights
        return super().weights()
