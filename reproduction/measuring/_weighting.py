"""Texts weighted as in the paper: tf-idf rows of unit length."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from multimargin.datasets._sets import SetParts, load_set
from reproduction.measuring._training import Data


class LastText:
    """A cache of the last data set: runs come by set, and two may not fit in memory."""

    def __init__(self) -> None:
        self._name = ""
        self._data: Data | None = None

    def of(self, name: str, folder: Any) -> Data:
        """See `text_data`."""
        if self._data is None or self._name != name:
            self._data = None  # before the next one is loaded
            self._name, self._data = name, text_data(name, folder)
        return self._data


def text_data(name: str, folder: Any) -> Data:
    """Load a set of texts by name, and weight it if its files hold counts.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    folder : path-like
        The folder of data sets.

    Raises
    ------
    SetUnavailableError
        If it is not there, or no test sample is of a class that was trained.
    ValueError
        If it has no test samples.
    """
    # Counts are weighted in float64, so that the rows do not depend on who adds them up.
    parts = load_set(name, folder, dtype=np.float64)
    if parts.X_test is None or parts.y_test is None:
        raise ValueError(f"{name} has no test file beside its training file: add test.txt to it")
    return Data.encoded(*weighted(parts))


def weighted(parts: SetParts) -> SetParts:
    """Return the set in float32; if all values are counts, as tf-idf rows of unit length.

    Document frequencies are counted on the training samples. Other values stay as they are.
    Counts should be in double precision, so that the rows do not depend on who adds them up.
    """
    X, y, X_test, y_test = parts
    if has_counts(X):
        weighting = TfidfTransformer().fit(X)
        X = weighting.transform(X)
        X_test = None if X_test is None else weighting.transform(X_test)
    return SetParts(_rows(X), y, None if X_test is None else _rows(X_test), y_test)


def has_counts(X: Any) -> bool:
    """Tell whether all stored values are whole numbers above 0."""
    return bool(np.all(X.data > 0) and np.all(X.data == np.floor(X.data)))


def _rows(X: Any) -> Any:
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sort_indices()
    return X
