"""Find the classes that are taken for each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.inspection._html_table import html_table
from multimargin.inspection._labels import Codes, class_index, codes, native, places_of
from multimargin.inspection._plots import plot_confusions
from multimargin.inspection._similar import cosines, nearest
from multimargin.io._text_table import elided, text_table
from multimargin.models._arguments import whole_number

Groups = Mapping[Any, Hashable] | Callable[[Any], Hashable]

_NEAREST = 10  # siblings of a class where only the weights can tell


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes and how often each was taken for the other.

    Attributes
    ----------
    a, b : object
        The labels; more samples of `a` were taken for `b` than the reverse.
    a_as_b, b_as_a : int
        Samples of the one predicted as the other.
    a_as_b_rate, b_as_a_rate : float
        The same as fractions of all samples of the one; 0 where it has none.
    siblings : bool or None
        Whether they are in the same family; None where no families are known.
    similarity : float or None
        The cosine of their positive weights, see `similar_classes`; None without a model.
    """

    a: Any
    b: Any
    a_as_b: int
    b_as_a: int
    a_as_b_rate: float
    b_as_a_rate: float
    siblings: bool | None = None
    similarity: float | None = None

    @property
    def total(self) -> int:
        """Number of times the two were confused."""
        return self.a_as_b + self.b_as_a


@dataclass(frozen=True)
class Family:
    """Classes with the same parent.

    Attributes
    ----------
    parent : object
    labels : list
    n_samples, n_errors : int
        Samples of these classes, and how many are predicted wrongly.
    n_within : int
        Errors in which another class of the family was predicted.
    """

    parent: Any
    labels: list[Any]
    n_samples: int
    n_errors: int
    n_within: int

    @property
    def share_within(self) -> float:
        """Fraction of its errors that stay within the family."""
        return self.n_within / self.n_errors if self.n_errors else 0.0


def confusions(given: Any, *rest: Any, groups: Groups | None = None, k: int = 20) -> Confusions:
    """Find the classes that are most often taken for each other.

    Call it as ``confusions(y_true, y_pred)`` or ``confusions(model, X, y_true)``. It allocates
    nothing of size classes x classes.

    Parameters
    ----------
    given : array-like of shape (n_samples,), or MulticlassSVC
        True labels, or a fitted model.
    *rest
        The predicted labels; or, after a model, samples and their true labels.
    groups : mapping or callable, default=None
        The parent of each label. Labels without a parent (not in the mapping, or None) have no
        siblings. With a model and no `groups`, the siblings of a class are the ten classes with the
        most similar weights, see `similar_classes`; ten thousand classes take some seconds.
    k : int, default=20
        Number of pairs, at most.

    Returns
    -------
    Confusions

    Examples
    --------
    >>> from multimargin.inspection import confusions
    >>> y_true = ["cat", "cat", "cat", "dog", "dog", "car"]
    >>> y_pred = ["cat", "dog", "dog", "cat", "dog", "dog"]
    >>> found = confusions(y_true, y_pred, groups={"cat": "pet", "dog": "pet"})
    >>> pair = found.pairs[0]
    >>> pair.a, pair.b, pair.a_as_b, pair.b_as_a
    ('cat', 'dog', 2, 1)
    >>> found.sibling_share
    0.75
    """
    k = whole_number("k", k, 1)
    found = codes(given, *rest)
    n = len(found.labels)
    parents = _parents(found.labels, groups)
    wrong = found.truth != found.predicted
    errors = replace(found, truth=found.truth[wrong], predicted=found.predicted[wrong])
    siblings = _siblings(errors, parents)
    support = found.count(found.truth)
    once = np.ones(len(wrong), dtype=np.int64)
    return Confusions(
        n_samples=len(wrong),
        n_errors=len(errors.truth),
        n_sibling_errors=None if siblings is None else int(siblings.sum()),
        n_parent_errors=None if parents is None else _with_parents(errors, parents),
        pairs=_pairs(errors, support, parents, siblings, k),
        families=[] if parents is None else _families(errors, parents, support),
        labels=found.labels,
        counts=sp.csr_matrix((once, (found.truth, found.predicted)), shape=(n, n)),
    )


