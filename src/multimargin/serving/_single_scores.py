"""Scores of texts that come one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.inspection._feature_index import FeatureIndex
from multimargin.serving._columns import columns_of


class SingleScores:
    """What `multimargin._prediction.Scores` asks for, row by row from the weights by feature.

    Parameters
    ----------
    coef : ndarray or csr_matrix of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    columns : ndarray or csc_matrix, default=None
        The same by feature. Made here by default.
    """

    def __init__(self, coef: Any, intercept: NDArray[Any], columns: Any = None) -> None:
        self._index = FeatureIndex(
            coef, intercept, columns_of(coef) if columns is None else columns
        )

    def scores(self, X: Any) -> NDArray[Any]:
        """All scores, shape (n_samples, n_outputs)."""
        return np.stack(
            [self._index.scores(*_double(_entries(X, row))) for row in range(X.shape[0])]
        )

    def top(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The ``k`` best outputs of each sample and their scores, best first."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score = np.empty((X.shape[0], k))
        for row in range(X.shape[0]):
            entries = _entries(X, row)
            found = self._index.top(*entries, k)
            if found is None:  # a rare word leaves most classes with the same score, exactly
                scores = self._index.scores(*_double(entries))
                places = _best(scores, k)
                found = places, scores[places]
            best[row], score[row] = found
        return best, score


def _entries(X: Any, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    part = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[part], X.data[part]


def _double(entries: tuple[NDArray[Any], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    return entries[0], entries[1].astype(np.float64)


def _best(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The best first; of equal ones the first, as everywhere in this package."""
    least = np.partition(scores, scores.size - k)[scores.size - k]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")
    chosen: NDArray[np.int64] = candidates[order[:k]]
    return chosen
