"""The form of ``coef_``: dense or sparse, one row per class, but a single row for two classes.

scikit-learn's form of two classes is one row, the difference of their weights, whose score is
positive for the second class. This module alone knows how rows and classes belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.formulations import FORMULATIONS
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights

# "auto" keeps coef_ dense up to this size; above, a text model is mostly zeros.
_LARGE_DENSE_BYTES = 32 * 2**20


class LinearModel(Protocol):
    """A fitted linear classifier, such as `MulticlassSVC`."""

    formulation: str
    C: float
    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]
    n_features_in_: int

    def predict(self, X: Any) -> NDArray[Any]: ...


def coefficients(weights: Weights, problem: Problem) -> tuple[Any, NDArray[Any]]:
    """Coefficients and intercepts in the type of the model, one row per row of ``weights``."""
    coef = weights.coef.astype(problem.dtype or weights.coef.dtype, copy=False)
    intercept = weights.constant.astype(coef.dtype) * coef.dtype.type(problem.bias)
    return coef, intercept


def row_count(n_classes: int, multilabel: object = None) -> int:
    """The rows of ``coef_``: with several labels per sample, each class has one."""
    return 1 if n_classes == 2 and multilabel is None else n_classes


@dataclass(frozen=True)
class ClassRows:
    """The row of ``coef_`` that each class has, and its part in that row.

    Of two classes, each has a `share` of the one row, with its sign: half of it where the
    formulation has a weight vector for each, all of it where both are one binary problem.
    """

    n_classes: int
    share: float
    rows: int

    @classmethod
    def of(cls, model: Any) -> ClassRows:
        formulation = FORMULATIONS.get(str(model.formulation))  # a file may say anything
        one_problem = formulation is not None and formulation.independent
        n_classes = len(model.classes_)
        rows = row_count(n_classes, getattr(model, "multilabel_", None))
        return cls(n_classes, 1.0 if one_problem else 0.5, rows)

    def row(self, place: int) -> tuple[int, float]:
        if self.rows == self.n_classes:
            return place, 1.0
        return 0, self.share if place else -self.share

    def scores(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """A column per class, from the scores of the rows."""
        if self.rows == self.n_classes:
            return of_rows
        share = self.share * of_rows[:, 0]
        return np.column_stack([-share, share])


def one_row_for_two(coef: Any, intercept: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """The rows of ``coef_`` from a row per weight vector: two become their difference."""
    if coef.shape[0] != 2:
        return coef, intercept
    return coef[1:] - coef[:1], intercept[1:] - intercept[:1]


def nonzeros(coef: Any) -> int:
    """The number of weights that are not zero, or that a sparse matrix stores."""
    return int(np.count_nonzero(coef) if isinstance(coef, np.ndarray) else coef.nnz)


def kept_sparse(wanted: bool | str, shape: tuple[int, int], itemsize: int, stored: int) -> bool:
    """Whether a model of this shape with ``stored`` non-zeros is a CSR matrix.

    ``wanted`` is the estimator's `sparse_coef`. The shape is the whole model's, also where each
    rank holds some of its rows.
    """
    if not isinstance(wanted, str):
        return bool(wanted)
    size = shape[0] * shape[1]
    # An index takes as much as a value or more, so this saves half the memory at least.
    return size * itemsize > _LARGE_DENSE_BYTES and 4 * stored <= size


def canonical(coef: Any) -> Any:
    """A CSR matrix with sorted indices, each once; the caller's is left as it is."""
    matrix = sp.csr_matrix(coef)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def in_form(coef: Any, *, sparse: bool) -> Any:
    """The weights as a CSR matrix or as an array, without a copy where they are one already."""
    if sparse:
        return sp.csr_matrix(coef)
    return coef if isinstance(coef, np.ndarray) else coef.toarray()
