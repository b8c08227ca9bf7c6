"""Explain one prediction: compare the scores of two classes on a sample, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._html_table import html_table
from multimargin.inspection._labels import class_index, native
from multimargin.inspection._plots import plot_bars, short
from multimargin.io._text_table import counted, elided, text_table
from multimargin.models._feature_names import names_of
from multimargin.solvers._layout import as_core_csr


@dataclass(frozen=True)
class Contribution:
    """The part of one feature of a sample in the scores of two classes.

    Attributes
    ----------
    feature : str
        Its name.
    index : int
        Its column.
    value : float
        Its value in the sample.
    weight, runner_up_weight : float
        Its weights for the two classes.
    contribution : float
        ``value * (weight - runner_up_weight)``: how far it set the two apart.
    """

    feature: str
    index: int
    value: float
    weight: float
    runner_up_weight: float
    contribution: float

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.feature

    @property
    def score(self) -> float:
        """Its part in the score of the class."""
        return self.value * self.weight

    @property
    def runner_up_score(self) -> float:
        """Its part in the score of the runner-up."""
        return self.value * self.runner_up_weight

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        found = {**vars(self), "score": self.score, "runner_up_score": self.runner_up_score}
        return {**found, "contribution": found.pop("contribution")}


@dataclass(frozen=True)
class Part:
    """A part of two scores; see `Explanation`."""

    score: float
    runner_up_score: float

    @property
    def contribution(self) -> float:
        """Difference of the two."""
        return self.score - self.runner_up_score


@dataclass(frozen=True)
class Explanation:
    """Why a sample has its class, and not another: `MulticlassSVC.explain`.

    ``sum(c.contribution for c in contributions) + intercept + rest`` is
    ``score - runner_up_score``, but for rounding in double precision.

    Attributes
    ----------
    label : object
        The class explained; the predicted one unless another was asked for.
    runner_up : object
        The class it is compared with; the best other one unless another was asked for.
    score, runner_up_score : float
        Their scores.
    contributions : list of Contribution
        Features that spoke most for `label` and against `runner_up`; the largest first.
        Features without a weight for either are not listed.
    intercept, rest : float
        Parts of the intercepts, and of all features not listed, in the difference.
    intercept_part, rest_part : Part
        The same for each of the two scores.
    n_known : int
        Number of features of the sample that are not zero; for a text, of its known words.
    n_rest : int
        How many of them are not listed.
    best : list of (label, score)
        The best classes of the sample, best first.
    """

    label: Any
    runner_up: Any
    score: float
    runner_up_score: float
    contributions: list[Contribution]
    intercept_part: Part
    rest_part: Part
    n_known: int
    best: list[tuple[Any, float]]

    _nothing_known: ClassVar[str] = (
        "No feature of this sample is known to the model: the intercepts alone decide."
    )
    _noun: ClassVar[str] = "feature"

    @property
    def intercept(self) -> float:
        return self.intercept_part.contribution

    @property
    def rest(self) -> float:
        return self.rest_part.contribution

    @property
    def difference(self) -> float:
        """Lead of `label` over `runner_up`."""
        return self.score - self.runner_up_score

    @property
    def standing(self) -> str:
        """ "ahead of" or "behind": a label that was asked for may be behind `runner_up`."""
        return "ahead of" if self.difference >= 0 else "behind"

    @property
    def n_rest(self) -> int:
        return self.n_known - len(self.contributions)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "label": self.label,
            "runner_up": self.runner_up,
            "score": self.score,
            "runner_up_score": self.runner_up_score,
            "contributions": [c.as_dict() for c in self.contributions],
            "intercept": self.intercept,
            "rest": self.rest,
            "n_known": self.n_known,
            "n_rest": self.n_rest,
            "best": [{"label": label, "score": score} for label, score in self.best],
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the contributions as bars, on `ax` or a new figure; return the axes."""
        bars = [(name, difference) for name, _, _, difference in self._parts()[:-1]]
        ax = plot_bars(ax, bars, quiet=len(bars) - len(self.contributions))
        sides = f"for {short(self.runner_up, 18)}  ←  contribution  →  for {short(self.label, 18)}"
        ax.set_xlabel(sides, fontsize="small")
        title = f"{short(self.label, 40)}, {self.standing} {short(self.runner_up, 40)}"
        title += f" by {abs(self.difference):.3f}"
        ax.set_title(title, fontsize="medium", wrap=True)
        return ax

    def __str__(self) -> str:
        label, runner_up = elided(str(self.label), 60), elided(str(self.runner_up), 60)
        head = (
            f"{label}  {self.score:+.4f}, {self.standing} {runner_up}  "
            f"{self.runner_up_score:+.4f} by {abs(self.difference):.4f}"
        )
        if not self.n_known:
            head += f"\n{self._nothing_known}"
        rows = [[elided(name, 40), *numbers] for name, *numbers in self._rows()]
        titles = [self._noun, elided(str(self.label)), elided(str(self.runner_up)), "difference"]
        return f"{head}\n{text_table(titles, rows)}"

    def _repr_html_(self) -> str:
        titles = [self._noun, str(self.label), str(self.runner_up), "difference"]
        caption = f"{self.label}, {self.standing} {self.runner_up} by {abs(self.difference):.4f}"
        if not self.n_known:
            caption += f". {self._nothing_known}"
        return html_table(titles, self._rows(), caption)

    def _rows(self) -> list[list[str]]:
        return [[name, *(f"{one:+.4f}" for one in numbers)] for name, *numbers in self._parts()]

    def _parts(self) -> list[tuple[str, float, float, float]]:
        parts: list[tuple[str, Contribution | Part]] = [(c.name, c) for c in self.contributions]
        if self.n_rest:
            parts.append((counted(self.n_rest, f"other {self._noun}"), self.rest_part))
        whole = Part(self.score, self.runner_up_score)
        parts += [("intercept", self.intercept_part), ("sum", whole)]
        return [(name, p.score, p.runner_up_score, p.contribution) for name, p in parts]


