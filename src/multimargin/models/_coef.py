"""In which form the weights of a model are kept: dense or sparse, in the model's own type."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights

# "auto" keeps coef_ dense up to this size; above, a text model is mostly zeros.
_LARGE_DENSE_BYTES = 32 * 2**20


def coefficients(weights: Weights, problem: Problem) -> tuple[Any, NDArray[Any]]:
    """Coefficients and intercepts in the type of the model, one row per row of ``weights``."""
    coef = weights.coef.astype(problem.dtype or weights.coef.dtype, copy=False)
    intercept = weights.constant.astype(coef.dtype) * coef.dtype.type(problem.bias)
    return coef, intercept


def one_row_for_two(coef: Any, intercept: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Two classes are told apart by the difference of their scores; more stay as they are."""
    if coef.shape[0] != 2:
        return coef, intercept
    return coef[1:] - coef[:1], intercept[1:] - intercept[:1]


def nonzeros(coef: Any) -> int:
    """Weights of an array that are not zero, or that a sparse matrix stores."""
    return int(np.count_nonzero(coef) if isinstance(coef, np.ndarray) else coef.nnz)


def kept_sparse(wanted: bool | str, shape: tuple[int, int], itemsize: int, stored: int) -> bool:
    """Whether a model of this shape with ``stored`` non-zeros is a CSR matrix.

    ``wanted`` is the estimator's `sparse_coef`. The shape is that of the whole model, also where
    ranks hold shares of it.
    """
    if not isinstance(wanted, str):
        return bool(wanted)
    size = shape[0] * shape[1]
    # An index takes as much as a value or more, so this saves half the memory at least.
    return size * itemsize > _LARGE_DENSE_BYTES and 4 * stored <= size


def in_form(coef: Any, *, sparse: bool) -> Any:
    """The weights as a CSR matrix or as an array; themselves where they are that already."""
    if sparse:
        return sp.csr_matrix(coef)
    return coef if isinstance(coef, np.ndarray) else coef.toarray()