@dataclass(frozen=True)
class Confusions:
    """Classes that were taken for each other, and whether they are related: `confusions`.

    Attributes
    ----------
    n_samples, n_errors : int
    n_sibling_errors : int or None
        Errors in which a sibling of the true class was predicted; None without families.
    n_parent_errors : int or None
        Errors between a class and its parent, where that is a class itself; None without `groups`.
    pairs : list of ConfusedPair
        The most confused first.
    families : list of Family
        Of at least two classes, the most errors within first. Empty without `groups`.
    labels : ndarray of shape (n_labels,)
        All labels: true, predicted or of the model.
    counts : csr_matrix of int of shape (n_labels, n_labels)
        The confusion matrix: rows are true labels, columns predicted ones.
    """

    n_samples: int
    n_errors: int
    n_sibling_errors: int | None
    n_parent_errors: int | None
    pairs: list[ConfusedPair]
    families: list[Family]
    labels: NDArray[Any]
    counts: Any

    @property
    def sibling_share(self) -> float | None:
        """Fraction of the errors that stay among siblings; None without families."""
        if self.n_sibling_errors is None:
            return None
        return self.n_sibling_errors / self.n_errors if self.n_errors else 0.0

    def matrix(self, labels: Any) -> NDArray[np.int64]:
        """Return the confusion matrix of some labels, its rows the truth; others are left out."""
        places = np.array([class_index(self.labels, label) for label in labels], dtype=np.intp)
        block: NDArray[np.int64] = self.counts[places][:, places].toarray()
        return block

    def family(self, parent: Any) -> Family:
        """Return the family of a parent."""
        for family in self.families:
            if family.parent == parent:
                return family
        some = ", ".join(repr(family.parent) for family in self.families[:5])
        known = (
            f"{len(self.families):,}: {some}, ..." if some else "none: give groups= to confusions"
        )
        raise ValueError(f"no family has the parent {parent!r}; there are {known}")

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the counts as JSON can hold it."""
        return {
            "samples": self.n_samples,
            "errors": self.n_errors,
            "sibling_errors": self.n_sibling_errors,
            "sibling_share": self.sibling_share,
            "parent_errors": self.n_parent_errors,
            "pairs": [{**vars(pair), "total": pair.total} for pair in self.pairs],
            "families": [{**vars(f), "share_within": f.share_within} for f in self.families],
        }

    def plot(self, labels: Any = None, ax: Any = None) -> Any:
        """Draw the confusion matrix of some classes, on `ax` or a new figure; return the axes.

        ``labels`` is a list or a `Family`; by default the family with the most errors within, or
        else the classes of the most confused pairs.
        """
        return plot_confusions(self, labels, ax)

    def __str__(self) -> str:
        titles, rows = self._table()
        if not rows:
            return self._summary()
        return f"{self._summary()}\n{text_table(titles, rows, left=(0, 1))}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), self._summary())

    def _summary(self) -> str:
        errors = "1 error" if self.n_errors == 1 else f"{self.n_errors:,} errors"
        text = f"{errors} in {self.n_samples:,} samples"
        share = self.sibling_share
        if share is not None:
            text += f"; {100 * share:.1f} % of them between siblings"
        if self.n_parent_errors:
            share = self.n_parent_errors / self.n_errors
            text += f", {100 * share:.1f} % between a class and its parent"
        return text

    def _table(self) -> tuple[list[str], list[list[str]]]:
        titles = ["a", "b", "a as b", "b as a", "of a", "of b"]
        related = any(pair.siblings is not None for pair in self.pairs)
        rows = [
            [
                *(elided(str(label), 32) for label in (pair.a, pair.b)),
                *(f"{count:,}" for count in (pair.a_as_b, pair.b_as_a)),
                *(f"{100 * rate:.1f} %" for rate in (pair.a_as_b_rate, pair.b_as_a_rate)),
                *(["yes" if pair.siblings else "no"] if related else []),
            ]
            for pair in self.pairs
        ]
        return ([*titles, "siblings"] if related else titles), rows


def _parents(labels: NDArray[Any], groups: Groups | None) -> NDArray[np.object_] | None:
    if groups is None:
        return None
    ask = groups.get if isinstance(groups, Mapping) else groups
    if not callable(ask):
        raise TypeError(
            f"groups must be a mapping from label to parent, or a function, got {type(groups)}"
        )
    parents = np.empty(len(labels), dtype=object)
    parents[:] = [ask(native(label)) for label in labels]
    return parents


def _siblings(errors: Codes, parents: NDArray[np.object_] | None) -> NDArray[np.bool_] | None:
    """Return for each error whether a sibling was predicted; None where that is not known."""
    if parents is not None:
        numbers = _numbered(parents)
        true = numbers[errors.truth]
        same: NDArray[np.bool_] = (true >= 0) & (true == numbers[errors.predicted])
        return same
    if errors.model is None:
        return None
    akin = np.zeros(len(errors.truth), dtype=bool)
    row = places_of(errors.model.classes_, errors.labels)
    known = np.flatnonzero((row[errors.truth] >= 0) & (row[errors.predicted] >= 0))
    if len(known):
        asked, which = np.unique(row[errors.truth[known]], return_inverse=True)
        order, _ = nearest(errors.model, asked, _NEAREST)
        akin[known] = (order[which] == row[errors.predicted[known]][:, None]).any(axis=1)
    return akin


def _with_parents(errors: Codes, parents: NDArray[np.object_]) -> int:
    place = {native(label): i for i, label in enumerate(errors.labels)}
    above = np.array([place.get(parent, -1) for parent in parents], dtype=np.intp)
    up = above[errors.truth] == errors.predicted
    down = above[errors.predicted] == errors.truth
    return int((up | down).sum())


def _numbered(parents: NDArray[np.object_]) -> NDArray[np.intp]:
    numbers: dict[Any, int] = {None: -1}
    return np.array([numbers.setdefault(p, len(numbers) - 1) for p in parents], dtype=np.intp)


def _pairs(
    errors: Codes,
    support: NDArray[np.intp],
    parents: NDArray[np.object_] | None,
    akin: NDArray[np.bool_] | None,
    k: int,
) -> list[ConfusedPair]:
    low = np.minimum(errors.truth, errors.predicted)
    high = np.maximum(errors.truth, errors.predicted)
    keys, first, which, total = np.unique(
        low * len(errors.labels) + high,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    upward = np.bincount(which, errors.truth == low, minlength=len(keys)).astype(np.int64)
    chosen = np.lexsort((keys, -total))[:k]
    likeness = _likeness(errors, low[first[chosen]], high[first[chosen]])
    pairs = []
    for at, similarity in zip(chosen, likeness, strict=True):
        a, b = int(low[first[at]]), int(high[first[at]])
        a_as_b, b_as_a = int(upward[at]), int(total[at] - upward[at])
        if b_as_a > a_as_b:
            a, b, a_as_b, b_as_a = b, a, b_as_a, a_as_b
        siblings = None if akin is None else bool(akin[which == at].any())
        if parents is not None:
            siblings = bool(parents[a] is not None and parents[a] == parents[b])
        pairs.append(
            ConfusedPair(
                a=native(errors.labels[a]),
                b=native(errors.labels[b]),
                a_as_b=a_as_b,
                b_as_a=b_as_a,
                a_as_b_rate=a_as_b / max(1, int(support[a])),
                b_as_a_rate=b_as_a / max(1, int(support[b])),
                siblings=siblings,
                similarity=similarity,
            )
        )
    return pairs


def _likeness(errors: Codes, a: NDArray[np.intp], b: NDArray[np.intp]) -> list[float | None]:
    """Return the similarity of each pair of labels; None for labels that are no class."""
    likeness = np.full(len(a), None)
    if errors.model is not None:
        a, b = (places_of(errors.model.classes_, errors.labels[side]) for side in (a, b))
        known = np.flatnonzero((a >= 0) & (b >= 0))
        if len(known):
            likeness[known] = cosines(errors.model, a[known], b[known])
    return likeness.tolist()


def _families(
    errors: Codes, parents: NDArray[np.object_], support: NDArray[np.intp]
) -> list[Family]:
    numbers = _numbered(parents)
    n = int(numbers.max(initial=-1)) + 1
    true = numbers[errors.truth]
    wrong = np.bincount(true[true >= 0], minlength=n)
    within = np.bincount(true[(true >= 0) & (true == numbers[errors.predicted])], minlength=n)
    order = np.argsort(numbers, kind="stable")
    members = np.split(order, np.searchsorted(numbers[order], np.arange(n)))[1:]
    families = [
        Family(
            parent=native(parents[some[0]]),
            labels=[native(label) for label in errors.labels[some]],
            n_samples=int(support[some].sum()),
            n_errors=int(wrong[number]),
            n_within=int(within[number]),
        )
        for number, some in enumerate(members)
        if len(some) > 1
    ]
    return sorted(families, key=lambda f: (-f.n_within, -f.n_errors, str(f.parent)))
