"""Prediction sets: for each sample the labels among which its own is with a given probability.

Split-conformal: a label is in the set unless it is further below the best one than the labels of
nearly all held-out samples were (`Calibration.nonconformity_of`). So a set has the first labels
of the ranking, as many as are hard to tell apart; never none.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multimargin.inspection._labels import known_places
from multimargin.inspection.probabilities._calibration_report import table_rows
from multimargin.io._memory import available
from multimargin.io._text_table import text_table

# Best classes that are looked at first, and how many times more where all of them are in a set.
_FIRST, _MORE = 16, 8
_AT_ONCE = 2**22  # candidates of some samples
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Sets of labels, one for each sample: `MulticlassSVC.predict_set`.

    ``sets[i]`` has the labels of sample ``i``, the best first, and at least one.

    Attributes
    ----------
    coverage : float
        The probability that was asked for.
    classes : ndarray of shape (n_classes,)
    indptr : ndarray of shape (n_samples + 1,)
        The labels of sample ``i`` are at ``indptr[i]:indptr[i + 1]`` of the arrays below.
    indices : ndarray of shape (indptr[-1],)
        Places of the labels in `classes`.
    probabilities : ndarray of shape (indptr[-1],)
        As of `predict_proba`; their sum over a set need not be the coverage.
    """

    coverage: float
    classes: NDArray[Any]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    probabilities: NDArray[np.floating]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of labels of each sample, shape (n_samples,)."""
        return np.diff(self.indptr)

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Tell whether the label of each sample, shape (n_samples,), is in its set."""
        own = _places(self.classes, y, len(self))
        found = np.zeros(len(self), dtype=bool)
        sample = np.repeat(np.arange(len(self)), self.sizes)
        found[sample[self.indices == own[sample]]] = True
        return found

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, i: int) -> NDArray[Any]:
        i = range(len(self))[i]  # also from the end
        labels: NDArray[Any] = self.classes[self.indices[self.indptr[i] : self.indptr[i + 1]]]
        return labels

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<PredictionSets: {len(self.indices):,} labels for {len(self):,} samples, coverage "
            f"{self.coverage:g}>"
        )


class _Part(NamedTuple):
    """The sets of some samples: of each the first `size` of its best classes."""

    rows: NDArray[np.intp]
    best: NDArray[np.int32]
    probability: NDArray[np.floating]
    size: NDArray[np.intp]

    @property
    def inside(self) -> NDArray[np.bool_]:
        return np.arange(self.best.shape[1]) < self.size[:, None]


def prediction_sets(model: Any, X: Any, coverage: float) -> PredictionSets:
    """As of `MulticlassSVC.predict_set`, of samples as the compiled core takes them."""
    room = available() / 2
    sizes = np.zeros(X.shape[0], dtype=np.int64)
    parts, total = [], 0
    for part in _parts(model, X, coverage, room):
        sizes[part.rows] = part.size
        total += int(part.size.sum())
        _check_room(total, room, coverage)
        inside = part.inside
        parts.append((part.rows, part.size, part.best[inside], part.probability[inside]))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.empty(total, dtype=np.int32)
    probabilities = np.empty(total, dtype=parts[0][3].dtype)
    for rows, size, labels, probability in parts:
        at = np.repeat(indptr[rows] - (np.cumsum(size) - size), size) + np.arange(len(labels))
        indices[at], probabilities[at] = labels, probability
    return PredictionSets(float(coverage), model.classes_, indptr, indices, probabilities)


def _check_room(labels: int, room: float, coverage: float) -> None:
    if 24 * labels > room:  # 16 bytes in two arrays, and parts of them
        raise ValueError(
            f"sets with coverage {coverage:g} have {labels:,} labels or more, which would take "
            "more than half of this machine's memory: ask for less coverage, or for fewer samples "
            "at a time"
        )


