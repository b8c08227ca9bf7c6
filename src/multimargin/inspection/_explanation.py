"""The features that spoke for the class of a sample and against another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from multimargin.inspection._html_table import html_table
from multimargin.io._text_table import elided, text_table


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
    def score(self) -> float:
        """Its part in the score of the class."""
        return self.value * self.weight

    @property
    def runner_up_score(self) -> float:
        """Its part in the score of the runner-up."""
        return self.value * self.runner_up_weight

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "feature": self.feature,
            "index": self.index,
            "value": self.value,
            "weight": self.weight,
            "runner_up_weight": self.runner_up_weight,
            "score": self.score,
            "runner_up_score": self.runner_up_score,
            "contribution": self.contribution,
        }


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
        from multimargin.inspection._plots import plot_explanation

        return plot_explanation(self, ax)

    def __str__(self) -> str:
        label, runner_up = elided(str(self.label), 60), elided(str(self.runner_up), 60)
        head = (
            f"{label}  {self.score:+.4f}, {self.standing} {runner_up}  "
            f"{self.runner_up_score:+.4f} by {abs(self.difference):.4f}"
        )
        if not self.n_known:
            head += f"\n{self._nothing_known()}"
        rows = [[elided(name, 40), *map(_signed, numbers)] for name, *numbers in self._rows()]
        titles = ["feature", elided(str(self.label)), elided(str(self.runner_up)), "difference"]
        return f"{head}\n{text_table(titles, rows)}"

    def _repr_html_(self) -> str:
        rows = [[name, *map(_signed, numbers)] for name, *numbers in self._rows()]
        titles = ["feature", str(self.label), str(self.runner_up), "difference"]
        caption = f"{self.label}, {self.standing} {self.runner_up} by {abs(self.difference):.4f}"
        if not self.n_known:
            caption += f". {self._nothing_known()}"
        return html_table(titles, rows, caption)

    def _nothing_known(self) -> str:
        return "No feature of this sample is known to the model: the intercepts alone decide."

    def _rows(self) -> Iterator[tuple[str, float, float, float]]:
        for c in self.contributions:
            yield c.feature, c.score, c.runner_up_score, c.contribution
        if self.n_rest:
            name = "1 other feature" if self.n_rest == 1 else f"{self.n_rest:,} other features"
            yield self._row(name, self.rest_part)
        yield self._row("intercept", self.intercept_part)
        yield self._row("sum", Part(self.score, self.runner_up_score))

    @staticmethod
    def _row(name: str, part: Part) -> tuple[str, float, float, float]:
        return name, part.score, part.runner_up_score, part.contribution


def _signed(number: float) -> str:
    return f"{number:+.4f}"
