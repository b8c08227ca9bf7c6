"""WordNet: definitions of nouns and verbs labelled with hypernyms, and the tree above these."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from importlib.resources import files
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import Bunch

from multimargin.io._svmlight import float_type
from multimargin.models._arguments import whole_number

_Strings = npt.NDArray[np.str_]
_Subset = Literal["train", "test", "all"]
_Bucket = tuple[bool, str]  # whether it is for training, and the part of speech
_Anchor = tuple[str, int]  # the offset of a synset, and its row in the file

_DATA = files(__package__) / "data"


class _Definitions(NamedTuple):
    texts: list[str]
    labels: _Strings
    is_train: npt.NDArray[np.bool_]


class _Features(NamedTuple):
    definitions: _Definitions
    X: csr_matrix[Any]
    vectorizer: TfidfVectorizer

    def of(self, subset: str) -> tuple[csr_matrix[Any], _Strings, list[str]]:
        """Return the features, labels and texts of a subset."""
        texts, labels, is_train = self.definitions
        rows = np.flatnonzero((is_train == (subset == "train")) | (subset == "all"))
        return self.X[rows], labels[rows], [texts[row] for row in rows]

    def description(self) -> dict[str, Any]:
        """Return the fields that the loaders of features share, beside the rows."""
        return {
            "target_names": np.unique(self.definitions.labels),
            "feature_names": self.vectorizer.get_feature_names_out().astype(np.str_),
            "vectorizer": self.vectorizer,
            **_notice(),
        }


@overload
def load_wordnet_hypernyms(
    *,
    subset: _Subset = ...,
    return_X_y: Literal[False] = ...,
    min_df: int = ...,
    dtype: npt.DTypeLike = ...,
) -> Bunch: ...


@overload
def load_wordnet_hypernyms(
    *,
    subset: _Subset = ...,
    return_X_y: Literal[True],
    min_df: int = ...,
    dtype: npt.DTypeLike = ...,
) -> tuple[csr_matrix[Any], _Strings]: ...


def load_wordnet_hypernyms(
    *,
    subset: _Subset = "train",
    return_X_y: bool = False,
    min_df: int = 2,
    dtype: npt.DTypeLike = np.float32,
) -> Bunch | tuple[csr_matrix[Any], _Strings]:
    """Load WordNet definitions, labelled with their hypernyms, as texts and tf-idf features.

    The definitions are part of the package: 65,025 for training and 22,672 for testing, of 12,582
    classes, most of them small. Words are weighted by ``1 + log(tf)`` and by their inverse document
    frequency in the training definitions, and each row has unit Euclidean length. A definition
    without any feature is left out: with the default `min_df`, one test definition.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which definitions to return; "all" has the training ones first. The features are made from
        the training definitions in every case.
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``.
    min_df : int, default=2
        A word is a feature if at least this many training definitions contain it.
    dtype : dtype, default=numpy.float32
        Type of the features: float32 or float64.

    Returns
    -------
    Bunch, or (data, target) with ``return_X_y=True``
        With the attributes

        data : csr_matrix of shape (n_texts, n_features)
            The tf-idf features of `texts`. n_features is 37,436 with ``min_df=2``.
        target : ndarray of str of shape (n_texts,)
            The hypernyms, such as ``"entity.n#n00001740"``.
        texts : list of str of length n_texts
            The definitions, each preceded by the words it defines.
        target_names : ndarray of str of shape (n_classes,)
            The classes of both subsets, sorted; n_classes is 12,582 with ``min_df=2``.
        feature_names : ndarray of str of shape (n_features,)
            The words.
        vectorizer : TfidfVectorizer
            Fitted on the training definitions; transforms new ones.
        license : str
            The WordNet licence, which allows use and redistribution with its notice.
        DESCR : str
            A description, with the licence.

    References
    ----------
    G. A. Miller (1995). WordNet: A Lexical Database for English. Communications of the ACM 38(11),
    39-41. WordNet 3.0 is Copyright 2006 by Princeton University.

    Examples
    --------
    >>> from multimargin.datasets import load_wordnet_hypernyms
    >>> wordnet = load_wordnet_hypernyms()
    >>> wordnet.data.shape
    (65025, 37436)
    >>> wordnet.vectorizer.transform(["a dog that herds sheep"]).shape
    (1, 37436)
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all'; got {subset!r}.")
    features = _vectorize(min_df, dtype)
    data, target, texts = features.of(subset)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, texts=texts, **features.description())


