"""The weights of single classes, whatever form ``coef_`` has, and the largest of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.inspection._html_table import html_table
from multimargin.inspection._labels import native
from multimargin.inspection._plots import plot_bars, short
from multimargin.io._text_table import elided, text_table
from multimargin.models._coef import ClassRows
from multimargin.models._feature_names import names_of


@dataclass(frozen=True)
class TopFeatures:
    """The largest weights of a class, and the most negative ones: `MulticlassSVC.top_features`.

    Attributes
    ----------
    label : object
        The class.
    positive : list of (str, float)
        Features with the largest weights, and the weights; the largest first.
    negative : list of (str, float)
        The same for the most negative weights, the most negative first.
    intercept : float
    n_weights : int
        Number of weights that are not zero.
    """

    label: Any
    positive: list[tuple[str, float]]
    negative: list[tuple[str, float]]
    intercept: float
    n_weights: int

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        listed = {
            side: [{"feature": name, "weight": weight} for name, weight in getattr(self, side)]
            for side in ("positive", "negative")
        }
        return {**vars(self), **listed}

    def plot(self, ax: Any = None) -> Any:
        """Draw the weights as bars, on `ax` or a new figure; return the axes."""
        ax = plot_bars(ax, [*self.positive, *reversed(self.negative)])
        ax.set_xlabel("weight")
        ax.set_title(short(self.label, 60), fontsize="medium")
        return ax

    def __str__(self) -> str:
        # An empty column keeps the two sides apart.
        rows = [[elided(cell, 40) for cell in (*row[:2], "", *row[2:])] for row in self._rows()]
        table = text_table(["for", "weight", "", "against", "weight"], rows, left=(0, 3))
        return f"{self._caption()}\n{table}"

    def _repr_html_(self) -> str:
        return html_table(["for", "weight", "against", "weight"], self._rows(), self._caption())

    def _caption(self) -> str:
        label = elided(str(self.label), 40)
        return f"{label}: {self.n_weights:,} weights, intercept {self.intercept:+.4f}"

    def _rows(self) -> list[list[str]]:
        sides = (
            [(name, f"{weight:+.4f}") for name, weight in side]
            for side in (self.positive, self.negative)
        )
        return [[*a, *b] for a, b in zip_longest(*sides, fillvalue=("", ""))]


def top_features(model: Any, place: int, k: int) -> TopFeatures:
    """List the ``k`` largest and most negative weights of the class at this place."""
    weights = ClassWeights(model)
    features, weight = weights.row(place)
    order = np.argsort(-weight, kind="stable")
    highest, lowest = order[:k], order[::-1][:k]

    def named(places: NDArray[np.intp]) -> list[tuple[str, float]]:
        return list(zip(names_of(model, features[places]), weight[places].tolist(), strict=True))

    return TopFeatures(
        label=native(model.classes_[place]),
        positive=named(highest[weight[highest] > 0]),
        negative=named(lowest[weight[lowest] < 0]),
        intercept=weights.intercept(place),
        n_weights=int(np.count_nonzero(weight)),
    )


class ClassWeights:
    """The weights of each class, also where two classes share one row of ``coef_``.

    Each of two classes has the weights of its score in `predict_topk`: half of the row with its
    sign, or all of it for one-vs-rest.
    """

    def __init__(self, model: Any) -> None:
        coef = model.coef_
        self._dense = isinstance(coef, np.ndarray)
        self._coef = coef if self._dense or coef.format == "csr" else coef.tocsr()
        self._intercept = np.asarray(model.intercept_)
        self._rows = ClassRows.of(model)

    def row(self, label: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        row, factor = self._rows.row(label)
        if self._dense:
            features = np.flatnonzero(self._coef[row])
            return features, factor * self._coef[row, features].astype(np.float64)
        features, weights = self._stored(row)
        if not _rising(features):
            features, into = np.unique(features, return_inverse=True)
            weights = np.bincount(into, weights, minlength=len(features))
        return features, factor * weights.astype(np.float64)

    def at(self, label: int, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the weights of some features, which rise; reads no more of the row than needed."""
        row, factor = self._rows.row(label)
        if self._dense:
            dense: NDArray[np.float64] = self._coef[row, features].astype(np.float64)
            return factor * dense
        stored, weights = self._stored(row)
        if not _rising(stored):
            stored, weights = self.row(label)
            factor = 1.0
        found = np.zeros(len(features))
        if len(stored):
            place = np.minimum(np.searchsorted(stored, features), len(stored) - 1)
            hit = stored[place] == features
            found[hit] = weights[place[hit]]
        return factor * found

    def intercept(self, label: int) -> float:
        row, factor = self._rows.row(label)
        return factor * float(self._intercept[row])

    def _stored(self, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
        # Slices of the arrays: SciPy's own slicing checks and copies, and takes 50 times as long.
        begin, end = int(self._coef.indptr[row]), int(self._coef.indptr[row + 1])
        return self._coef.indices[begin:end], self._coef.data[begin:end]


def _rising(features: NDArray[Any]) -> bool:
    return len(features) < 2 or bool((features[1:] > features[:-1]).all())
