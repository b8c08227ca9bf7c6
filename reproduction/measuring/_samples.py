"""The training samples of the experiments that measure time, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.datasets._catalog import CATALOG, CatalogEntry
from multimargin.datasets._generator import make_hierarchical_text
from multimargin.datasets._sets import is_there, load_set
from reproduction.measuring._weighting import weighted

GENERATED_SMALL = "generator-small"
"""4,000 samples, 20,000 features and 1,000 classes of `make_hierarchical_text`."""
GENERATED_MEDIUM = "generator-medium"
"""20,000 samples, 60,000 features and 5,000 classes."""


def _generated(name: str, n_train: int, n_features: int, n_classes: int) -> CatalogEntry:
    words = "none needed", "made by the reproduction"
    return CatalogEntry(name, "generated texts", n_train, 0, n_classes, n_features, *words)


_GENERATED = {
    GENERATED_SMALL: _generated(GENERATED_SMALL, 4_000, 20_000, 1_000),
    GENERATED_MEDIUM: _generated(GENERATED_MEDIUM, 20_000, 60_000, 5_000),
}


def size_of(name: str) -> CatalogEntry:
    """Return the sizes of a data set that `training_samples` knows."""
    return _GENERATED[name] if name in _GENERATED else CATALOG[name]


def available(name: str, folder: Path) -> bool:
    """Tell whether `training_samples` would find a data set."""
    return name in _GENERATED or is_there(name, folder)


def training_samples(name: str, folder: Path) -> tuple[sp.csr_matrix, NDArray[np.int64]]:
    """Return the rows to train on, and their classes from 0.

    Counts of words, which LSHTC's files have, are weighted by tf-idf as in the paper.

    Parameters
    ----------
    name : str
        A name of the catalogue, "generator-small" or "generator-medium".
    folder : Path
        The folder of data sets.

    Returns
    -------
    X : csr_matrix of float32, shape (n_samples, n_features)
    y : ndarray of int64, shape (n_samples,)
    """
    if name in _GENERATED:
        size = _GENERATED[name]
        sizes = size.n_train, size.n_features, size.n_classes
        X, labels = make_hierarchical_text(*sizes, random_state=0)
    else:
        X, labels, *_ = weighted(load_set(name, folder, dtype=np.float64))
    return X, np.unique(labels, return_inverse=True)[1]
