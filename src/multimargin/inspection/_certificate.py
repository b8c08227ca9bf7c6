"""The distance of a model from the optimum, computed anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from multimargin.inspection._objectives import dual_objective, primal_objective
from multimargin.models._sample_keys import Samples, matched
from multimargin.models.label_sets._sets import label_sets
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, DenseAlpha


@dataclass(frozen=True)
class Certificate:
    """Two values between which the optimum lies, as `MulticlassSVC.certify` returns them.

    Attributes
    ----------
    primal : float
        Objective of the model's weights: the optimum is not above it.
    dual : float
        The optimum is not below it.
    gap : float
        ``(primal - dual) / max(|primal|, |dual|)``; 1 where the primal is infinite.
    dual_recomputed : bool
        Whether `dual` was computed from the dual variables. Otherwise it is `dual_objective_`.
    """

    primal: float
    dual: float
    gap: float
    dual_recomputed: bool


def certified(model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Certificate:
    X = list(X) if isinstance(X, Iterator) else X  # read twice
    features: Any = model._checked(X).astype(np.float64, copy=False)
    sets = label_sets(y)
    labels: Any = column_or_1d(y) if sets is None else sets
    check_consistent_length(features, labels)
    classes, problem = model._problem(features, labels, sample_weight)
    if classes.tolist() != model.classes_.tolist():
        raise ValueError(
            f"the samples have {len(classes):,} classes, which are not the {len(model.classes_):,} "
            "that the model was trained on: give the training samples"
        )
    primal = primal_objective(model.coef_, model.intercept_, problem)
    alpha = getattr(model, "_warm_alpha", None)
    if alpha is not None:
        samples = Samples.of(problem, classes, model._raw_keys(X))
        origin = _origin(alpha, model._warm_samples, samples, problem)
        dual = dual_objective(alpha, origin, problem, primal)
    elif hasattr(model, "dual_objective_"):
        dual = float(model.dual_objective_)
    else:
        raise ValueError(
            "the model has no dual objective and no dual variables: train it here, or save it "
            "with dual=True"
        )
    scale = max(abs(primal), abs(dual))
    gap = (primal - dual) / scale if 0 < scale < np.inf else float(np.isinf(scale))
    return Certificate(primal, dual, gap, alpha is not None)


def _origin(
    alpha: Alpha | DenseAlpha, before: Samples, now: Samples, problem: Problem
) -> NDArray[np.int64]:
    """Return, for each sample, its place among the samples of the dual variables."""
    origin = matched(before.keys, alpha.labels(), now.keys, problem.y)
    new, n_before = int(np.count_nonzero(origin < 0)), len(before.keys)
    if new or len(origin) != n_before:
        gone = n_before - (len(origin) - new)
        raise ValueError(
            f"these are not the training samples: {new:,} of {len(origin):,} are others, and "
            f"{gone:,} of {n_before:,} are missing (samples with other labels count as others, "
            "samples of weight zero not at all)"
        )
    return origin
