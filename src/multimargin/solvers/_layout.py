"""Rows of X as the compiled core borrows them: CSR, or a dense array in C order.

Which of the two is chosen here, and what Python code asks of both kinds stands here too.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin import _core
from multimargin.io._checksums import csr_arrays
from multimargin.parallel._divided_rows import DividedRows
from multimargin.solvers._core_types import Rows

Matrix: TypeAlias = sp.csr_matrix | NDArray[Any]

# The share of numbers that are not zero from which on dense rows are faster. Active sets (500
# classes, to 1 %): 1.4 s instead of 2.1 with a share of 0.1, instead of 3.6 with 0.2. Other engines
# gain nothing (100 classes, 0.5: 1.5 s instead of 1.1); from 0.5 on CSR takes more memory.
_DENSE_SHARE = {True: 0.1, False: 0.5}
_FULL_SHARE = 0.25  # ... from which on sparse rows are worth a dense copy
_MOST_BYTES = 2**32  # of such a copy
_ENTRIES_AT_ONCE = 1 << 22


def as_core_rows(X: Any, *, many_classes: bool) -> Matrix:
    """Return an array or sparse matrix as the core borrows it, in the layout that is faster.

    ``many_classes``: whether an active set of them will be worked on, or all of them predicted.

    The floats keep their type. `X` itself is returned where it is that already: only arrays in
    Fortran order, dense rows of zeros and nearly full sparse rows are copied.
    """
    if sp.issparse(X):
        matrix = as_core_csr(X)
        size = matrix.shape[0] * matrix.shape[1]
        small = size * matrix.dtype.itemsize <= _MOST_BYTES
        full = many_classes and entries(matrix) > _FULL_SHARE * size
        if small and full and isinstance(matrix, DividedRows):
            raise ValueError("samples with most of the features are not divided: they are dense")
        return matrix.toarray() if small and full else matrix
    filled = sum(int(np.count_nonzero(part)) for part in _parts(X))
    if filled < _DENSE_SHARE[many_classes] * X.size:
        return sp.csr_matrix(X)
    native: NDArray[Any] = np.require(X, X.dtype.newbyteorder("="), ["C", "A"])
    return native


def as_core_csr(X: Any) -> sp.csr_matrix:
    """Return an array or sparse matrix as CSR with sorted, unique, valid indices of one type.

    The floats keep their type. `X` itself is returned where it is that already.
    """
    if not sp.issparse(X):
        return sp.csr_matrix(X)
    matrix: Any = X
    csr: Any = matrix if matrix.format == "csr" else matrix.tocsr()
    if csr.indices.dtype != csr.indptr.dtype or csr.indices.dtype not in (np.int32, np.int64):
        # scipy takes the smaller type that holds all; the data are not copied.
        csr = sp.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    if csr.nnz and (csr.indices.min() < 0 or csr.indices.max() >= csr.shape[1]):
        raise ValueError(
            f"X has column indices outside 0 .. {csr.shape[1] - 1}: the sparse matrix is corrupt"
        )
    if csr.indptr[0] != 0 or len(csr.indptr) != csr.shape[0] + 1 or np.any(np.diff(csr.indptr) < 0):
        raise ValueError("X has a corrupt indptr: row starts must rise from zero")
    if csr.indptr[-1] > min(len(csr.indices), len(csr.data)):
        raise ValueError("X has a corrupt indptr: it points beyond the stored entries")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return cast(sp.csr_matrix, csr)


def core_rows(X: Matrix) -> Rows:
    """Return the rows for the compiled core, which borrows the arrays."""
    if isinstance(X, np.ndarray):
        return cast(Rows, _core.rows(np.asarray(X)))
    return cast(Rows, _core.rows(X.data, X.indices, X.indptr, X.shape[1]))


def entries(X: Matrix) -> int:
    """Return how many numbers a sweep over all rows reads."""
    if isinstance(X, DividedRows):
        return int(X.starts[-1])
    return int(X.size if isinstance(X, np.ndarray) else X.nnz)


def pair_bytes(X: Matrix) -> int:
    """Return the memory that one active class of every sample takes."""
    # The positions of its features, or next to nothing: see src/core/active_set/active_set.hpp.
    return 21 * X.shape[0] if isinstance(X, np.ndarray) else 4 * entries(X)


def row_entries(X: Matrix) -> NDArray[np.int64]:
    """Return the same for each row."""
    if isinstance(X, np.ndarray):
        return np.full(X.shape[0], X.shape[1], dtype=np.int64)
    begin = X.starts if isinstance(X, DividedRows) else X.indptr
    return np.diff(begin).astype(np.int64)


def filled_rows(X: Matrix) -> NDArray[np.bool_]:
    """Say of each row whether it has a number that is not zero."""
    if isinstance(X, np.ndarray):
        return np.concatenate([part.any(axis=1) for part in _parts(X)])
    sizes: Any = abs(X).max(axis=1)
    return np.asarray(sizes.todense()).reshape(-1) > 0


def largest(X: Matrix) -> float:
    return max((float(np.max(np.abs(part), initial=0.0)) for part in _parts(X)), default=0.0)


def sum_of_squares(X: Matrix) -> float:
    if isinstance(X, DividedRows):
        return X.squares
    # Not a dot product: BLAS would use threads of its own, and with rows of unit length the last
    # digit decides.
    return sum(float(np.sum(np.square(part))) for part in _parts(X))


def arrays_of(X: Matrix) -> list[NDArray[Any]]:
    if isinstance(X, DividedRows):
        return [X.starts]  # what all ranks have
    return [X] if isinstance(X, np.ndarray) else csr_arrays(X)


def _parts(X: Matrix) -> list[NDArray[Any]]:
    """Return the values, dense ones by some rows at a time: copies of all would be gigabytes."""
    if not isinstance(X, np.ndarray):
        return [X.data]
    rows = max(1, _ENTRIES_AT_ONCE // max(1, X.shape[1]))
    return [X[begin : begin + rows] for begin in range(0, X.shape[0], rows)]
