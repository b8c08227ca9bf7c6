"""The weights of a model by feature, for models that are asked about few samples at a time.

A model has the weights of a class together, which suits many samples at once. One sample needs the
weights of its few features in all classes: by class that is a pass over the whole model, 12 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# With 12,582 classes and 6 million weights a call takes about 90 ms and 0.025 ms per row by blocks
# of classes (12 ms for one row), and 0.021 ms per row by features; to arrange the weights by
# feature takes as long as this many calls.
_CALLS_BEFORE = 8

# A column with weights for this share of the classes or more is kept with its zeros, which takes
# twice the room at most. Whole columns are added much faster than single weights: with 12,582
# classes, 164 of 37,436 features have nine tenths of the weights that a text meets.
_DENSE_SHARE = 4


class SplitColumns:
    """The columns of a model: frequent features, with weights for many classes, and the others.

    A frequent feature j has the row ``slot[j]`` of `matrix`, of shape (n_dense + 1, n_rows); the
    others have the last row, zeros, and a column of `lists`, a CSC matrix.
    """

    def __init__(self, coef: Any) -> None:
        rows, n_features = coef.shape
        columns = sp.csc_matrix(coef, copy=True)
        columns.sum_duplicates()  # which a user's own matrix may have
        count = np.diff(columns.indptr)
        dense = is_dense(count, rows)
        self.n_dense = int(np.count_nonzero(dense))
        self.slot = np.full(n_features, self.n_dense, dtype=np.int32)
        self.slot[dense] = np.arange(self.n_dense)
        self.matrix = np.zeros((self.n_dense + 1, rows), dtype=columns.dtype)
        single = np.repeat(~dense, count)
        at = np.repeat(self.slot, count)[~single]
        self.matrix[at, columns.indices[~single]] = columns.data[~single]
        indptr = np.concatenate([[0], np.cumsum(np.where(dense, 0, count))])
        self.lists = sp.csc_matrix(
            (columns.data[single], columns.indices[single], indptr), shape=columns.shape
        )


def is_dense(count: Any, rows: int) -> Any:
    """Whether columns with `count` weights each are kept with their zeros."""
    return count * _DENSE_SHARE >= rows


class WeightsByFeature(NamedTuple):
    """Sparse weights: feature j has ``coef[coef_indptr[j] : coef_indptr[j + 1]]``.

    A frequent feature has the row ``slot[j]`` of `matrix` instead; see `SplitColumns`.
    """

    coef: NDArray[Any]
    coef_classes: NDArray[np.int32]
    coef_indptr: NDArray[np.int32]
    slot: NDArray[np.int32]
    matrix: NDArray[Any]


def weights_by_feature(coef: Any) -> WeightsByFeature | None:
    """Arrange a CSR matrix of shape (n_rows, n_features) by feature, if the core can use it."""
    fits = coef.dtype in (np.float32, np.float64) and coef.nnz <= np.iinfo(np.int32).max
    if not fits or coef.format != "csr":
        return None
    # A file that was not verified may hold anything, and scipy does not check it; prediction by
    # class does.
    if coef.nnz and not 0 <= coef.indices.min() <= coef.indices.max() < coef.shape[1]:
        return None
    split = SplitColumns(coef)
    classes = split.lists.indices.astype(np.int32, copy=False)
    indptr = split.lists.indptr.astype(np.int32, copy=False)
    return WeightsByFeature(split.lists.data, classes, indptr, split.slot, split.matrix)


class FeatureMajorCache:
    """The weights of a model by feature, made after a few calls and kept between calls.

    Only for sparse weights that nobody can change in place, such as a loaded model's. They take
    about as much memory as the model, in this process alone.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._coef: Any = None
        self._weights: WeightsByFeature | None = None

    @classmethod
    def of(cls, coef: Any, weights: WeightsByFeature | None) -> FeatureMajorCache:
        """A cache that holds the weights of `coef` by feature from the first call on."""
        made = cls()
        made._calls, made._coef, made._weights = _CALLS_BEFORE, coef, weights
        return made

    def __reduce__(self) -> tuple[type[FeatureMajorCache], tuple[()]]:
        return FeatureMajorCache, ()  # copies and pickles begin anew

    def weights(self, coef: Any) -> WeightsByFeature | None:
        """The weights by feature, if they are there or worth it for this call."""
        if isinstance(coef, np.ndarray):
            return None
        if self._coef is coef and self._weights is not None:
            return self._weights
        if any(part.flags.writeable for part in (coef.data, coef.indices, coef.indptr)):
            return None
        if self._coef is not coef:
            self._calls, self._coef, self._weights = 0, coef, None
        self._calls += 1
        if self._calls > _CALLS_BEFORE:
            self._weights = weights_by_feature(coef)
        return self._weights
