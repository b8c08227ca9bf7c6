"""The weights of single classes, whatever form ``coef_`` has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.models._coef import ClassRows


class ClassWeights:
    """The weights of each class, also where two classes share one row of ``coef_``.

    Each of two classes has the weights of its score in `predict_topk`: half of the row with its
    sign, or all of it for one-vs-rest.
    """

    def __init__(self, model: Any) -> None:
        coef = model.coef_
        self._dense = isinstance(coef, np.ndarray)
        self._coef = coef if self._dense or coef.format == "csr" else coef.tocsr()
        self._intercept = np.asarray(model.intercept_)
        self._rows = ClassRows.of(model)

    def row(self, label: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the features that a class has a weight for, and the weights."""
        row, factor = self._rows.row(label)
        if self._dense:
            features = np.flatnonzero(self._coef[row])
            return features, factor * self._coef[row, features].astype(np.float64)
        features, weights = self._stored(row)
        if not _rising(features):
            features, into = np.unique(features, return_inverse=True)
            weights = np.bincount(into, weights, minlength=len(features))
        return features, factor * weights.astype(np.float64)

    def at(self, label: int, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the weights of some features, which rise; reads no more of the row than needed."""
        row, factor = self._rows.row(label)
        if self._dense:
            dense: NDArray[np.float64] = self._coef[row, features].astype(np.float64)
            return factor * dense
        stored, weights = self._stored(row)
        if not _rising(stored):
            stored, weights = self.row(label)
            factor = 1.0
        found = np.zeros(len(features))
        if len(stored):
            place = np.minimum(np.searchsorted(stored, features), len(stored) - 1)
            hit = stored[place] == features
            found[hit] = weights[place[hit]]
        return factor * found

    def intercept(self, label: int) -> float:
        """Return the constant part of a class's score."""
        row, factor = self._rows.row(label)
        return factor * float(self._intercept[row])

    def _stored(self, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
        # Slices of the arrays: SciPy's own slicing checks and copies, and takes 50 times as long.
        begin, end = int(self._coef.indptr[row]), int(self._coef.indptr[row + 1])
        return self._coef.indices[begin:end], self._coef.data[begin:end]


def _rising(features: NDArray[Any]) -> bool:
    return len(features) < 2 or bool((features[1:] > features[:-1]).all())
