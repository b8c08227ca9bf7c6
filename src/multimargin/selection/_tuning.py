"""Tuning: how formulations and values of C fared on held-out samples."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.selection._measure import MEASURES, measure_named
from multimargin.selection._plots import Curve, draw
from multimargin.selection._regularization_path import PathPoint


@dataclass
class Candidate:
    """One formulation with one C, and how it fared on each fold.

    Attributes
    ----------
    formulation : str
    C : float
    points : list of PathPoint
        One per fold, without models.
    splits : list of int
        The numbers of these folds, rising.
    """

    formulation: str
    C: float
    points: list[PathPoint] = field(default_factory=list, repr=False)
    splits: list[int] = field(default_factory=list, repr=False)

    def add(self, split: int, point: PathPoint) -> None:
        """Take note of the fit on one fold."""
        place = bisect.bisect(self.splits, split)
        self.splits.insert(place, split)
        self.points.insert(place, point)

    @property
    def parameters(self) -> dict[str, Any]:
        """For an estimator: ``MulticlassSVC(**candidate.parameters)``."""
        return {"formulation": self.formulation, "C": self.C}

    def values(self, measure: str = "error") -> list[float]:
        """Return the measure on each fold."""
        asked = measure_named(measure)
        return [asked.of(point.measures or {}) for point in self.points]

    def mean(self, measure: str = "error") -> float:
        """Return the mean of the measure over the folds."""
        return float(np.mean(self.values(measure)))

    def standard_error(self, measure: str = "error") -> float:
        """Return the standard error of the mean, from the folds or the samples of a single one.

        NaN where neither tells: macro-F1 on a single fold.
        """
        asked, values = measure_named(measure), self.values(measure)
        if len(values) > 1:
            return float(np.std(values, ddof=1) / math.sqrt(len(values)))
        if not asked.counts:
            return math.nan
        count = int((self.points[0].measures or {})["samples"])
        return math.sqrt(max(0.0, values[0] * (1 - values[0])) / count)

    @property
    def seconds(self) -> float:
        """Time of training, all folds together."""
        return sum(point.seconds for point in self.points)

    @property
    def density(self) -> float:
        """Share of non-zero weights, mean over the folds."""
        return float(np.mean([point.density for point in self.points]))

    @property
    def converged(self) -> bool:
        return all(point.converged for point in self.points)

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers: of each measure the mean and its standard error."""
        row: dict[str, Any] = {
            "formulation": self.formulation,
            "C": self.C,
            "folds": len(self.points),
            "converged": self.converged,
            "gap": max(point.gap for point in self.points),
            "density": self.density,
            "seconds": self.seconds,
        }
        for name, measure in MEASURES.items():
            if measure.key not in (self.points[0].measures or {}):
                continue  # costs that nobody has given
            row[measure.key] = self.mean(name)
            row[f"{measure.key}_se"] = self.standard_error(name)
        return row


