"""The weights of a model by feature, for texts that come one at a time.

A model file has the weights of a class together, which suits many samples at once. One text needs
the weights of its few words in all classes: by class that is a pass over the whole model, 23 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers, 0.3 ms.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin._array_file import read_arrays, write_arrays

_KIND = "weights-by-feature"


class FeatureWeights:
    """Linear scores of single samples; what `multimargin._prediction.Scores` asks for.

    Parameters
    ----------
    coef : ndarray or csr_matrix of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    columns : csc_matrix, default=None
        The same as `coef`, if it is sparse, by feature. Made here by default.
    """

    def __init__(self, coef: Any, intercept: NDArray[Any], columns: Any = None) -> None:
        self._coef = coef
        self._intercept = np.asarray(intercept, dtype=np.float64)
        self._columns = columns
        if columns is None and sp.issparse(coef):
            self._columns = coef.tocsc()

    def scores(self, X: Any) -> NDArray[Any]:
        """All scores, shape (n_samples, n_outputs)."""
        return np.stack([self._of_one(*_entries(X, row)) for row in range(X.shape[0])])

    def top(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The ``k`` best outputs of each sample and their scores, best first."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score = np.empty((X.shape[0], k))
        for row in range(X.shape[0]):
            scores = self._of_one(*_entries(X, row))
            best[row] = _best(scores, k)
            score[row] = scores[best[row]]
        return best, score

    def _of_one(self, features: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
        if self._columns is None:
            dense: NDArray[np.float64] = self._coef[:, features] @ values.astype(np.float64)
            return dense + self._intercept
        scores = self._intercept.copy()
        outputs, weights, begins = (
            self._columns.indices,
            self._columns.data,
            self._columns.indptr,
        )
        for feature, value in zip(features.tolist(), values.tolist(), strict=True):
            part = slice(begins[feature], begins[feature + 1])
            # Each output at most once in a column, so nothing gets lost here.
            scores[outputs[part]] += weights[part] * value
        return scores


def _entries(X: Any, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    part = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[part], X.data[part]


def _best(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The best first; of equal ones the first, as everywhere in this package."""
    least = np.partition(scores, scores.size - k)[scores.size - k]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")
    return candidates[order[:k]]


def write_columns(coef: Any, path: Path) -> None:
    """Write sparse weights by feature to a file that several processes can map."""
    columns = coef.tocsc()
    write_arrays(
        path,
        {"kind": _KIND, "shape": list(columns.shape)},
        {"data": columns.data, "indices": columns.indices, "indptr": columns.indptr},
    )


def read_columns(path: str | os.PathLike[str]) -> Any:
    """Map what `write_columns` has written."""
    meta, arrays = read_arrays(path)
    columns = sp.csc_matrix(tuple(meta["shape"]), dtype=arrays["data"].dtype)
    columns.data, columns.indices, columns.indptr = (
        arrays["data"],
        arrays["indices"],
        arrays["indptr"],
    )
    return columns
