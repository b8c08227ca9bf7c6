"""RegularizationPath: the models along rising values of C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from multimargin.estimator._svc import MulticlassSVC
from multimargin.selection._measure import MeasureName, measure_named
from multimargin.selection._plots import Curve, draw


@dataclass(frozen=True)
class PathPoint:
    """The model of one C.

    Attributes
    ----------
    C : float
    objective, dual_objective : float
        The optimum lies between them.
    gap : float
        Relative duality gap.
    converged : bool
        Whether the tolerance was reached.
    passes : int
        Over the training samples, since the model of the C before.
    seconds : float
    density : float
        Share of the weights that are not zero.
    support : int or None
        Pairs of a sample and a class whose dual variable is not zero; None where these were not
        kept.
    measures : dict or None
        On the validation samples: error, micro_f1, macro_f1, top_k, top_k_accuracy, ...
    model : MulticlassSVC or None
        Where it was kept.
    """

    C: float
    objective: float
    dual_objective: float
    gap: float
    converged: bool
    passes: int
    seconds: float
    density: float
    support: int | None
    measures: Mapping[str, Any] | None = None
    model: MulticlassSVC | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers of the point, measures beside the others."""
        numbers = [each.name for each in fields(self) if each.name not in ("measures", "model")]
        return {name: getattr(self, name) for name in numbers} | dict(self.measures or {})


@dataclass(eq=False)
class RegularizationPath:
    """Models of the same samples for rising values of C, from `multimargin.path`.

    Attributes
    ----------
    formulation : str
    points : tuple of PathPoint
        In the order of C. The path itself can be iterated over, indexed and asked for its length.

    Examples
    --------
    >>> import multimargin
    >>> from sklearn.datasets import load_iris
    >>> path = multimargin.path(*load_iris(return_X_y=True), [0.1, 1], random_state=0)
    >>> len(path), path[-1].C, path[-1].model.C
    (2, 1.0, 1.0)
    """

    formulation: str
    points: tuple[PathPoint, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    def __getitem__(self, index: int) -> PathPoint:
        return self.points[index]

    def __repr__(self) -> str:
        low, high = self.points[0].C, self.points[-1].C
        return (
            f"<RegularizationPath: {self.formulation}, {len(self)} values of C from {low:g} to "
            f"{high:g}, {self.seconds:.2g} s>"
        )

    @property
    def seconds(self) -> float:
        """Time of all fits together."""
        return sum(point.seconds for point in self.points)

    def best(self, measure: MeasureName = "error") -> PathPoint:
        """Return the point that is best on the validation samples; of equals the smallest C.

        Parameters
        ----------
        measure : {"error", "mean-cost", "micro-f1", "macro-f1", "top-k"}, default="error"
        """
        return best_point(self.points, measure)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per point, as data frames take them."""
        return [point.as_dict() for point in self.points]

    def as_dict(self) -> dict[str, list[Any]]:
        """Return one list per column."""
        rows = self.rows()
        return {name: [row[name] for row in rows] for name in rows[0]}

    def plot(self, ax: Any = None, *, measure: MeasureName = "error") -> Any:
        """Draw the measure on the validation samples over C; needs matplotlib.

        Without validation samples the share of non-zero weights is drawn.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        measure : {"error", "mean-cost", "micro-f1", "macro-f1", "top-k"}, default="error"

        Returns
        -------
        ax : matplotlib Axes
        """
        asked, Cs = measure_named(measure), [point.C for point in self.points]
        known = [point.measures for point in self.points if point.measures is not None]
        if len(known) < len(Cs):
            curve = Curve(self.formulation, Cs, [point.density for point in self.points])
            return draw([curve], "share of non-zero weights", ax=ax)
        values, best = [asked.of(row) for row in known], self.best(measure)
        curve = Curve(self.formulation, Cs, values, marked=Cs.index(best.C))
        return draw([curve], asked.title.format(k=known[0]["top_k"]), ax=ax)


def best_point(points: tuple[PathPoint, ...], measure: str) -> PathPoint:
    asked = measure_named(measure)
    if not points:
        raise ValueError("the path has no points")
    if any(point.measures is None for point in points):
        raise ValueError(
            "there is nothing to choose by: give validation=(X, y) to multimargin.path"
        )
    return min(points, key=lambda point: asked.cost(asked.of(point.measures or {})))
