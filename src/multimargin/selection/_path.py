"""Models of the same samples for rising values of C."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike
from sklearn.base import clone

from multimargin.estimator._splits import checked_labels
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.models._arguments import whole_number
from multimargin.selection._grid import checked_penalties, default_penalties
from multimargin.selection._measure import HeldOut, MeasureName, measure_named
from multimargin.selection._regularization_path import PathPoint, RegularizationPath, best_point
from multimargin.selection._warm_fits import WarmFit, WarmFits


def path(
    X: Any,
    y: ArrayLike,
    Cs: Any = None,
    *,
    estimator: MulticlassSVC | None = None,
    sample_weight: ArrayLike | None = None,
    validation: tuple[Any, ArrayLike] | None = None,
    measure: MeasureName = "error",
    top_k: int = 5,
    keep: Literal["all", "best", "none"] | None = None,
    **parameters: Any,
) -> RegularizationPath:
    """Fit the same samples for several values of C, each fit from the one before.

    Every model is as exact as one fitted by itself: its duality gap is at most ``tol``. The samples
    are checked, and made features of, once.

    Parameters
    ----------
    X, y
        Training samples and labels, as the estimator's ``fit`` takes them.
    Cs : sequence of float or None, default=None
        In any order; models are fitted from the smallest C to the largest. None: ten values that
        depend on formulation and number of classes, see `multimargin.selection.default_penalties`.
    estimator : MulticlassSVC or None, default=None
        Whose parameters count, a `TextClassifier` for example; it is not changed. None: a
        `MulticlassSVC`.
    sample_weight : array-like of shape (n_samples,), default=None
    validation : tuple (X, y) or None, default=None
        Samples that the models are measured on.
    measure : {"error", "mean-cost", "micro-f1", "macro-f1", "top-k"}, default="error"
        Which model is the best one, for `keep`.
    top_k : int, default=5
        The top-k accuracy counts labels among the `top_k` best.
    keep : {"all", "best", "none"} or None, default=None
        Which models the result holds; a dense model of many classes takes gigabytes. None: the best
        one if there are validation samples, otherwise all.
    **parameters
        Further parameters of the estimator: ``formulation="cs"``, ``tol=0.001``, ``n_jobs=-1``.

    Returns
    -------
    path : RegularizationPath

    Examples
    --------
    >>> import multimargin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = multimargin.path(
    ...     X[::2], y[::2], [0.01, 0.1, 1], validation=(X[1::2], y[1::2]), random_state=0
    ... )
    >>> [point.C for point in found]
    [0.01, 0.1, 1.0]
    >>> all(point.gap <= 0.01 for point in found)
    True
    >>> found.best().model.score(X[1::2], y[1::2]) > 0.9
    True
    """
    template = clone(MulticlassSVC() if estimator is None else estimator)
    template.set_params(**parameters)
    measure_named(measure)
    top_k = whole_number("top_k", top_k, 1)
    if keep is None:
        keep = "all" if validation is None else "best"
    if keep not in ("all", "best", "none"):
        raise ValueError(f"keep must be 'all', 'best', 'none' or None, got {keep!r}")
    if keep == "best" and validation is None:
        raise ValueError("keep='best' needs validation=(X, y) to know which model is the best")
    given = None if Cs is None else checked_penalties(Cs)
    test = None
    if validation is not None:
        test = HeldOut(validation[0], checked_labels(*validation, "validation"), top_k)
    fits = WarmFits(template, X, y, sample_weight)
    points: list[PathPoint] = []
    for fit in fits.along(given or default_penalties(template.formulation, len(fits.classes))):
        points.append(point_of(fit, None if test is None else test.measured(fit.model)))
        if keep == "none" or (
            keep == "best" and best_point(tuple(points), measure) is not points[-1]
        ):
            points[-1] = replace(points[-1], model=None)
        elif keep == "best":
            points[:-1] = [replace(point, model=None) for point in points[:-1]]
    return RegularizationPath(template.formulation, tuple(points))


def point_of(fit: WarmFit, scores: dict[str, Any] | None) -> PathPoint:
    """Return the point of a path that a fit makes."""
    model = fit.model
    return PathPoint(
        C=FORMULATIONS[model.formulation].penalty(model.C, model.loss),
        objective=float(model.primal_objective_),
        dual_objective=float(model.dual_objective_),
        gap=float(model.dual_gap_),
        converged=bool(model.converged_),
        passes=int(model.n_iter_),
        seconds=fit.seconds,
        density=float(model.model_density_),
        support=fit.support,
        measures=scores,
        model=model,
    )
