"""Samples divided over ranks: each rank has the rows of some, and those of others for a while."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.parallel._communicator import Communicator

# Parts in which a rank's rows go by, at most: of all rows together, and entries of each at least.
_PARTS, _MOST_PARTS, _PART = 8, 64, 1 << 18
_AT_ONCE = 1 << 20  # numbers that are added up
_PIECES, _PIECE = 8, 1 << 18  # rows are fetched in pieces of so many entries, if not too many


class RowArrays(NamedTuple):
    """A CSR matrix of all samples in which only some have entries."""

    data: NDArray[Any]
    indices: NDArray[Any] | None  # None: not asked for
    indptr: NDArray[Any]


class DividedRows(sp.csr_matrix):
    """All rows, of which only those of this rank have entries here; made by `divided_rows`.

    Methods are called by all ranks of `comm`, those that have rows.
    """

    comm: Communicator
    cuts: NDArray[np.int64]  # rank r has the rows cuts[r] .. cuts[r + 1] - 1
    starts: NDArray[np.int64]  # [n + 1] where each row begins among all entries
    squares: float  # the sum of all values' squares, as NumPy adds them up

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def parts(self) -> Iterator[tuple[tuple[int, int], RowArrays]]:
        """Yield all rows, some at a time and in order: first and last + 1, and the arrays.

        Their owner broadcasts them. All ranks must go on to the end.
        """
        comm, starts = self.comm, self.starts
        for rank, (first, last) in enumerate(itertools.pairwise(self.cuts)):
            most = min(_PARTS, _MOST_PARTS // comm.size, (starts[last] - starts[first]) // _PART)
            count = max(1, int(most))
            wanted = np.linspace(starts[first], starts[last], count + 1)[1:-1]
            inner = np.clip(np.searchsorted(starts, wanted), first, last)
            for a, b in itertools.pairwise([int(first), *inner.tolist(), int(last)]):
                if a == b:
                    continue
                own = slice(*(starts[[a, b]] - starts[first]))
                message = [self.data[own], self.indices[own]] if rank == comm.rank else None
                data, indices = comm.broadcast(message, rank)
                indptr = np.clip(starts - starts[a], 0, starts[b] - starts[a])
                index = self.indices.dtype
                yield (a, b), RowArrays(data, indices, indptr.astype(index))

    def fetched(self, rows: NDArray[Any], *, features: bool = True) -> RowArrays:
        """Return the rows of some samples, in ascending order, from their owners."""
        indptr = np.zeros(len(self.starts), dtype=np.int64)
        indptr[rows + 1] = self.lengths[rows]
        np.cumsum(indptr, out=indptr)
        data = np.empty(indptr[-1], dtype=self.dtype)
        indices = np.empty(indptr[-1] if features else 0, dtype=self.indices.dtype)
        bounds = np.searchsorted(rows, self.cuts)
        pieces = int(min(_PIECES, 1 + self.starts[-1] // (_PIECE * self.comm.size)))
        for piece in range(pieces):
            ends = [
                (a + (b - a) * piece // pieces, a + (b - a) * (piece + 1) // pieces)
                for a, b in itertools.pairwise(bounds.tolist())
            ]
            asked = self.comm.alltoall([[rows[a:b]] for a, b in ends])
            answers = self.comm.alltoall([self._packed(some, features) for (some,) in asked])
            for (a, b), (values, *others) in zip(ends, answers, strict=True):
                if a < b:
                    place = slice(indptr[rows[a]], indptr[rows[b - 1] + 1])
                    data[place] = values
                    if features:
                        indices[place] = others[0]
        return RowArrays(data, indices if features else None, indptr.astype(self.indices.dtype))

    def taken(self, rows: NDArray[Any]) -> sp.csr_matrix:
        """Return a matrix of some rows, in ascending order."""
        arrays = self.fetched(rows)
        begin = np.append(arrays.indptr[rows], arrays.indptr[-1])
        given: Any = (arrays.data, arrays.indices, begin)
        return sp.csr_matrix(given, (len(rows), self.shape[1]))

    def _packed(self, rows: NDArray[Any], features: bool) -> list[NDArray[Any]]:
        part: Any = self[rows]
        return [part.data, part.indices.astype(self.indices.dtype)] if features else [part.data]


def divided_rows(part: Any, comm: Communicator) -> DividedRows:
    """Return all rows, of which those in `part` come after those of the ranks before."""
    columns = int(comm.allreduce(np.array([part.shape[1]]), "max")[0])
    lengths = [each for (each,) in comm.allgather([np.diff(part.indptr).astype(np.int64)])]
    starts = np.concatenate([[0], *lengths], dtype=np.int64).cumsum()
    X = rows_elsewhere(starts, columns, part.dtype)
    X.comm, X.cuts = comm, np.cumsum([0, *map(len, lengths)])
    first, last = starts[X.cuts[comm.rank : comm.rank + 2]]
    X.data, X.indices = part.data, part.indices.astype(X.indices.dtype, copy=False)
    X.indptr = np.clip(starts - first, 0, last - first).astype(X.indices.dtype)
    X.squares = float(_sum_of_squares(X))
    return X


def rows_elsewhere(starts: NDArray[np.int64], columns: int, dtype: Any) -> DividedRows:
    """Return rows for a rank that has none and takes no part in the work."""
    index = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
    X = DividedRows((len(starts) - 1, columns), dtype=dtype)
    X.indices, X.indptr = np.zeros(0, index), np.zeros(len(starts), index)
    X.has_canonical_format = True
    X.starts = starts
    return X


def _sum_of_squares(X: DividedRows) -> Any:
    """Return what ``np.sum`` would of all squares, which it adds up in halves."""
    parts, rest = X.parts(), np.zeros(0, X.dtype)

    def add_up(count: int) -> Any:
        nonlocal rest
        if count > _AT_ONCE:
            half = count // 2 - count // 2 % 8
            return add_up(half) + add_up(count - half)
        while len(rest) < count:
            rest = np.concatenate([rest, np.square(next(parts)[1].data)])
        some, rest = rest[:count], rest[count:]
        return np.sum(some)

    return add_up(int(X.starts[-1]))
