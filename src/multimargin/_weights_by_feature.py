"""The weights of a model by feature, for questions about few samples.

A model has the weights of a class together, which suits many samples at once. One sample needs the
weights of its few features in all classes: by class that is a pass over the whole model, 12 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Up to here the columns of the rows' features are less work than blocks of all classes. With 12,582
# classes and 6 million weights a call takes about 100 ms and 0.03 ms per row by blocks, and 0.06 ms
# per row by columns.
_FEW_ROWS = 2000
_CALLS_BEFORE = 8  # that take as long as it takes to arrange the weights by feature


class WeightsByFeature(NamedTuple):
    """Sparse weights: those of feature j are ``coef[coef_indptr[j] : coef_indptr[j + 1]]``."""

    coef: NDArray[Any]
    coef_classes: NDArray[np.int32]
    coef_indptr: NDArray[np.int32]


def weights_by_feature(coef: Any) -> WeightsByFeature | None:
    """Arrange a CSR matrix of shape (n_outputs, n_features) by feature, if the core can use it."""
    fits = coef.dtype in (np.float32, np.float64) and coef.nnz <= np.iinfo(np.int32).max
    if not fits or coef.format != "csr":
        return None
    # A file that was not verified may hold anything, which scipy does not look at; whoever
    # predicts by class says so.
    if coef.nnz and not 0 <= coef.indices.min() <= coef.indices.max() < coef.shape[1]:
        return None
    columns = coef.tocsc()
    return WeightsByFeature(
        columns.data, columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int32)
    )


class FewRows:
    """Weights by feature for models that are asked about few samples again and again.

    Only for sparse weights that nobody can change in place, such as those of a loaded model. They
    are made after a few calls and take as much memory as the model, in this process alone.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._coef: Any = None
        self._weights: WeightsByFeature | None = None

    @classmethod
    def of(cls, coef: Any, weights: WeightsByFeature | None) -> FewRows:
        """With the weights of `coef` by feature there from the first call on."""
        made = cls()
        made._calls, made._coef, made._weights = _CALLS_BEFORE, coef, weights
        return made

    def __reduce__(self) -> tuple[type[FewRows], tuple[()]]:
        return FewRows, ()  # copies and pickles begin anew

    def weights(self, coef: Any, rows: int) -> WeightsByFeature | None:
        """The weights by feature, if they are there or worth it for this call."""
        if rows > _FEW_ROWS or not sp.issparse(coef):
            return None
        if self._coef is coef and self._weights is not None:
            return self._weights
        if _writable(coef):
            return None
        if self._coef is not coef:
            self._calls, self._coef, self._weights = 0, coef, None
        self._calls += 1
        if self._calls > _CALLS_BEFORE:
            self._weights = weights_by_feature(coef)
        return self._weights


def _writable(coef: Any) -> bool:
    return any(part.flags.writeable for part in (coef.data, coef.indices, coef.indptr))
