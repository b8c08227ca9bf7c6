"""Data sets by name, from a folder that holds one folder for each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from multimargin._svmlight import load_svmlight
from multimargin.datasets._catalog import CatalogEntry, Part, entry_of

__all__ = ["SetParts", "SetUnavailableError", "file_of", "is_there", "load_set"]

# The definitions of WordNet are part of the installed package.
SHIPPED = "wordnet-hypernym"

_KINDS = (".libsvm", ".txt")
_COMPRESSIONS = ("", ".xz", ".bz2", ".gz")


class SetUnavailableError(RuntimeError):
    """A data set is not on this machine; the message says where it can be had."""


class SetParts(NamedTuple):
    """A data set as its files have it; what it has no file of is None."""

    X: csr_matrix[Any]
    y: NDArray[Any]
    X_test: csr_matrix[Any] | None
    y_test: NDArray[Any] | None


def file_of(name: str, part: Part, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file that holds a part of a data set, or None if there is none."""
    if folder is None:
        return None
    for kind in _KINDS:
        for compression in _COMPRESSIONS:
            file = Path(folder) / entry_of(name).name / f"{part}{kind}{compression}"
            if file.is_file():
                return file
    return None


def is_there(name: str, folder: str | os.PathLike[str] | None) -> bool:
    """Whether `load_set` would find the training samples of a set."""
    return entry_of(name).name == SHIPPED or file_of(name, "train", folder) is not None


def load_set(
    name: str,
    folder: str | os.PathLike[str] | None,
    dtype: DTypeLike = np.float32,
    n_threads: int | None = None,
) -> SetParts:
    """Load a data set by its name, as its files have it: neither scaled nor weighted.

    Parameters
    ----------
    name : str
        A name of the catalogue (``multimargin data list`` shows it).
    folder : path-like or None
        Has a folder of that name, with ``train.libsvm`` and, where the set has test samples,
        ``test.libsvm``: LIBSVM text with features from 1, plain or with ``.xz``, ``.bz2`` or
        ``.gz`` after its name. WordNet is taken from the installed package, with its classes
        by name, if it is not there.
    dtype : dtype, default=numpy.float32
        Of the values: ``numpy.float32`` or ``numpy.float64``.
    n_threads : int, default=None
        Threads to parse with; by default one per available processor.

    Returns
    -------
    parts : SetParts
        ``X`` of shape (n_samples, n_features), ``y`` of shape (n_samples,), and ``X_test`` and
        ``y_test`` alike, which are None where there is no test file.

    Raises
    ------
    SetUnavailableError
        If the training file is not there.
    ValueError
        If the catalogue has no such name, or a file is malformed.
    """
    entry = entry_of(name)
    train, test = file_of(name, "train", folder), file_of(name, "test", folder)
    if train is None:
        if name == SHIPPED:
            return _shipped(dtype)
        raise SetUnavailableError(_why_missing(entry, folder))
    X, y = load_svmlight(train, n_features=entry.n_features, dtype=dtype, n_threads=n_threads)
    if test is None:
        return SetParts(X, y, None, None)
    X_test, y_test = load_svmlight(
        test, n_features=entry.n_features, dtype=dtype, n_threads=n_threads
    )
    return SetParts(X, y, X_test, y_test)


def _why_missing(entry: CatalogEntry, folder: str | os.PathLike[str] | None) -> str:
    if folder is None:
        looked = "no data folder was given"
    else:
        looked = f"{Path(folder) / entry.name} has no train.libsvm or train.txt"
    return (
        f"{entry.name} is not on this machine: {looked}; name the folder that holds it by --data "
        f"or MULTIMARGIN_DATA. Where it can be had: {entry.where}"
    )


def _shipped(dtype: DTypeLike) -> SetParts:
    from multimargin.datasets._wordnet import load_wordnet_tfidf

    wordnet = load_wordnet_tfidf(dtype=dtype)
    return SetParts(wordnet.X_train, wordnet.y_train, wordnet.X_test, wordnet.y_test)
