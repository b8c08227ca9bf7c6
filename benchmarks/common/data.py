"""The data sets by name: CSR rows of float32, labels as integers from 0."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import SHIPPED, SetParts, SetUnavailableError, file_of, load_set
from multimargin.io._atomic import atomic_write
from reproduction.measuring._weighting import weighted

ROOT = Path(__file__).resolve().parents[2]

WORDNET = SHIPPED
LSHTC = "lshtc1-dryrun-task2"
DMOZ = "dmoz-108"
GENERATED = "hierarchical-20000"
GENERATED_SMALL = "hierarchical-1000"
EMBEDDINGS = "wordnet-embeddings"
ALL_EMBEDDINGS = "wordnet-embeddings-all"

# Samples, features, classes.
_GENERATED = {GENERATED: (60_000, 300_000, 20_000), GENERATED_SMALL: (4_000, 20_000, 1_000)}
_EMBEDDINGS = {EMBEDDINGS: 1_000, ALL_EMBEDDINGS: None}  # classes
_BY_SIZES = re.compile(r"hierarchical:(\d+):(\d+):(\d+):(\d+)(?::(\d+))?")
_HELD_OUT = 5_000  # test rows of a generated set whose difficulty is given


class DataUnavailableError(RuntimeError):
    """A data set is not on this machine."""


@dataclass(frozen=True)
class DataSet:
    """Training rows and, where there are some, test rows; an unknown test label is -1."""

    X: sp.csr_matrix
    y: np.ndarray
    X_test: sp.csr_matrix | None
    y_test: np.ndarray | None
    source: str


def default_folder() -> Path:
    """Where the data are unless an option says otherwise: $MULTIMARGIN_DATA, ../shared/data."""
    given = os.environ.get("MULTIMARGIN_DATA")
    return Path(given) if given else ROOT.parent / "shared" / "data"


def load(name: str, folder: Path | None) -> DataSet:
    """Load a set by name, or the ``.npz`` file of that name.

    Parameters
    ----------
    name : str
        A name of the catalogue (``multimargin data list``): counts of words get tf-idf weights,
        but news20 rows of unit length, as in the paper; "hierarchical-20000" (generated: 60,000
        samples, 300,000 features, 20,000 classes), "hierarchical-1000" (generated: 4,000
        samples, 20,000 features, 1,000 classes), "wordnet-embeddings" (28,630 dense rows of 256
        features, 1,000 classes), "wordnet-embeddings-all" (65,025 rows, 12,582 classes; both are
        made once and kept in the user's cache), "hierarchical:SAMPLES:FEATURES:CLASSES:WORDS"
        (generated, with so many words per sample on average; see `by_sizes`), or the path of a
        file ending in ``.npz``.
    folder : Path or None
        Has one folder per set, with its training file and, where there is one, its test file.
        WordNet is taken from the installed package if it is not there.

    Raises
    ------
    DataUnavailableError
        If the set is not there.
    """
    if name.endswith(".npz"):
        return _from_npz(Path(name))
    if name in _GENERATED:
        return _generated(*_GENERATED[name])
    if name in _EMBEDDINGS:
        return _embedded(name)
    if (sizes := _BY_SIZES.fullmatch(name)) is not None:
        return _generated(*(int(size) for size in sizes.groups() if size is not None))
    if name not in CATALOG:
        raise DataUnavailableError(f"no data set is called {name}; see 'multimargin data list'")
    return _from_files(name, folder)


def known(text: str) -> str:
    """A name that `load` knows, whether the set is there or not; for argparse."""
    made = text in _GENERATED or text in _EMBEDDINGS or _BY_SIZES.fullmatch(text)
    if text.endswith(".npz") or made or text in CATALOG:
        return text
    raise argparse.ArgumentTypeError(f"no data set is called {text!r}; see 'multimargin data list'")


def in_folder(name: str, folder: Path | None) -> bool:
    """Whether the folder of data sets holds this one."""
    return file_of(name, "train", folder) is not None


def _from_files(name: str, folder: Path | None) -> DataSet:
    try:
        # Counts have to be weighted in double precision; what comes with the package is weighted.
        dtype = np.float64 if in_folder(name, folder) else np.float32
        parts = load_set(name, folder, dtype=dtype, n_threads=1)
    except SetUnavailableError as error:
        raise DataUnavailableError(str(error)) from None
    source = str(folder / name) if in_folder(name, folder) else "the installed package"
    return _encoded(*_prepared(name, parts), source)


def _prepared(name: str, parts: SetParts) -> SetParts:
    if name == "dna":
        return parts  # whole numbers, but no counts of words
    if name == "news20":
        X_test = None if parts.X_test is None else normalize(parts.X_test)
        return SetParts(normalize(parts.X), parts.y, X_test, parts.y_test)
    return weighted(parts)


def by_sizes(
    samples: int, features: int, classes: int, words: int, topic_percent: int | None = None
) -> str:
    """The name of a generated set of any size.

    With `topic_percent`, the share of words that tell the class, it has test rows as well.
    """
    name = f"hierarchical:{samples}:{features}:{classes}:{words}"
    return name if topic_percent is None else f"{name}:{topic_percent}"


def _generated(
    samples: int, features: int, classes: int, words: int = 40, topic_percent: int | None = None
) -> DataSet:
    from multimargin.datasets import make_hierarchical_text

    options: dict[str, float] = {"words_per_sample": words}
    if topic_percent is not None:
        options["topic_share"] = topic_percent / 100
    n = samples if topic_percent is None else samples + _HELD_OUT
    X, y = make_hierarchical_text(n, features, classes, random_state=0, **options)
    source = f"make_hierarchical_text({n}, {features}, {classes}, {options})"
    if topic_percent is None:
        return _encoded(X, y, None, None, source)
    return _encoded(X[:samples], y[:samples], X[samples:], y[samples:], source)


def _embedded(name: str) -> DataSet:
    from multimargin.datasets import make_wordnet_embeddings

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multimargin"
    file = cache / f"{name}.npz"
    if not file.is_file():
        X, y = make_wordnet_embeddings(256, _EMBEDDINGS[name])
        cache.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as out:
            np.savez(out, X=X, y=np.unique(y, return_inverse=True)[1])
    with np.load(file) as arrays:
        X, y = arrays["X"], arrays["y"]
    return _encoded(sp.csr_matrix(X), y, None, None, "make_wordnet_embeddings")


def _from_npz(path: Path) -> DataSet:
    """A matrix of ``scipy.sparse.save_npz``; labels as array "y" in it, or beside it in .y.npy."""
    if not path.is_file():
        raise DataUnavailableError(f"{path} does not exist")
    X = sp.csr_matrix(sp.load_npz(path))
    beside = path.with_suffix(".y.npy")
    with np.load(path) as arrays:
        if "y" in arrays:
            y = arrays["y"]
        elif beside.is_file():
            y = np.load(beside)
        else:
            raise DataUnavailableError(
                f"{path} has no labels: add them to it as array 'y', or as the file {beside}"
            )
    if len(y) != X.shape[0]:
        raise DataUnavailableError(f"{path} has {X.shape[0]} rows but {len(y)} labels")
    return _encoded(X, y, None, None, str(path))


def _encoded(
    X: sp.csr_matrix,
    y: np.ndarray,
    X_test: sp.csr_matrix | None,
    y_test: np.ndarray | None,
    source: str,
) -> DataSet:
    """Labels become positions among the training classes: peers take no other kind."""
    classes, codes = np.unique(y, return_inverse=True)
    test_codes = None
    if X_test is not None and y_test is not None:
        X_test = _rows(X_test)
        at = np.minimum(np.searchsorted(classes, y_test), len(classes) - 1)
        test_codes = np.where(classes[at] == y_test, at, -1)
    return DataSet(_rows(X), codes.astype(np.int64), X_test, test_codes, source)


def _rows(X: sp.csr_matrix) -> sp.csr_matrix:
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sort_indices()
    return X
