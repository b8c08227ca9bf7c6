"""The weights of a model by feature, for questions that come again and again.

A model has the weights of a class together, which suits many samples at once. One sample needs the
weights of its few features in all classes: by class that is a pass over the whole model, 12 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.models._split_columns import SplitColumns

# With 12,582 classes and 6 million weights a call takes about 90 ms and 0.025 ms per row by blocks
# of classes (12 ms for one row), and 0.021 ms per row by features; to arrange the weights by
# feature takes as long as this many calls.
_CALLS_BEFORE = 8


class WeightsByFeature(NamedTuple):
    """Sparse weights: those of feature j are ``coef[coef_indptr[j] : coef_indptr[j + 1]]``.

    But of frequent features they are the row ``slot[j]`` of `matrix`; see `SplitColumns`.
    """

    coef: NDArray[Any]
    coef_classes: NDArray[np.int32]
    coef_indptr: NDArray[np.int32]
    slot: NDArray[np.int32]
    matrix: NDArray[Any]


def weights_by_feature(coef: Any) -> WeightsByFeature | None:
    """Arrange a CSR matrix of shape (n_outputs, n_features) by feature, if the core can use it."""
    fits = coef.dtype in (np.float32, np.float64) and coef.nnz <= np.iinfo(np.int32).max
    if not fits or coef.format != "csr":
        return None
    # A file that was not verified may hold anything, which scipy does not look at; whoever
    # predicts by class says so.
    if coef.nnz and not 0 <= coef.indices.min() <= coef.indices.max() < coef.shape[1]:
        return None
    split = SplitColumns(coef)
    classes = split.lists.indices.astype(np.int32, copy=False)
    indptr = split.lists.indptr.astype(np.int32, copy=False)
    return WeightsByFeature(split.lists.data, classes, indptr, split.slot, split.matrix)


class FeatureMajorCache:
    """Weights by feature for models that are asked again and again, about few samples at a time.

    Only for sparse weights that nobody can change in place, such as those of a loaded model. They
    are made after a few calls and take about as much memory as the model, in this process alone.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._coef: Any = None
        self._weights: WeightsByFeature | None = None

    @classmethod
    def of(cls, coef: Any, weights: WeightsByFeature | None) -> FeatureMajorCache:
        """With the weights of `coef` by feature there from the first call on."""
        made = cls()
        made._calls, made._coef, made._weights = _CALLS_BEFORE, coef, weights
        return made

    def __reduce__(self) -> tuple[type[FeatureMajorCache], tuple[()]]:
        return FeatureMajorCache, ()  # copies and pickles begin anew

    def weights(self, coef: Any) -> WeightsByFeature | None:
        """The weights by feature, if they are there or worth it for this call."""
        if not sp.issparse(coef):
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