class Comparison(NamedTuple):
    """The terms of two scores, one entry per feature of the sample.

    ``contributions`` is ``values * (weights - other_weights)``: how far each feature sets the two
    scores apart.
    """

    features: NDArray[Any]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    other_weights: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercept: Part

    def part(self, which: NDArray[Any] | slice) -> Part:
        # Not dot products: BLAS would use threads of its own.
        values = self.values[which]
        return Part(
            float(np.sum(values * self.weights[which])),
            float(np.sum(values * self.other_weights[which])),
        )

    def ranked(self, k: int, rank: str) -> NDArray[np.intp]:
        """Return the places of at most ``k`` features, the largest contribution first.

        Features that neither class has a weight for are left out.
        """
        places = np.flatnonzero((self.weights != 0) | (self.other_weights != 0))
        if rank == "size":
            places = np.sort(places[largest(self.contributions[places], k)])
        order = np.argsort(-self.contributions[places], kind="stable")[:k]
        chosen: NDArray[np.intp] = places[order]
        return chosen


def compare(
    weights: ClassWeights, features: NDArray[Any], values: NDArray[Any], own: int, other: int
) -> Comparison:
    """Compare two classes, given by their places, on the features of a sample, which rise."""
    values = values.astype(np.float64)
    of_own, of_other = weights.at(own, features), weights.at(other, features)
    intercept = Part(weights.intercept(own), weights.intercept(other))
    return Comparison(features, values, of_own, of_other, values * (of_own - of_other), intercept)


def embeddings_as_one(model: Any, compared: Comparison) -> tuple[Comparison, dict[int, str]]:
    """Make one feature of each embedding, whose single numbers mean nothing.

    Its value is 1, its weights are its parts in the scores, and its place is that of its first
    number; the second result has the names of these places.
    """
    names: dict[int, str] = {}
    text_features = getattr(model, "features_", None)
    for name, columns in text_features.embedded_columns() if text_features is not None else ():
        inside = (compared.features >= columns.start) & (compared.features < columns.stop)
        if inside.any():
            names[columns.start] = name
            whole, kept = compared.part(inside), ~inside
            entry = (columns.start, 1.0, whole.score, whole.runner_up_score, whole.contribution)
            *columns_, intercept = compared
            joined = (
                np.append(column[kept], one) for column, one in zip(columns_, entry, strict=True)
            )
            compared = Comparison._make([*joined, intercept])
    return compared, names