def load_wordnet_tfidf(*, min_df: int = 2, dtype: npt.DTypeLike = np.float32) -> Bunch:
    """Load the tf-idf features of WordNet's definitions, split for training and testing.

    The same data as in `load_wordnet_hypernyms`, with both subsets at once.

    Parameters
    ----------
    min_df : int, default=2
    dtype : dtype, default=numpy.float32
        As in `load_wordnet_hypernyms`.

    Returns
    -------
    Bunch
        With ``X_train``, ``y_train``, ``X_test`` and ``y_test``: csr_matrix of shape
        (65025, 37436) and (22672, 37436), and ndarray of str; ``texts_train`` and ``texts_test``,
        the definitions of these rows; and ``target_names``, ``feature_names``, ``vectorizer``,
        ``license`` and ``DESCR`` as `load_wordnet_hypernyms` has them.

    Examples
    --------
    >>> from multimargin.datasets import load_wordnet_tfidf
    >>> wordnet = load_wordnet_tfidf()
    >>> wordnet.X_train.shape, wordnet.X_test.shape
    ((65025, 37436), (22672, 37436))
    """
    features = _vectorize(min_df, dtype)
    bunch = Bunch(**features.description())
    for part in ("train", "test"):
        bunch[f"X_{part}"], bunch[f"y_{part}"], bunch[f"texts_{part}"] = features.of(part)
    return bunch


def load_wordnet_texts() -> Bunch:
    """Load WordNet's definitions and their hypernyms as they are, split for training and testing.

    The texts of `load_wordnet_tfidf`, and the one test definition that has no feature there.

    Returns
    -------
    Bunch
        With ``texts_train``, ``y_train``, ``texts_test`` and ``y_test``: list of str and ndarray of
        str of lengths 65,025 and 22,673; and ``target_names``, ``license`` and ``DESCR`` as
        `load_wordnet_hypernyms` has them.

    Examples
    --------
    >>> from multimargin.datasets import load_wordnet_texts
    >>> wordnet = load_wordnet_texts()
    >>> len(wordnet.texts_train), len(wordnet.texts_test), len(wordnet.target_names)
    (65025, 22673, 12582)
    """
    definitions = _read_definitions()
    n_train = int(np.count_nonzero(definitions.is_train))  # they come first
    return Bunch(
        texts_train=definitions.texts[:n_train],
        y_train=definitions.labels[:n_train],
        texts_test=definitions.texts[n_train:],
        y_test=definitions.labels[n_train:],
        target_names=np.unique(definitions.labels),
        **_notice(),
    )


def _notice() -> dict[str, str]:
    terms = (_DATA / "wordnet_LICENSE.txt").read_text("utf-8")
    return {"license": terms, "DESCR": (_DATA / "wordnet.rst").read_text("utf-8") + terms}


def _read_definitions() -> _Definitions:
    # Some builds of Python lack lzma: then only this function fails, not the whole package.
    import lzma

    packed = (_DATA / "wordnet_hypernyms.tsv.xz").read_bytes()
    lines = lzma.decompress(packed).decode("utf-8").splitlines()
    # Tab-separated without quoting: quotation marks belong to the definitions.
    rows = [line.split("\t") for line in lines[1:]]
    rows.sort(key=lambda row: row[0] != "train")
    return _Definitions(
        texts=[row[2] for row in rows],
        labels=np.array([row[1] for row in rows]),
        is_train=np.array([row[0] == "train" for row in rows]),
    )


