"""The data sets by name: CSR rows of float32, labels as integers from 0."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent

WORDNET = "wordnet-hypernym"
LSHTC = "lshtc1-dryrun-task2"
DMOZ = "dmoz-108"
GENERATED = "hierarchical-20000"
GENERATED_SMALL = "hierarchical-1000"

# Named, since the highest features of training and test files differ.
_N_FEATURES = {WORDNET: 37_436, LSHTC: 26_969, DMOZ: 14_187}
_RAW_COUNTS = {LSHTC}
# Samples, features, classes.
_GENERATED = {GENERATED: (60_000, 300_000, 20_000), GENERATED_SMALL: (4_000, 20_000, 1_000)}
_BY_SIZES = re.compile(r"hierarchical:(\d+):(\d+):(\d+):(\d+)")


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
        "wordnet-hypernym", "lshtc1-dryrun-task2", "dmoz-108", "hierarchical-20000" (generated:
        60,000 samples, 300,000 features, 20,000 classes), "hierarchical-1000" (generated: 4,000
        samples, 20,000 features, 1,000 classes), "hierarchical:SAMPLES:FEATURES:CLASSES:WORDS"
        (generated, with so many words per sample on average; see `by_sizes`), or the path of a
        file ending in ``.npz``.
    folder : Path or None
        Has one folder per set, with ``train.libsvm.xz`` and ``test.libsvm.xz``. WordNet is taken
        from the installed package if it is not there.

    Raises
    ------
    DataUnavailableError
        If the set is not there.
    """
    if name.endswith(".npz"):
        return _from_npz(Path(name))
    if name in _GENERATED:
        return _generated(*_GENERATED[name])
    if (sizes := _BY_SIZES.fullmatch(name)) is not None:
        return _generated(*map(int, sizes.groups()))
    if folder is not None and in_folder(name, folder):
        return _from_folder(name, folder / name)
    if name == WORDNET:
        return _shipped_wordnet()
    where = "no data folder was given" if folder is None else f"{folder / name} does not exist"
    raise DataUnavailableError(
        f"{name} is not on this machine: {where}; name the folder that holds it by --data or "
        "MULTIMARGIN_DATA"
    )


def in_folder(name: str, folder: Path | None) -> bool:
    """Whether the folder of data sets holds this one."""
    return folder is not None and (folder / name / "train.libsvm.xz").is_file()


def _from_folder(name: str, folder: Path) -> DataSet:
    from sklearn.feature_extraction.text import TfidfTransformer

    from multimargin import load_svmlight

    # Counts are weighted in float64, so that the rows do not depend on who adds them up.
    dtype = np.float64 if name in _RAW_COUNTS else np.float32
    parts = {}
    for part in ("train", "test"):
        file = folder / f"{part}.libsvm.xz"
        if not file.is_file():
            raise DataUnavailableError(f"{name} is incomplete on this machine: no {file}")
        parts[part] = load_svmlight(file, n_features=_N_FEATURES[name], dtype=dtype, n_threads=1)
    (X, y), (X_test, y_test) = parts["train"], parts["test"]
    if name in _RAW_COUNTS:
        weighting = TfidfTransformer().fit(X)
        X, X_test = weighting.transform(X), weighting.transform(X_test)
    return _encoded(X, y, X_test, y_test, str(folder))


def _shipped_wordnet() -> DataSet:
    from multimargin.datasets import load_wordnet_tfidf

    shipped = load_wordnet_tfidf()
    return _encoded(
        shipped.X_train, shipped.y_train, shipped.X_test, shipped.y_test, "the installed package"
    )


def by_sizes(samples: int, features: int, classes: int, words: int) -> str:
    """The name of a generated set of any size."""
    return f"hierarchical:{samples}:{features}:{classes}:{words}"


def _generated(samples: int, features: int, classes: int, words: int = 40) -> DataSet:
    from multimargin.datasets import make_hierarchical_text

    sizes = (samples, features, classes)
    X, y = make_hierarchical_text(*sizes, words_per_sample=words, random_state=0)
    return _encoded(X, y, None, None, f"make_hierarchical_text{(*sizes, words)}")


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
