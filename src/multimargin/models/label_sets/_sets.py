"""Sets of labels: read as an indicator matrix or as lists, and given back in the same form."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.io._svmlight import split_labels
from multimargin.models._measures import as_class
from multimargin.models._scores import ClassScores, best_labels

# With more labels a model predicts a sparse matrix, also where it was given an array.
_MOST_DENSE = 1000


@dataclass(frozen=True)
class LabelSets:
    """The labels of samples that may have none or several.

    `member` is a CSR matrix of ones, of samples x `classes`. The form is "lists", or for an
    indicator matrix "dense" or "sparse": a model predicts the same.
    """

    form: str
    classes: NDArray[Any]
    member: sp.csr_matrix

    def __len__(self) -> int:
        return int(self.member.shape[0])


def label_sets(y: Any) -> LabelSets | None:
    """Return sets of labels, or a ValueError; None where each sample has one label."""
    if isinstance(y, LabelSets):
        return y
    shape: Any = getattr(y, "shape", ())
    if sp.issparse(y) or (len(shape) == 2 and shape[1] > 1):  # one column of an array: labels
        return _indicator(y)
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind != "O" or isinstance(y, str) or not (isinstance(y, Iterable) and isinstance(y, Sized)):
        return None
    rows = list(y)
    if not any(map(_is_set, rows)):
        return None
    return _indicator(np.asarray(rows)) if _is_matrix(rows) else _lists(rows)


def require_one_label(model: Any, work: str) -> None:
    """Raise a ValueError for a model whose samples have sets of labels."""
    if getattr(model, "multilabel_", None) is not None:
        raise ValueError(
            f"{work} is for one label per sample, and this model has sets of labels: 'multimargin "
            "evaluate' and sklearn.metrics measure it"
        )


def _is_set(row: Any) -> bool:
    return isinstance(row, list | tuple | set | frozenset) or getattr(row, "ndim", 0) == 1


def _is_matrix(rows: list[Any]) -> bool:
    """Whether nested lists are an indicator matrix: 0 and 1 alone, several in each row."""
    ordered = all(_is_set(row) and not isinstance(row, set | frozenset) for row in rows)
    if not ordered or len(widths := set(map(len, rows))) > 1 or max(widths) < 2:
        return False
    values = np.asarray(rows)
    return values.dtype.kind in "biuf" and bool(((values == 0) | (values == 1)).all())


def _indicator(y: Any) -> LabelSets:
    sparse, given, values = sp.issparse(y), y, y
    if sparse:
        given = sp.csr_matrix(y, copy=True)
        given.sum_duplicates()
        values = given.data
    else:
        given = values = np.asarray(y)
        if values.dtype.kind == "O":  # columns of a data frame with several types
            given = values = np.array(values.tolist())
    numbers = values.dtype.kind in "biuf"
    odd = values[(values != 0) & (values != 1)] if numbers else values.ravel()
    if odd.size:
        raise ValueError(
            f"y of shape {given.shape} has to be an indicator matrix of 0 and 1, samples x labels, "
            f"and holds {odd[0]}; or give a list of labels for each sample"
        )
    form = "sparse" if sparse or given.shape[1] > _MOST_DENSE else "dense"
    member: Any = sp.csr_matrix(given)
    member.eliminate_zeros()
    return LabelSets(
        form, np.arange(member.shape[1]), _ones(member, member.indices, member.shape[1])
    )


def _ones(like: Any, columns: NDArray[Any], width: int) -> sp.csr_matrix:
    """Return a matrix of ones with the rows of another one and these columns."""
    parts = (np.ones(len(columns), np.int8), columns.astype(np.int32), like.indptr)
    member = sp.csr_matrix(parts, shape=(like.shape[0], width))
    member.sum_duplicates()
    member.data[:] = 1
    return member


def _lists(rows: list[Any]) -> LabelSets:
    odd = next((k for k, row in enumerate(rows) if not _is_set(row)), None)
    if odd is not None:
        raise ValueError(
            f"y[{odd}] is {str(rows[odd])!r:.40}, but other samples have lists of labels: write "
            "[label], or [] for none"
        )
    try:
        sets = [set(row.tolist() if hasattr(row, "tolist") else row) for row in rows]
    except TypeError:  # they have no hash
        sets = [{()}]
    different = set(chain.from_iterable(sets))
    if any(map(_is_set, different)):
        raise ValueError("y holds lists within lists: give one list of labels per sample")
    if any(each is None or each != each or not str(each).strip() for each in different):  # noqa: PLR0124
        raise ValueError("y holds a missing label (empty, None or NaN) in a list: leave it out")
    if len({isinstance(each, str) for each in different}) > 1:
        names = ", ".join(sorted({type(each).__name__ for each in different}))
        raise ValueError(f"y holds labels of several types ({names}): make all of them str")
    classes = sorted(different)
    place = {label: k for k, label in enumerate(classes)}
    indices = np.array([place[label] for label in chain.from_iterable(sets)], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(each) for each in sets], dtype=np.int64)])
    like = sp.csr_matrix((np.ones(len(indices)), indices, indptr), (len(rows), len(classes)))
    return LabelSets("lists", np.array(classes), _ones(like, indices, len(classes)))


def sets_among(classes: NDArray[Any], y: Any) -> sp.csr_matrix:
    """Return sets of labels as columns of the classes of a model.

    Labels that no class has are further columns. An indicator matrix has the columns of `classes`.
    """
    given = label_sets(y)
    if given is None:
        given = _lists([[label] for label in np.asarray(y).ravel().tolist()])
    n_classes = len(classes)
    if given.form != "lists":
        if len(given.classes) != n_classes:
            raise ValueError(
                f"y has {len(given.classes):,} columns, but the model has {n_classes:,} labels"
            )
        return given.member
    place = {label: k for k, label in enumerate(classes.tolist())}
    named = [as_class(label, classes) for label in given.classes.tolist()]
    unknown = iter(range(n_classes, n_classes + len(named)))
    places = np.array([place[n] if n in place else next(unknown) for n in named], dtype=np.int32)
    width = max(n_classes, int(places.max(initial=-1)) + 1)
    return _ones(given.member, places[given.member.indices], width)


def predictions(scores: ClassScores, model: Any, X: Any) -> NDArray[Any]:
    """Return the best class of each sample; or the sets of labels with a positive score."""
    if model.multilabel_ is None:
        return best_labels(scores, model.classes_, X)
    found: Any = scores.positive(X)
    if model.multilabel_ != "lists":
        found = found.astype(np.int64)
        return found if model.multilabel_ == "sparse" else found.toarray()  # type: ignore[no-any-return]
    return split_labels(model.classes_[found.indices], found.indptr)