def _vectorize(min_df: int, dtype: npt.DTypeLike) -> _Features:
    """Fit on the training definitions, transform all, and keep the rows that have a feature."""
    least, value_type = whole_number("min_df", min_df, 1), float_type(dtype)
    texts, labels, is_train = _read_definitions()
    n_train = int(np.count_nonzero(is_train))
    vectorizer = TfidfVectorizer(min_df=least, sublinear_tf=True, dtype=value_type.type)
    try:
        X_train = vectorizer.fit_transform(texts[:n_train])
    except ValueError as error:
        raise ValueError(
            f"min_df={min_df} leaves no feature: no word is in so many of the {n_train} training "
            f"definitions. Lower min_df (2 is the default)."
        ) from error
    X = vstack([X_train, vectorizer.transform(texts[n_train:])], format="csr")
    # fit_transform leaves the words of a row in the order in which they were met.
    X.sort_indices()
    kept = np.flatnonzero(np.diff(X.indptr))
    return _Features(
        _Definitions([texts[row] for row in kept], labels[kept], is_train[kept]),
        X[kept],
        vectorizer,
    )


def wordnet_parents() -> dict[str, str]:
    """Return the hypernym of each class of `load_wordnet_hypernyms`, if the definitions tell it.

    A class is a synset, and most synsets are also among the definitions, labelled with a hypernym
    of their own. Definitions bear no number: they are found by their first word and, where several
    have it, by their order, which is the order of the numbers. Uncertain ones are left out.

    Returns
    -------
    dict of str to str
        From class to parent, which is one of the classes.

    Examples
    --------
    >>> from multimargin.datasets import wordnet_parents
    >>> parents = wordnet_parents()
    >>> parents["hunting_dog.n#n02087122"]
    'dog.n#n02084071'
    """
    labels, bucket, named = _numbered_definitions()
    candidates = {
        label: named.get((_part(label), _word(label)), []) for label in sorted(set(labels))
    }
    anchors: dict[_Bucket, list[_Anchor]] = defaultdict(list)
    for label, rows in candidates.items():
        if len(rows) == 1:
            anchors[bucket[rows[0]]].append((_offset(label), rows[0]))
    # A word that is found once may still be another synset's: such a one is out of order.
    rising = {place: _longest_rising(sorted(found)) for place, found in anchors.items()}
    parents = {}
    for label, rows in candidates.items():
        fitting = [row for row in rows if _fits(_offset(label), row, rising.get(bucket[row], []))]
        found = {labels[row] for row in fitting}
        if len(found) == 1 and label not in found:
            parents[label] = found.pop()
    # No two are above each other: one of them is not what it seems.
    return {label: parent for label, parent in parents.items() if parents.get(parent) != label}


def _numbered_definitions() -> tuple[list[str], list[_Bucket], dict[tuple[str, str], list[int]]]:
    """Return labels and buckets of all definitions, and where each first word is found."""
    texts, label_array, is_train = _read_definitions()
    labels = label_array.tolist()
    bucket = list(zip(is_train.tolist(), map(_part, labels), strict=True))
    named: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        word = text.partition(":")[0].split(",")[0].strip().casefold()
        named[bucket[row][1], word].append(row)
    return labels, bucket, named


def _word(label: str) -> str:
    return label.rpartition("#")[0].rpartition(".")[0].replace("_", " ").casefold()


def _offset(label: str) -> str:
    return label.rpartition("#")[2]


def _part(label: str) -> str:
    return _offset(label)[:1]


def _longest_rising(anchors: list[_Anchor]) -> list[_Anchor]:
    """Return the longest list of anchors whose rows rise with their offsets."""
    ends: list[int] = []  # the lowest row that a series of this length can end in
    at: list[int] = []
    before: list[int] = []
    for i, (_, row) in enumerate(anchors):
        length = bisect_left(ends, row)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [row]
        at[length : length + 1] = [i]
    series = []
    i = at[-1] if at else -1
    while i >= 0:
        series.append(anchors[i])
        i = before[i]
    return series[::-1]


def _fits(offset: str, row: int, anchors: list[_Anchor]) -> bool:
    """Tell whether a synset of this offset can be in this row, between the known ones."""
    i = bisect_left(anchors, (offset, -1))
    if i < len(anchors) and anchors[i][0] == offset:
        return anchors[i][1] == row
    above = i == 0 or anchors[i - 1][1] < row
    below = i == len(anchors) or row < anchors[i][1]
    return above and below