@dataclass(eq=False)
class Tuning:
    """How formulations and values of C fared, from `multimargin.tune`.

    Attributes
    ----------
    measure : str
        The measure that they are compared by.
    top_k : int
        Of the top-k accuracy.
    folds : int
        Splits that were asked for.
    seen_once : int
        Labels of a single sample, which were in no held-out part.
    left_out : dict of str to str
        Formulations that were not tried because nobody had asked for them, and why.
    template : MulticlassSVC or None
        The estimator whose other parameters counted.

    Examples
    --------
    >>> import multimargin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = multimargin.tune(X, y, formulations="ww", Cs=[0.01, 1], folds=3, random_state=0)
    >>> found.at_edge()  # a larger C may be better
    'largest'
    >>> found.estimator()  # to be fitted on all samples
    MulticlassSVC(C=1.0, formulation='ww', random_state=0)
    """

    measure: str
    top_k: int
    folds: int
    seen_once: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    template: MulticlassSVC | None = None

    def __post_init__(self) -> None:
        self._measure = measure_named(self.measure)
        self.measure = self._measure.name
        self._found: dict[tuple[str, float], Candidate] = {}

    def add(self, formulation: str, point: PathPoint, split: int = 0) -> Candidate:
        """Take note of one fit, on the fold of this number."""
        key = (formulation, point.C)
        candidate = self._found.setdefault(key, Candidate(*key))
        candidate.add(split, point)
        return candidate

    @property
    def candidates(self) -> list[Candidate]:
        """By formulation, in the order of the list of all, and by C.

        Some lack folds: those that could not win by the first one, and after an interruption.
        """
        rank = {name: place for place, name in enumerate(FORMULATIONS)}
        return sorted(self._found.values(), key=lambda one: (rank[one.formulation], one.C))

    def __getitem__(self, key: tuple[str, float]) -> Candidate:
        """Return the candidate of a formulation and a C."""
        return self._found[key]

    def __repr__(self) -> str:
        if not self._found:
            return f"<Tuning by {self.measure}: nothing was measured>"
        best, found = self.best(), len(self._found)
        value = f"{self.label} {best.mean(self.measure):.4g}"
        return (
            f"<Tuning by {self.measure}: {found} candidates, {self.folds} fold(s); best, with "
            f"{value}: {' '.join(repr(self.estimator()).split())}>"
        )

    def best(self) -> Candidate:
        """Return the first of the candidates with the best mean, among those with most folds."""
        return min(self._compared(), key=self._cost)

    def simplest(self) -> Candidate:
        """Return the smallest and fastest of those within one standard error of the best.

        Among the candidates of all formulations whose mean is at most one standard error worse
        than the best one's: the one with the fewest non-zero weights; where these are the same to
        two digits, the one of least training time. The best itself where the standard error is not
        known.
        """
        best = self.best()
        error = best.standard_error(self.measure)
        if math.isnan(error):
            return best
        limit = self._cost(best) + error
        near = [one for one in self._compared() if self._cost(one) <= limit]
        return min(near, key=lambda one: (float(f"{one.density:.2g}"), one.seconds))

    def estimator(self, candidate: Candidate | None = None) -> MulticlassSVC:
        """Return an estimator, not fitted, with the parameters of a candidate: of the best one.

        Parameters
        ----------
        candidate : Candidate or None, default=None

        Returns
        -------
        estimator : MulticlassSVC
            Or a subclass of it, such as `TextClassifier`: of the class that was given.
        """
        template = MulticlassSVC() if self.template is None else clone(self.template)
        parameters = (candidate or self.best()).parameters
        return template.set_params(**parameters)

    def at_edge(self) -> str:
        """Return "smallest" or "largest" if the best C is at that end of the values, else "".

        It is not at an end where the next value is as good.
        """
        best = self.best()
        those = [one for one in self.candidates if one.formulation == best.formulation]
        inner = {those[0].C: (1, "smallest"), those[-1].C: (-2, "largest")}
        if len(those) < 2 or best.C not in inner:
            return ""
        place, name = inner[best.C]
        return name if self._cost(those[place]) > self._cost(best) else ""

    def advice(self) -> str:
        """Return a sentence about a best C at the edge of the values, or an empty one."""
        best, edge = self.best(), self.at_edge()
        if not edge:
            return ""
        other = {"smallest": "smaller", "largest": "larger"}[edge]
        return (
            f"C={best.C:.3g} is the best for {best.formulation!r} and the {edge} that was tried: "
            f"{other} ones may be better, give some of them (Cs in Python, --C in the command)"
        )

    def _cost(self, one: Candidate) -> float:
        return self._measure.cost(one.mean(self.measure))

    def _compared(self) -> list[Candidate]:
        """Return the candidates with most folds."""
        if not self._found:
            raise ValueError("nothing was measured")
        most = max(len(one.points) for one in self._found.values())
        return [one for one in self.candidates if len(one.points) == most]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per candidate, as data frames take them."""
        return [one.as_dict() for one in self.candidates]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, as JSON can hold it."""
        return {
            "measure": self.measure,
            "top_k": self.top_k,
            "folds": self.folds,
            "labels_seen_once": self.seen_once,
            "left_out": self.left_out,
            "best": self.best().parameters,
            "simplest": self.simplest().parameters,
            "candidates": self.rows(),
        }

    def curves(self) -> list[Curve]:
        """Return one curve per formulation, the best candidate marked."""
        best, found = self.best(), []
        for name in dict.fromkeys(one.formulation for one in self.candidates):
            those = [one for one in self.candidates if one.formulation == name]
            # A single fold of several says less: its candidates have no band.
            errors = [
                math.nan if len(one.points) < len(best.points) else one.standard_error(self.measure)
                for one in those
            ]
            found.append(
                Curve(
                    name,
                    [one.C for one in those],
                    [one.mean(self.measure) for one in those],
                    None if all(map(math.isnan, errors)) else errors,
                    those.index(best) if best in those else None,
                )
            )
        return found

    @property
    def label(self) -> str:
        """Title of the measure, for a plot."""
        return self._measure.title.format(k=self.top_k)

    def plot(self, ax: Any = None) -> Any:
        """Draw the measure over C with a band of one standard error; needs matplotlib.

        The axis fits the values near the best one. Candidates that lack folds are drawn by those
        that they have, without a band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        ax : matplotlib Axes
        """
        return draw(self.curves(), self.label, ax=ax)
