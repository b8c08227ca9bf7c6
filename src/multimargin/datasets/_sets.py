"""Data sets by name, from a folder that holds one folder for each."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from multimargin.datasets._catalog import CATALOG, PARTS, CatalogEntry, Part, entry_of
from multimargin.datasets._generator import make_hierarchical_text
from multimargin.datasets._lshtc_format import load_lshtc
from multimargin.io._cache_folder import cache_folder
from multimargin.io._svmlight import load_svmlight

# The definitions of WordNet are part of the installed package.
SHIPPED = "wordnet-hypernym"

_KINDS = (".libsvm", ".txt")
_COMPRESSIONS = ("", ".xz", ".bz2", ".gz")


class SetUnavailableError(RuntimeError):
    """A data set is not on this machine; the message says where it can be had."""


class SetDiffersWarning(UserWarning):
    """Files named as a set of the catalogue do not have its sizes."""


class SetParts(NamedTuple):
    """A data set as its files have it; parts without a file are None.

    Examples
    --------
    >>> from multimargin.datasets import load_set
    >>> X, y, X_test, y_test = load_set("wordnet-hypernym", folder=None)
    >>> len(y), len(y_test)
    (65025, 22672)
    """

    X: csr_matrix[Any]
    y: NDArray[Any]
    X_test: csr_matrix[Any] | None
    y_test: NDArray[Any] | None


def default_folder() -> Path:
    """Return the default folder of data sets: $MULTIMARGIN_DATA, or in the user's cache."""
    given = os.environ.get("MULTIMARGIN_DATA")
    return Path(given) if given else cache_folder("data")


