"""Scores of a model whose classes are divided over ranks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.distributed._rows import OwnedRows
from multimargin.models._scores import Best, BestAndSums, LinearScores, Sums
from multimargin.models.probabilities._softmax import Shape, empty_sums, sums_of_parts
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided

# Samples scored between two exchanges, and candidates of one rank in them: they bound memory.
_ROWS, _CANDIDATES = 65_536, 1 << 22


class RankScores:
    """Scores as of `LinearScores`, the same bits on all ranks, which call it with the same samples.

    Each rank scores all samples with its own classes. For each sample one rank compares the best
    of all ranks, and tells the others.
    """

    def __init__(self, comm: Communicator, owned: OwnedRows, threads: int) -> None:
        self._comm, self._owned, self._dtype = comm, owned, owned.coef.dtype
        self._own = LinearScores(owned.coef, owned.intercept, threads)

    def scores(self, X: Any, first: int = 0) -> NDArray[Any]:
        """The scores of a model of a single row, which has two classes; shape (n_samples, 1)."""
        if self._owned.rows != 1:
            raise ValueError(
                f"no rank has all scores of {self._owned.rows:,} classes: use predict_topk"
            )
        owner = int(np.searchsorted(self._owned.cuts, 0, side="right")) - 1
        with raise_on_all(self._comm):
            mine = [self._own.scores(X, first)] if self._comm.rank == owner else None
        return self._comm.broadcast(mine, owner)[0]

    def top(self, X: Any, k: int) -> Best:
        """The ``k`` best classes of each sample and their scores, best first."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score = np.empty((X.shape[0], k), dtype=self._dtype)
        step = max(1, min(_ROWS, _CANDIDATES // k))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            best[rows], score[rows] = self._top_of_all(X[rows], k, begin)
        return best, score

    def positive(self, X: Any) -> sp.csr_matrix:
        """A one for each row of the model that has a positive score."""
        begin, end = self._owned.range_of(self._comm.rank)
        places = np.empty((2, 0), dtype=np.int64)
        with raise_on_all(self._comm):
            if end > begin:
                places = np.array(self._own.positive(X).nonzero(), dtype=np.int64)
                places[1] += begin
        places = np.concatenate([part for (part,) in self._comm.allgather([places])], axis=1)
        found: Any = (np.ones(places.shape[1], dtype=np.int8), tuple(places))
        return sp.csr_matrix(found, shape=(X.shape[0], self._owned.rows))

    def top_with_sums(self, X: Any, k: int, shape: Shape) -> BestAndSums:
        """The same, and the sums over all classes."""
        best, score = self.top(X, k)
        nobody = np.full(X.shape[0], -1, dtype=np.int32)
        return best, score, self.sums(X, nobody, shape)[0]

    def sums(
        self, X: Any, own: NDArray[Any], shape: Shape, own_score: NDArray[Any] | None = None
    ) -> Sums:
        """As of `LinearScores`; last bits depend on the number of ranks."""
        begin, end = self._owned.range_of(self._comm.rank)
        parts = []
        for first in range(0, X.shape[0], _ROWS):
            rows = slice(first, first + _ROWS)
            some, score = X[rows], None if own_score is None else own_score[rows]
            found = empty_sums(some.shape[0]), np.full(some.shape[0], -np.inf, dtype=self._dtype)
            with raise_on_all(self._comm):
                if begin < end:
                    found = self._own.sums(some, own[rows] - np.int32(begin), shape, score)
            sums, scores = zip(*self._comm.allgather(list(found)), strict=True)
            parts.append((sums_of_parts(list(sums), shape), np.max(scores, axis=0)))
        all_sums, all_scores = zip(*parts, strict=True)
        return np.concatenate(all_sums), np.concatenate(all_scores)

    def totals(self, X: Any) -> NDArray[np.float64]:
        """The sum of all scores of each sample."""
        with raise_on_all(self._comm):
            mine = self._own.totals(X)
        return np.asarray(np.sum([each for (each,) in self._comm.allgather([mine])], axis=0))

    def _top_of_all(self, X: Any, k: int, first: int) -> Best:
        comm = self._comm
        with raise_on_all(comm):
            best, score = self._own_top(X, k, first)
        ranges = [slice(a, b) for a, b in itertools.pairwise(divided(X.shape[0], comm.size))]
        candidates = comm.alltoall([[best[rows], score[rows]] for rows in ranges])
        classes, scores = zip(*comm.allgather(_merge(candidates, k)), strict=True)
        return np.concatenate(classes), np.concatenate(scores)

    def _own_top(self, X: Any, k: int, first: int) -> Best:
        begin, end = self._owned.range_of(self._comm.rank)
        if begin == end:
            return np.empty((X.shape[0], 0), np.int32), np.empty((X.shape[0], 0), self._dtype)
        best, score = self._own.top(X, min(k, end - begin), first)
        return best + np.int32(begin), score


def _merge(candidates: list[list[NDArray[Any]]], k: int) -> list[NDArray[Any]]:
    """The best ``k`` of the ranks' candidates; of equal ones the first class.

    Ranks have classes in ascending order, and each has its equal scores in that order, so a
    stable sort does it.
    """
    classes, scores = (np.concatenate(parts, axis=1) for parts in zip(*candidates, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [np.take_along_axis(classes, order, 1), np.take_along_axis(scores, order, 1)]
