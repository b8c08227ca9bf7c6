"""Precision, recall and F1 of each class."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.inspection._html_table import html_table
from multimargin.inspection._labels import class_index, codes, native
from multimargin.inspection._plots import AGAINST, FOR
from multimargin.io._atomic import atomic_write
from multimargin.io._figure_file import axes_or_new
from multimargin.io._text_table import elided, text_table
from multimargin.tables._write import write_table

_COLUMNS = ("label", "precision", "recall", "f1", "support", "predicted")
_SHOWN = 30
_FEWEST_IN_A_MEAN = 5


def class_report(given: Any, *rest: Any) -> ClassReport:
    """Measure how well each class is recognised.

    Call it as ``class_report(y_true, y_pred)`` or ``class_report(model, X, y_true)``.

    Parameters
    ----------
    given : array-like of shape (n_samples,), or MulticlassSVC
        True labels, or a fitted model.
    *rest
        The predicted labels; or, after a model, samples and their true labels.

    Returns
    -------
    ClassReport
        One row per label that is true, predicted or a class of the model.

    Examples
    --------
    >>> from multimargin.inspection import class_report
    >>> report = class_report(["a", "a", "b", "c"], ["a", "b", "b", "b"])
    >>> print(report)
    label  precision  recall      F1  support  predicted
    a         1.0000  0.5000  0.6667        2          1
    b         0.3333  1.0000  0.5000        1          3
    c              –  0.0000  0.0000        1          0
    <BLANKLINE>
    accuracy 0.5000 of 4 samples; macro-F1 0.3889 of 3 labels
    >>> report.sorted_by("recall").labels.tolist()
    ['c', 'a', 'b']
    """
    found = codes(given, *rest)
    support, predicted = found.count(found.truth), found.count(found.predicted)
    hits = found.count(found.truth[found.truth == found.predicted])
    f1 = _ratio(2 * hits, support + predicted)
    return ClassReport(
        labels=found.labels,
        precision=_ratio(hits, predicted),
        recall=_ratio(hits, support),
        f1=f1,
        support=support,
        predicted=predicted,
        accuracy=float(hits.sum() / support.sum()),
        macro_f1=float(np.nanmean(f1)),
        weighted_f1=float(np.nansum(f1 * support) / support.sum()),
        n_samples=int(support.sum()),
        n_met=int((~np.isnan(f1)).sum()),
    )


@dataclass(frozen=True)
class ClassReport:
    """Precision, recall, F1 and support of each class: `class_report`.

    NaN stands for no value: the precision of a label that was never predicted, the recall of a
    label without samples, and the F1 of a label with neither.

    Attributes
    ----------
    labels : ndarray of shape (n_labels,)
    precision : ndarray of shape (n_labels,)
        Fraction of the samples predicted to be of a class that are.
    recall : ndarray of shape (n_labels,)
        Fraction of the samples of a class that were found.
    f1 : ndarray of shape (n_labels,)
        Harmonic mean of the two; 0 where nothing was found.
    support : ndarray of int of shape (n_labels,)
        Samples of the class.
    predicted : ndarray of int of shape (n_labels,)
        Samples predicted to be of the class.
    accuracy : float
        Fraction of samples whose label was predicted; the micro-F1. This and the following count
        all labels, also in a report of some rows.
    macro_f1 : float
        Mean F1 of all labels that are true or predicted.
    weighted_f1 : float
        Mean F1, weighted by support.
    n_samples, n_met : int
        Samples, and labels that are true or predicted.
    """

    labels: NDArray[Any]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    support: NDArray[np.intp]
    predicted: NDArray[np.intp]
    accuracy: float
    macro_f1: float
    weighted_f1: float
    n_samples: int
    n_met: int

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, label: Any) -> dict[str, Any]:
        """Return the row of a label, None for NaN."""
        order = np.argsort(self.labels, kind="stable")
        return self._row(order[class_index(self.labels[order], label)])

    def sorted_by(self, column: str = "f1", *, descending: bool = False) -> ClassReport:
        """Return a report of the rows in the order of a column; NaN comes last.

        The columns are "label", "precision", "recall", "f1", "support" and "predicted".
        """
        if column not in _COLUMNS:
            raise ValueError(f"column must be one of {', '.join(_COLUMNS)}; got {column!r}")
        if column == "label":
            order = np.argsort(self.labels, kind="stable")
            return self._taken(order[::-1] if descending else order)
        keys = getattr(self, column)
        # Of equal classes the larger first: it matters more.
        return self._taken(np.lexsort((-self.support, -keys if descending else keys)))

    def head(self, n: int = 10) -> ClassReport:
        """Return a report of the first rows."""
        return self._taken(np.arange(min(n, len(self))))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, None for NaN."""
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "weighted_f1": self.weighted_f1,
            "samples": self.n_samples,
            "classes": list(self._rows()),
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line per class, atomically; NaN is empty."""
        with atomic_write(path) as file:
            write_table(file, "csv", _COLUMNS, (list(row.values()) for row in self._rows()))

    def to_frame(self) -> Any:
        """Return all rows as a pandas data frame, with the labels as its index."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed: pip install pandas; or use "
                "as_dict or to_csv, which need nothing"
            ) from error
        columns = {name: getattr(self, name) for name in _COLUMNS[1:]}
        return pd.DataFrame(columns, index=pd.Index(self.labels, name="label"))

    def plot(self, ax: Any = None) -> Any:
        """Draw F1 over support, a dot for each class, on `ax` or a new figure; return the axes."""
        ax = axes_or_new(ax)
        met = self.support > 0
        support, f1 = self.support[met], self.f1[met]
        # Supports are whole numbers and F1 of few samples has few values: spread coinciding dots.
        random = np.random.default_rng(0)
        spread = np.exp(random.uniform(-0.06, 0.06, len(support)) * (len(support) > 100))
        alpha = float(np.clip(30 / np.sqrt(max(1, len(support))), 0.08, 0.8))
        ax.scatter(support * spread, f1, s=14, color=FOR, alpha=alpha, linewidths=0)
        sizes, means = _running_mean(support, f1)
        if len(sizes) > 1:
            label = "mean of classes of about this size"
            ax.plot(sizes, means, color=AGAINST, linewidth=2, label=label)
            ax.legend(frameon=False, fontsize="small", loc="lower right")
        ax.set_xlim(support.min() / 1.25, support.max() * 1.25)
        if support.max() >= 10 * support.min():
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set(ylim=(-0.03, 1.03), xlabel="samples of the class", ylabel="F1")
        title = f"accuracy {self.accuracy:.3f}, macro-F1 {self.macro_f1:.3f}"
        ax.set_title(title, fontsize="medium")
        return ax

    def __str__(self) -> str:
        titles, rows, note = self._table()
        rows = [[elided(label, 40), *cells] for label, *cells in rows]
        return f"{text_table(titles, rows)}\n{note}\n{self._summary()}"

    def _repr_html_(self) -> str:
        titles, rows, note = self._table()
        return html_table(titles, rows, f"{self._summary()}. {note}")

    def _table(self) -> tuple[list[str], list[list[str]], str]:
        rows = [
            [str(label), *map(_share, shares), f"{support:,}", f"{predicted:,}"]
            for label, *shares, support, predicted in (row.values() for row in self._rows(_SHOWN))
        ]
        left = len(self) - len(rows)
        note = f"... and {left:,} more: see sorted_by, to_csv, to_frame" if left else ""
        return ["label", "precision", "recall", "F1", "support", "predicted"], rows, note

    def _summary(self) -> str:
        return (
            f"accuracy {self.accuracy:.4f} of {self.n_samples:,} samples; "
            f"macro-F1 {self.macro_f1:.4f} of {self.n_met:,} labels"
        )

    def _taken(self, order: NDArray[Any]) -> ClassReport:
        columns = ("labels", *_COLUMNS[1:])
        return replace(self, **{name: getattr(self, name)[order] for name in columns})

    def _rows(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        return map(self._row, range(len(self))[:most])

    def _row(self, i: int) -> dict[str, Any]:
        cells = (native(getattr(self, name)[i]) for name in _COLUMNS[1:])
        known = (None if math.isnan(cell) else cell for cell in cells)
        return dict(zip(_COLUMNS, (native(self.labels[i]), *known), strict=True))


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    ratio = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def _running_mean(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return means of points of about the same ``x``, two to a doubling, none of few points."""
    part = np.floor(2 * np.log2(x)).astype(np.intp)
    count = np.bincount(part)
    many = count >= _FEWEST_IN_A_MEAN
    middle = np.exp(np.bincount(part, np.log(x))[many] / count[many])
    return middle, np.bincount(part, y)[many] / count[many]


def _share(number: float | None) -> str:
    return "–" if number is None else f"{number:.4f}"