def file_of(name: str, part: Part, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the file that holds a part of a data set, or None."""
    if folder is None:
        return None
    place = Path(folder) / entry_of(name).name
    files = (place / f"{part}{kind}{packing}" for kind in _KINDS for packing in _COMPRESSIONS)
    return next(filter(Path.is_file, files), None)


def is_there(name: str, folder: str | os.PathLike[str] | None) -> bool:
    """Tell whether `load_set` would find the training samples of a set."""
    return entry_of(name).made or name == SHIPPED or file_of(name, "train", folder) is not None


def files_in_words(name: str, folder: str | os.PathLike[str] | None) -> str:
    """Return names and sizes of the files that `load_set` would read; "" for unknown sets."""
    if name not in CATALOG:
        return ""
    found = [file for part in PARTS if (file := file_of(name, part, folder)) is not None]
    return ", ".join(f"{file.name} {file.stat().st_size}" for file in found) or "no file"


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
        Has a folder of that name, with ``train.libsvm`` and, where there are test samples,
        ``test.libsvm``: LIBSVM text with features from 1, plain or with ``.xz``, ``.bz2`` or
        ``.gz`` after its name; or ``train.txt`` and ``test.txt``, as `load_lshtc` reads them.
        WordNet, if it is not there, is taken from the package, and generated sets are made.
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
        If the training file is not there, or the test file has no labels.
    ValueError
        If the catalogue has no such name, or a file is malformed.

    Warns
    -----
    SetDiffersWarning
        If the files have other numbers of samples or classes than the catalogue says.

    Notes
    -----
    A document of an LSHTC file with several labels gets the first of them, and features that occur
    in neither file have no column. That is a choice: the paper does not say, but its LSHTC-2011 has
    nearly as many training documents as the published file, so such documents were not left out.

    Examples
    --------
    >>> from multimargin.datasets import load_set
    >>> load_set("wordnet-hypernym", folder=None).X.shape
    (65025, 37436)
    """
    entry = entry_of(name)
    train, test = file_of(name, "train", folder), file_of(name, "test", folder)
    if train is None:
        if name == SHIPPED:
            return _shipped(dtype)
        if entry.made:
            return _generated(entry, dtype)
        raise SetUnavailableError(_why_missing(entry, folder))
    if test is not None and _is_lshtc(train) != _is_lshtc(test):
        # One format counts columns from 1, the other from 0.
        raise ValueError(
            f"{train} and {test} are in different formats, whose features cannot be matched; "
            "move one of them away, or bring both into the same format"
        )
    X, y = _read(entry, train, dtype, n_threads)
    X_test, y_test = (None, None) if test is None else _read(entry, test, dtype, n_threads)
    if y_test is not None and not np.isin(y_test, y).any():
        raise SetUnavailableError(
            f"{test}: none of its labels is one of {train}, so that it cannot be tested on "
            f"(published LSHTC test files have the label 0 throughout); put the file with labels "
            "in its place, or move it away to train without a test"
        )
    parts = SetParts(X, y, X_test, y_test)
    _compare(parts, entry, train)
    return _renumbered(parts) if _is_lshtc(train) else parts


def _compare(parts: SetParts, entry: CatalogEntry, train: Path) -> None:
    sizes = {
        "training samples": (len(parts.y), entry.n_train),
        "classes": (len(np.unique(parts.y)), entry.n_classes),
    }
    if parts.y_test is not None:
        sizes["test samples"] = (len(parts.y_test), entry.n_test)
    differ = [f"{n:,} {what} instead of {m:,}" for what, (n, m) in sizes.items() if n != m]
    if differ:
        warnings.warn(
            f"{train.parent} has {', '.join(differ)}: it is not the {entry.name} that 'multimargin "
            "data list' describes, and figures for that one say nothing about it",
            SetDiffersWarning,
            stacklevel=3,
        )


def _is_lshtc(file: Path) -> bool:
    return ".txt" in file.suffixes


def _read(
    entry: CatalogEntry, file: Path, dtype: DTypeLike, n_threads: int | None
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    if _is_lshtc(file):
        return load_lshtc(file, multilabel="first", dtype=dtype, n_threads=n_threads)
    return load_svmlight(file, n_features=entry.n_features, dtype=dtype, n_threads=n_threads)


def _renumbered(parts: SetParts) -> SetParts:
    """Leave out the columns without entries.

    The numbers in LSHTC files go far beyond the number of features (1,199,847 for 29,726), and
    dense weights would take memory for each of them.
    """
    matrices = [X for X in (parts.X, parts.X_test) if X is not None]
    occurs = np.zeros(max(X.shape[1] for X in matrices), dtype=bool)
    for X in matrices:
        occurs[X.indices] = True
    number, width = np.cumsum(occurs, dtype=np.int32) - 1, max(int(np.count_nonzero(occurs)), 1)
    X, *X_test = (
        csr_matrix((X.data, number[X.indices], X.indptr), shape=(X.shape[0], width))
        for X in matrices
    )
    return SetParts(X, parts.y, X_test[0] if X_test else None, parts.y_test)


def _why_missing(entry: CatalogEntry, folder: str | os.PathLike[str] | None) -> str:
    looked = "no data folder was given"
    if folder is not None:
        looked = f"{Path(folder) / entry.name} has no train.libsvm or train.txt"
    return (
        f"{entry.name} is not on this machine: {looked}; name the folder that holds it by --data "
        f"or MULTIMARGIN_DATA. To have it: {entry.remedy}"
    )


def _generated(entry: CatalogEntry, dtype: DTypeLike) -> SetParts:
    """Return data of the size of an LSHTC set, which needs a registration; always the same.

    The words that tell the class are 10 % of a sample, so that about half of the test samples go to
    a wrong class, as in the paper's tables; 90 different words per sample are LSHTC-2011's.
    """
    X, y = make_hierarchical_text(
        entry.n_train + entry.n_test,
        entry.n_features,
        entry.n_classes,
        words_per_sample=90,
        topic_share=0.1,
        random_state=0,
        dtype=dtype,
    )
    # One sample of each class is for training.
    first = np.unique(y, return_index=True)[1]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(y)), first)])
    train, test = np.sort(order[: entry.n_train]), order[entry.n_train :]
    return SetParts(X[train], y[train], X[test], y[test])


def _shipped(dtype: DTypeLike) -> SetParts:
    from multimargin.datasets._wordnet import load_wordnet_tfidf

    wordnet = load_wordnet_tfidf(dtype=dtype)
    return SetParts(wordnet.X_train, wordnet.y_train, wordnet.X_test, wordnet.y_test)