def _parts(model: Any, X: Any, coverage: float, room: float = math.inf) -> Iterator[_Part]:
    """Yield the sets of some samples at a time, those with few labels first."""
    made, scores, n_classes = model.calibration_, model._scores(), len(model.classes_)
    limit = _limit(made, n_classes, coverage)
    k = first = min(_FIRST, n_classes)
    if math.isinf(limit):
        _check_room(X.shape[0] * n_classes, room, coverage)
        k = first = n_classes
    rows = np.arange(X.shape[0])
    while len(rows):
        step, left = max(1, _AT_ONCE // k), []
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            taken = X[begin : begin + step] if k == first else X[some]  # a view, if dense
            best, score, sums = scores.top_with_sums(taken, k, made.shape)
            size = (made.nonconformity_of(score[:, :1], score) <= limit).sum(axis=1)
            done = (size < k) | (k == n_classes)
            probability = made.of_some(score[done], sums[done], n_classes).astype(score.dtype)
            yield _Part(some[done], best[done], probability, size[done])
            left.append(some[~done])
        rows, k = np.concatenate(left), min(_MORE * k, n_classes)


def _limit(made: Any, n_classes: int, coverage: float) -> float:
    """Return the most nonconformity in a set, after checks."""
    number = isinstance(coverage, int | float | np.floating) and not isinstance(coverage, bool)
    if not number or not 0 < coverage < 1:
        raise ValueError(f"coverage must be a number between 0 and 1, such as 0.9: {coverage!r}")
    if not len(made.nonconformity):
        raise ValueError(
            "the calibration has no samples to make sets from: calibrate(X, y) makes one that has"
        )
    if made.stale:
        warnings.warn(
            "the coverage of the sets is that of the model before pruning: calibrate(X, y) renews "
            "the calibration",
            stacklevel=5,
        )
    limit: float = made.limit(float(coverage))
    if math.isinf(limit):
        asked = Fraction(str(float(coverage)))
        warnings.warn(
            f"coverage {coverage:g} needs {math.ceil(asked / (1 - asked)):,} calibration samples, "
            f"but there are {made.n_samples:,}: every set has all {n_classes:,} classes",
            stacklevel=5,
        )
    return limit


def _places(classes: NDArray[Any], y: ArrayLike, n_samples: int) -> NDArray[np.int32]:
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise ValueError(f"y has shape {labels.shape}, but there are {n_samples:,} samples")
    return known_places(classes, labels)


def coverage_report(model: Any, X: Any, y: ArrayLike, coverage: float = 0.9) -> CoverageReport:
    """Compare the prediction sets of a calibrated model with what is true.

    Parameters
    ----------
    model : MulticlassSVC
        After `calibrate`, or fitted with `calibration`.
    X : samples, as `model.predict` takes them
        Their sets are not kept, so that there may be any number.
    y : array-like of shape (n_samples,)
        Their labels. One that the model does not know is in no set.
    coverage : float, default=0.9
        As of `MulticlassSVC.predict_set`.

    Returns
    -------
    CoverageReport

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import coverage_report
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0, calibration="cv").fit(X[:900] / 16, y[:900])
    >>> report = coverage_report(model, X[900:] / 16, y[900:], coverage=0.95)
    >>> report.mean_size < 2, report.singletons > 0.5
    (True, True)
    """
    if not hasattr(model, "calibration_"):
        raise ValueError("the model is not calibrated: calibrate(X, y), or fit with calibration=")
    X, classes = model._checked(X), model.classes_
    own = _places(classes, y, X.shape[0])
    sizes, covered = np.zeros(len(own), dtype=np.int64), np.zeros(len(own), dtype=bool)
    for part in _parts(model, X, coverage):
        sizes[part.rows] = part.size
        hit = (part.best == own[part.rows, None]) & part.inside
        covered[part.rows] = hit.any(axis=1)
    group = np.ceil(np.log2(sizes)).astype(np.intp)
    met = np.unique(group)
    known = own >= 0
    samples = np.bincount(own[known], minlength=len(classes))
    inside = np.bincount(own[known], covered[known], len(classes))
    # First those with the most samples outside beyond what is to be expected.
    order = np.argsort(inside - coverage * samples, kind="stable")
    order = order[samples[order] > 0]
    return CoverageReport(
        n_samples=len(own),
        asked=float(coverage),
        coverage=float(covered.mean()),
        mean_size=float(sizes.mean()),
        median_size=float(np.median(sizes)),
        singletons=float((sizes == 1).mean()),
        largest_size=2**met,
        size_samples=np.bincount(group)[met],
        size_coverage=(np.bincount(group, covered) / np.maximum(1, np.bincount(group)))[met],
        label=classes[order],
        label_samples=samples[order],
        label_coverage=inside[order] / samples[order],
    )


@dataclass(frozen=True, eq=False)
class CoverageReport:
    """Prediction sets of a model next to what is true: `coverage_report`.

    Attributes
    ----------
    n_samples : int
    asked, coverage : float
        The coverage that was asked for, and the share of the samples whose label is in their set.
        No set is empty: where the share of right predictions is above what was asked for, so is
        this one.
    mean_size, median_size : float
        Number of labels in a set.
    singletons : float
        Share of the sets that have one label.
    largest_size, size_samples, size_coverage : ndarray of shape (n_sizes,)
        By the size of the sets, 1, 2, 3 to 4, 5 to 8 and so on: the largest of these sizes, how
        many samples have such sets, and the share of them whose label is inside.
    label, label_samples, label_coverage : ndarray of shape (n_labels,)
        The same by the label of the sample; first those of which most are missed beyond what is to
        be expected.
    """

    n_samples: int
    asked: float
    coverage: float
    mean_size: float
    median_size: float
    singletons: float
    largest_size: NDArray[np.intp]
    size_samples: NDArray[np.intp]
    size_coverage: NDArray[np.float64]
    label: NDArray[Any]
    label_samples: NDArray[np.intp]
    label_coverage: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            **{name: value for name, value in plain.items() if not isinstance(value, np.ndarray)},
            "sizes": table_rows(
                ("largest", "samples", "coverage"),
                (self.largest_size, self.size_samples, self.size_coverage),
            ),
            "labels": table_rows(
                ("label", "samples", "coverage"),
                (self.label, self.label_samples, self.label_coverage),
            ),
        }

    def __str__(self) -> str:
        sizes = [
            [str(last) if last < 3 else f"{last // 2 + 1:,} to {last:,}", f"{n:,}", f"{share:.4f}"]
            for last, n, share in zip(
                self.largest_size.tolist(), self.size_samples, self.size_coverage, strict=True
            )
        ]
        worst = [
            [str(label), f"{n:,}", f"{share:.4f}"]
            for label, n, share in zip(
                self.label[:_SHOWN], self.label_samples, self.label_coverage, strict=False
            )
        ]
        return (
            f"{text_table(['labels in the set', 'samples', 'coverage'], sizes)}\n\n"
            f"{text_table(['worst labels', 'samples', 'coverage'], worst)}\n\n"
            f"coverage {self.coverage:.4f} of {self.n_samples:,} samples, where {self.asked:g} was "
            f"asked for; {self.mean_size:.2f} labels in a set, median {self.median_size:g}; "
            f"{100 * self.singletons:.1f} % of the sets have one label"
        )