def largest(contributions: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return the places of the ``k`` largest contributions, whatever their sign."""
    return np.argsort(-np.abs(contributions), kind="stable")[:k]


def explain(
    model: Any, x: Any, k: int, label: Any, against: Any, rank: str, n_best: int
) -> Explanation:
    """Explain a sample: `MulticlassSVC.explain`, its arguments checked."""
    sample = one_sample(model, x)
    own, other, best = classes_of(model, sample, label, against, n_best)
    compared = compare(ClassWeights(model), sample.indices, sample.data, own, other)
    compared, embedded = embeddings_as_one(model, compared)
    listed = compared.ranked(k, rank)
    places = compared.features[listed]
    names = zip(names_of(model, places), places.tolist(), strict=True)
    columns = (column[listed].tolist() for column in compared[:5])
    rows = zip((embedded.get(place, name) for name, place in names), *columns, strict=True)
    facts = facts_of(model, compared, own, other, listed)
    return Explanation(contributions=[Contribution(*row) for row in rows], best=best, **facts)


def classes_of(
    model: Any, sample: Any, label: Any, against: Any, n_best: int
) -> tuple[int, int, list[tuple[Any, float]]]:
    """Return the places of the class to explain and of its rival, and the best classes."""
    if len(model.classes_) < 2:
        raise ValueError("explain compares two labels, and this model has one: see top_features")
    classes, places, scores = model.classes_, [], []
    if label is None or against is None or n_best > 0:
        (places,), (scores,) = model._scores().top(sample, max(2, min(n_best, len(classes))))
    own, other = _two_classes(classes, places, label, against)
    ranked = zip(places[:n_best], scores[:n_best], strict=True)
    return own, other, [(native(classes[place]), float(score)) for place, score in ranked]


def facts_of(
    model: Any, compared: Comparison, own: int, other: int, listed: NDArray[np.intp]
) -> dict[str, Any]:
    """Return what an `Explanation` says of two classes besides the contributions."""
    unlisted = np.ones(len(compared.features), dtype=bool)
    unlisted[listed] = False
    whole, intercept = compared.part(slice(None)), compared.intercept
    return {
        "label": native(model.classes_[own]),
        "runner_up": native(model.classes_[other]),
        "score": whole.score + intercept.score,
        "runner_up_score": whole.runner_up_score + intercept.runner_up_score,
        "intercept_part": intercept,
        "rest_part": compared.part(unlisted),
        "n_known": len(compared.features),
    }


def _two_classes(classes: NDArray[Any], best: Any, label: Any, against: Any) -> tuple[int, int]:
    """Return the places of the class to explain and of its rival; None is the best there is."""
    own = int(best[0]) if label is None else class_index(classes, label)
    if against is None:
        return own, int(best[1] if best[0] == own else best[0])
    other = class_index(classes, against)
    if own == other:
        raise ValueError(
            f"{native(classes[own])!r} cannot be compared with itself: give label= or "
            "against= another class"
        )
    return own, other


def one_sample(model: Any, x: Any) -> Any:
    """Return the sample as a CSR matrix of one row, its columns rising and without zeros."""
    X = model._checked(_as_rows(model, x))
    if X.shape[0] != 1:
        raise ValueError(f"explain takes one sample, got {X.shape[0]}: pass one row")
    csr: Any = as_core_csr(X)
    if not csr.data.all():
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def _as_rows(model: Any, x: Any) -> Any:
    if isinstance(x, str):
        if not hasattr(model, "features_"):
            raise ValueError(
                f"a text was given, but this {type(model).__name__} was trained on "
                f"{model.n_features_in_:,} features: pass a row of them, or train a TextClassifier"
            )
        return [x]
    if sp.issparse(x):
        return x
    if hasattr(x, "to_frame"):  # a row of a data frame
        return x.to_frame().T
    if isinstance(x, Mapping) and all(np.ndim(value) == 0 for value in x.values()):
        return {name: [value] for name, value in x.items()}
    if not hasattr(model, "features_") and not hasattr(x, "iloc") and np.ndim(x) == 1:
        return np.asarray(x)[None, :]
    return x
