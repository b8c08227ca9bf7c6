"""The rows of a model divided over ranks: each holds a range of them, of about equal size."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.models._coef import coefficients, in_form, kept_sparse, nonzeros, one_row_for_two
from multimargin.models.file._coef import csr_of, index_type
from multimargin.parallel._communicator import Communicator, Message
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights


@dataclass(frozen=True)
class OwnedRows:
    """The rows of a linear model that one rank holds.

    Rank r holds the rows ``cuts[r] .. cuts[r + 1] - 1``; `cuts` are the same on all ranks.
    """

    cuts: NDArray[np.int64]
    coef: Any
    intercept: NDArray[Any]

    @property
    def rows(self) -> int:
        """Number of rows of the whole model."""
        return int(self.cuts[-1])

    def range_of(self, rank: int) -> tuple[int, int]:
        """The first row that a rank holds, and the first one behind."""
        return int(self.cuts[rank]), int(self.cuts[rank + 1])


def cut_evenly(sizes: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
    """Where to cut rows of these sizes into ranges of about the same size, one per rank."""
    # A row without entries is some work, too.
    until = np.cumsum(sizes.astype(np.int64) + 1)
    total = int(until[-1]) if len(until) else 0
    targets = [total * rank // ranks for rank in range(1, ranks)]
    inner = np.searchsorted(until, targets, side="right")
    return np.concatenate([[0], inner, [len(sizes)]]).astype(np.int64)


def divide_trained(
    comm: Communicator, weights: Weights, problem: Problem, sparse: bool | str
) -> tuple[OwnedRows, float]:
    """Divide a trained model anew; also returns the share of its weights that is not zero.

    The weights are of the classes that this rank trained, whichever they are; `sparse` is the
    estimator's `sparse_coef`.
    """
    coef, intercept = coefficients(weights, problem)
    stored = comm.allreduce(np.array([nonzeros(coef)], dtype=np.int64), "sum")
    density = int(stored[0]) / max(1, problem.weight_rows * coef.shape[1])
    held = weights.classes
    if held is None:
        held = np.arange(coef.shape[0], dtype=np.int32)
    if problem.weight_rows == 2 and problem.sets is None:  # they become one row, on one rank
        both = _gathered(comm, coef, intercept, held, 2)
        coef, intercept = (coef[:0], intercept[:0]) if both is None else one_row_for_two(*both)
        held = np.arange(len(intercept), dtype=np.int32)
    return divide_rows(comm, coef, intercept, held, sparse=sparse), density


def divide_rows(
    comm: Communicator,
    coef: Any,
    intercept: NDArray[Any],
    held: NDArray[np.int32],
    *,
    sparse: bool | str,
) -> OwnedRows:
    """Pass rows between the ranks until each has a range of them.

    No rank sees more than the rows it has and those it gets. `held` are the places of a rank's rows
    in the model, ascending; each row is held by one rank.
    """
    counts = np.array([nonzeros(coef), len(held)], dtype=np.int64)
    stored, rows = comm.allreduce(counts, "sum").tolist()
    shape, itemsize = (rows, coef.shape[1]), coef.dtype.itemsize
    coef = in_form(coef, sparse=kept_sparse(sparse, shape, itemsize, stored))
    cuts = cut_evenly(_row_sizes(comm, coef, held, rows), comm.size)
    if comm.size == 1:
        return OwnedRows(cuts, coef, intercept)
    ends = itertools.pairwise(np.searchsorted(held, cuts))
    pieces = comm.alltoall([_pack(coef, intercept, held, a, b) for a, b in ends])
    begin, end = (int(c) for c in cuts[comm.rank : comm.rank + 2])
    return OwnedRows(cuts, *_join(pieces, begin, end, coef))


def take_rows(comm: Communicator, coef: Any, intercept: NDArray[Any]) -> OwnedRows:
    """This rank's range of rows of a model that all ranks can see, such as a mapped file."""
    cuts = cut_evenly(_sizes(coef), comm.size)
    begin, end = (int(c) for c in cuts[comm.rank : comm.rank + 2])
    part = coef[begin:end] if isinstance(coef, np.ndarray) else _csr_rows(coef, begin, end)
    return OwnedRows(cuts, part, intercept[begin:end])


