"""Scores of texts that come one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.serving._columns import Columns, columns_of

# For the few best, taking the largest away one by one is faster than a partition.
_FEW = 16


class SingleScores:
    """What `multimargin._prediction.Scores` asks for, row by row from the weights by feature.

    Parameters
    ----------
    coef : ndarray or csr_matrix of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    columns : Columns, default=None
        The same by feature, if it is sparse. Made here by default.
    """

    def __init__(self, coef: Any, intercept: NDArray[Any], columns: Columns | None = None) -> None:
        self._dense: NDArray[Any] | None = None
        if isinstance(coef, np.ndarray):
            self._dense = coef  # of a mapped file: its columns are read from where they are
        else:
            self._columns = columns_of(coef) if columns is None else columns
        self._dtype = coef.dtype if coef.dtype in (np.float32, np.float64) else np.dtype(float)
        self._intercept = np.array(intercept, dtype=self._dtype)

    def scores(self, X: Any) -> NDArray[Any]:
        """All scores, shape (n_samples, n_outputs)."""
        return np.stack([self._of_one(X, row) for row in range(X.shape[0])])

    def top(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The ``k`` best outputs of each sample and their scores, best first."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score = np.empty((X.shape[0], k), dtype=self._dtype)
        for row in range(X.shape[0]):
            scores = self._of_one(X, row)
            best[row] = places = _best(scores, k)
            score[row] = scores[places]
        return best, score

    def _of_one(self, X: Any, row: int) -> NDArray[Any]:
        part = slice(X.indptr[row], X.indptr[row + 1])
        features, values = X.indices[part], X.data[part].astype(self._dtype, copy=False)
        if self._dense is not None:
            weights = self._dense[:, features].astype(self._dtype, copy=False)
            dense: NDArray[Any] = weights @ values + self._intercept
            return dense
        outputs, weights, starts = self._columns
        scores = self._intercept.copy()
        begins, ends = starts[features].tolist(), starts[features + 1].tolist()
        for begin, end, value in zip(begins, ends, values, strict=True):
            # Each output at most once in a column, so that none is lost.
            scores[outputs[begin:end]] += value * weights[begin:end]
        return scores


def _best(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """The best first; of equal ones the first, as everywhere in this package."""
    if k <= _FEW:
        left = scores.copy()
        best = np.empty(k, dtype=np.intp)
        for rank in range(k):
            best[rank] = place = left.argmax()
            left[place] = -np.inf
        return best
    least = np.partition(scores, scores.size - k)[scores.size - k]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")
    chosen: NDArray[np.intp] = candidates[order[:k]]
    return chosen
