"""The weights of a model by feature: what one sample needs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin._prediction import LinearScores

# More classes than this within rounding of the best are left to the scan of all.
_MOST_CANDIDATES = 1024


def index_features(model: Any) -> None:
    """Make `explain` fast: keep the weights of a fitted model by feature as well as by class.

    A prediction scans the weights of all classes, which is what many samples at once are best
    served by. One sample alone needs the few weights of its own features. With them in order, the
    five best of 12,582 classes are found in a tenth of a millisecond instead of several. The
    weights then take their memory a second time. The index belongs to the model's present weights
    and is neither saved nor pickled; what `explain` returns is the same with it and without.

    Parameters
    ----------
    model : MulticlassSVC
        Fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import index_features
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X, y)
    >>> index_features(model)
    >>> model.explain(X[0]).label
    0
    """
    check_is_fitted(model, "coef_")
    model._feature_index = FeatureIndex(model.coef_, model.intercept_)


class FeatureIndex:
    """Scores of all classes for one sample, from the columns of its features.

    Parameters
    ----------
    coef : ndarray or sparse matrix of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    """

    def __init__(self, coef: Any, intercept: NDArray[Any]) -> None:
        self._coef, self._intercept = coef, intercept
        self._constant = np.asarray(intercept, dtype=np.float64)
        self._columns: Any
        if isinstance(coef, np.ndarray):
            self._columns = np.ascontiguousarray(coef.T)
            stored = self._columns
        else:
            self._columns = sp.csc_matrix(coef, copy=coef.format == "csc")
            self._columns.sum_duplicates()
            stored = self._columns.data
        self._largest = max(abs(float(stored.min(initial=0))), abs(float(stored.max(initial=0))))

    def belongs_to(self, model: Any) -> bool:
        """Whether the model still has the weights that this was made of."""
        return self._coef is model.coef_ and self._intercept is model.intercept_

    def scores(self, features: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of all outputs in double precision."""
        if isinstance(self._columns, np.ndarray):
            dense: NDArray[np.float64] = values @ self._columns[features] + self._constant
            return dense
        scores = self._constant.copy()
        for feature, value in zip(features.tolist(), values.tolist(), strict=True):
            outputs, weights = self._column(feature)
            scores[outputs] += value * weights
        return scores

    def top(
        self, features: NDArray[Any], values: NDArray[Any], k: int
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The ``k`` best outputs and their scores, in the bits of `LinearScores.top`.

        None where too many are as good.

        Parameters
        ----------
        features, values : ndarray of shape (n_stored,)
            Of the sample; the features rise.
        k : int
            At most the number of outputs.
        """
        scores = self.scores(features, values.astype(np.float64))
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        # The scan rounds to the type of the weights at every step.
        size = self._largest * float(np.abs(values).sum()) + float(np.abs(self._constant).max())
        rounding = 4 * (len(values) + 2) * float(np.finfo(self._coef.dtype).eps) * size
        near = np.flatnonzero(scores >= kth - rounding)
        if len(near) > _MOST_CANDIDATES:
            return None
        # The same sums for the few, in which only the sample's features have a place: the core
        # adds them in their order, and a class by itself.
        some = LinearScores(self._block(near, features), self._intercept[near], threads=1)
        best, score = some.top(values[None, :], k)
        return near[best[0]], score[0]

    def _block(self, outputs: NDArray[Any], features: NDArray[Any]) -> NDArray[Any]:
        """The weights of some outputs and features, dense."""
        if isinstance(self._columns, np.ndarray):
            return np.ascontiguousarray(self._columns[features].T[outputs])
        block = np.zeros((len(outputs), len(features)), dtype=self._coef.dtype)
        for j, feature in enumerate(features.tolist()):
            having, weights = self._column(feature)
            if len(having):
                place = np.minimum(np.searchsorted(having, outputs), len(having) - 1)
                block[:, j] = np.where(having[place] == outputs, weights[place], 0)
        return block

    def _column(self, feature: int) -> tuple[NDArray[Any], NDArray[Any]]:
        part = slice(self._columns.indptr[feature], self._columns.indptr[feature + 1])
        return self._columns.indices[part], self._columns.data[part]