def collect_rows(comm: Communicator, owned: OwnedRows) -> tuple[Any, NDArray[Any]] | None:
    """All rows, on rank 0 alone; None elsewhere."""
    held = np.arange(*owned.range_of(comm.rank), dtype=np.int32)
    return _gathered(comm, owned.coef, owned.intercept, held, owned.rows)


def _gathered(
    comm: Communicator, coef: Any, intercept: NDArray[Any], held: NDArray[np.int32], rows: int
) -> tuple[Any, NDArray[Any]] | None:
    ends = [len(held)] + [0] * (comm.size - 1)  # all to rank 0
    pieces = comm.alltoall([_pack(coef, intercept, held, 0, end) for end in ends])
    return _join(pieces, 0, rows, coef) if comm.rank == 0 else None


def _sizes(coef: Any) -> NDArray[np.int64]:
    """Stored entries of each row; of dense rows, which are alike, 1."""
    sizes = np.ones(len(coef)) if isinstance(coef, np.ndarray) else np.diff(coef.indptr)
    return sizes.astype(np.int64)


def _row_sizes(
    comm: Communicator, coef: Any, held: NDArray[np.int32], rows: int
) -> NDArray[np.int64]:
    """Stored entries of every row of the model, each of which exactly one rank must hold."""
    sizes = np.full(rows, -1, dtype=np.int64)
    for classes, size in comm.allgather([held, _sizes(coef)]):
        if len(classes) and not (classes[0] >= 0 and classes[-1] < rows):
            raise RuntimeError(f"a rank holds the rows {classes[0]} to {classes[-1]} of {rows}")
        sizes[classes] = size
    if np.any(sizes < 0):
        raise RuntimeError(f"no rank holds row {int(np.argmin(sizes))} of the model")
    return sizes


def _pack(coef: Any, intercept: NDArray[Any], held: NDArray[np.int32], a: int, b: int) -> Message:
    """The held rows ``a .. b - 1`` as a message; views, nothing is copied."""
    head = [held[a:b], intercept[a:b]]
    if isinstance(coef, np.ndarray):
        return [*head, coef[a:b]]
    lo, hi = int(coef.indptr[a]), int(coef.indptr[b])
    size = np.diff(coef.indptr[a : b + 1]).astype(np.int64)
    return [*head, coef.data[lo:hi], coef.indices[lo:hi], size]


def _join(
    pieces: list[list[NDArray[Any]]], begin: int, end: int, like: Any
) -> tuple[Any, NDArray[Any]]:
    """Rows ``begin .. end - 1`` in their order, from the pieces of several ranks."""
    intercept = np.empty(end - begin, dtype=like.dtype)
    for held, constant, *_ in pieces:
        intercept[held - begin] = constant
    if isinstance(like, np.ndarray):
        dense = np.empty((end - begin, like.shape[1]), dtype=like.dtype)
        for held, _, block in pieces:
            dense[held - begin] = block
        return dense, intercept
    size = np.zeros(end - begin, dtype=np.int64)
    for held, _, _, _, length in pieces:
        size[held - begin] = length
    indptr = np.concatenate([[0], np.cumsum(size)])
    data = np.empty(indptr[-1], dtype=like.dtype)
    indices = np.empty(indptr[-1], dtype=index_type(int(indptr[-1]), (end - begin, like.shape[1])))
    for held, _, values, columns, length in pieces:
        # Entry j of a piece goes to the start of its row, plus its place in that row.
        shift = indptr[held - begin] - (np.cumsum(length) - length)
        place = np.arange(len(values)) + np.repeat(shift, length)
        data[place], indices[place] = values, columns
    return csr_of(data, indices, indptr.astype(indices.dtype), like.shape[1]), intercept


def _csr_rows(matrix: Any, begin: int, end: int) -> Any:
    """Rows of a CSR matrix as views: scipy's own slicing would copy a mapped file."""
    lo, hi = int(matrix.indptr[begin]), int(matrix.indptr[end])
    indptr = matrix.indptr[begin : end + 1] - matrix.indptr[begin]
    return csr_of(matrix.data[lo:hi], matrix.indices[lo:hi], indptr, matrix.shape[1])
