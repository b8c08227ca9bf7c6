"""Tuning: how formulations and values of C fared on held-out samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    """

    formulation: str
    C: float
    points: list[PathPoint] = field(default_factory=list)

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

    Examples
    --------
    >>> import multimargin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = multimargin.tune(X, y, formulations="ww", Cs=[0.01, 1], folds=3, random_state=0)
    >>> found.at_edge()  # a larger C may be better
    'largest'
    """

    measure: str
    top_k: int
    folds: int
    seen_once: int = 0
    left_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._measure = measure_named(self.measure)
        self.measure = self._measure.name
        self._found: dict[tuple[str, float], Candidate] = {}

    def add(self, formulation: str, point: PathPoint) -> None:
        """Take note of one fit."""
        key = (formulation, point.C)
        self._found.setdefault(key, Candidate(*key)).points.append(point)

    @property
    def candidates(self) -> list[Candidate]:
        """In the order in which they were tried; after an interruption some lack folds."""
        return list(self._found.values())

    def __getitem__(self, key: tuple[str, float]) -> Candidate:
        """Return the candidate of a formulation and a C."""
        return self._found[key]

    def __repr__(self) -> str:
        found = len(self._found)
        return f"<Tuning by {self.measure}: {found} candidates, {self.folds} fold(s)>"

    def best(self) -> Candidate:
        """Return the first of the candidates with the best mean, among those with most folds."""
        return min(self._compared(), key=self._cost)

    def simplest(self) -> Candidate:
        """Return the smallest C of the best formulation within one standard error of the best.

        It is the most regularised model that cannot be told from the best one; the best itself
        where the standard error is not known.
        """
        best = self.best()
        error = best.standard_error(self.measure)
        if math.isnan(error):
            return best
        limit = self._cost(best) + error
        return next(one for one in self._compared(best.formulation) if self._cost(one) <= limit)

    def at_edge(self) -> str:
        """Return "smallest" or "largest" if the best C is at that end of the values, else ""."""
        best = self.best()
        Cs = [one.C for one in self._compared(best.formulation)]
        return {Cs[0]: "smallest", Cs[-1]: "largest"}.get(best.C, "") if len(Cs) > 1 else ""

    def _cost(self, one: Candidate) -> float:
        return self._measure.cost(one.mean(self.measure))

    def _compared(self, formulation: str | None = None) -> list[Candidate]:
        """Return the candidates with most folds; of a formulation in the order of C."""
        if not self._found:
            raise ValueError("nothing was measured")
        most = max(len(one.points) for one in self.candidates)
        found = [one for one in self.candidates if len(one.points) == most]
        if formulation is None:
            return found
        return sorted((c for c in found if c.formulation == formulation), key=lambda c: c.C)

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
        for name in dict.fromkeys(one.formulation for one in self._compared()):
            those = self._compared(name)
            errors = [one.standard_error(self.measure) for one in those]
            found.append(
                Curve(
                    name,
                    [one.C for one in those],
                    [one.mean(self.measure) for one in those],
                    None if any(map(math.isnan, errors)) else errors,
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

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        ax : matplotlib Axes
        """
        return draw(self.curves(), self.label, ax=ax)
