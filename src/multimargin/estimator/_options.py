"""The parameters of an estimator, checked and in the types that training uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np

from multimargin.formulations import FORMULATIONS
from multimargin.models._arguments import (
    is_number,
    is_whole,
    require,
    require_flags,
    require_one_of,
)
from multimargin.parallel._partition import MOST_BUNDLES
from multimargin.solvers._registry import SOLVERS
from multimargin.solvers._stopping import STOPPINGS

# NumPy's numbers are given, too, and truth values as numbers.
_TYPES: dict[str, type] = {
    "tol": float,
    **dict.fromkeys(("n_reductions", "max_iter", "n_bundles", "verbose"), int),
    **dict.fromkeys(("warm_start", "shrinking"), bool),
}


@dataclass(frozen=True)
class FitOptions:
    """Parameters of one fit, made by `checked_options`.

    Named as in `MulticlassSVC`, but for `bias`: the value of the constant feature, 0 for none, and
    `free_intercept`: whether its weights are not regularised. `C` is a number also where none is
    given.
    """

    formulation: str
    C: float
    loss: str
    solver: str
    n_reductions: int
    tol: float
    stopping: str
    max_iter: int
    bias: float
    free_intercept: bool
    class_weight: Mapping[Any, float] | str | None
    label_cost: Any
    n_jobs: int | None
    warm_start: bool
    sparse_coef: bool | str
    random_state: int | np.random.RandomState | None
    verbose: int
    time_limit: float | None
    n_bundles: int | None
    shrinking: bool


def checked_options(estimator: Any) -> FitOptions:
    """The parameters of an estimator, or a ValueError at the first that is not valid."""
    _check_formulation(estimator)
    _check_numbers(estimator)
    _check_choices(estimator)
    if _is_free(estimator):
        _check_free_intercept(estimator)
    estimator._check_more()
    bias = float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0
    own = ("C", "bias", "free_intercept")
    names = [each.name for each in fields(FitOptions) if each.name not in own]
    given = {name: getattr(estimator, name) for name in names}
    for name, kind in _TYPES.items():
        given[name] = None if given[name] is None else kind(given[name])
    C = FORMULATIONS[estimator.formulation].penalty(estimator.C, estimator.loss)
    return FitOptions(C=C, bias=bias, free_intercept=_is_free(estimator), **given)


def _check_formulation(estimator: Any) -> None:
    """Check the formulation, and the parameters that only some formulations use."""
    require_one_of(estimator, "formulation", FORMULATIONS)
    formulation = FORMULATIONS[estimator.formulation]
    where = f" for formulation={estimator.formulation!r}"
    require_one_of(estimator, "loss", ("hinge", "squared_hinge"))
    require_one_of(estimator, "loss", formulation.offered_losses, where)
    solvers = SOLVERS[estimator.formulation]
    require_one_of(estimator, "solver", solvers, where)
    count, C = estimator.n_reductions, estimator.C
    allowed = "an integer between 1 and 1,000,000"
    require(estimator, is_whole(count) and count <= 10**6, "n_reductions", allowed)
    # A value that would do nothing is refused.
    allowed = f"10, the default,{where}, solver={estimator.solver!r}"
    takes = solvers[estimator.solver].takes_reductions
    require(estimator, takes or count == 10, "n_reductions", allowed)
    ok = formulation.label_costs or estimator.label_cost is None
    require(estimator, ok, "label_cost", "None" + where)
    if formulation.hard_margin:
        ok = C is None or (is_number(C) and C > 0)
        require(estimator, ok, "C", "None, a positive number or infinity")
    else:
        ok = C is None or (is_number(C) and 0 < C < np.inf)
        require(estimator, ok, "C", "None or a positive finite number" + where)


def _check_numbers(estimator: Any) -> None:
    for name in ("tol", "intercept_scaling"):
        ok = is_number(value := getattr(estimator, name)) and 0 < value < np.inf
        require(estimator, ok, name, "a positive finite number")
    require(estimator, is_whole(estimator.max_iter), "max_iter", "an integer of at least 1")
    bundles, limit = estimator.n_bundles, estimator.time_limit
    ok = bundles is None or (is_whole(bundles) and bundles <= MOST_BUNDLES)
    require(estimator, ok, "n_bundles", f"None or an integer between 1 and {MOST_BUNDLES:,}")
    ok = limit is None or (is_number(limit) and limit > 0)
    require(estimator, ok, "time_limit", "None or a positive number of seconds")


def _is_free(estimator: Any) -> bool:
    return isinstance(estimator.fit_intercept, str) and estimator.fit_intercept == "free"


def _check_free_intercept(estimator: Any) -> None:
    where = " with fit_intercept='free'; or use fit_intercept=True and a large intercept_scaling"
    able = [name for name, formulation in FORMULATIONS.items() if formulation.sparse_dual]
    require_one_of(estimator, "formulation", able, where)
    require_one_of(estimator, "stopping", ["gap"], where)
    require(estimator, estimator.n_bundles is None, "n_bundles", "None" + where)
    ok = estimator.intercept_scaling == 1
    require(estimator, ok, "intercept_scaling", "1 with fit_intercept='free', which has no scale")


def _check_choices(estimator: Any) -> None:
    require_flags(estimator, "warm_start", "shrinking")
    ok = isinstance(estimator.fit_intercept, bool | np.bool_) or _is_free(estimator)
    require(estimator, ok, "fit_intercept", "True, False or 'free'")
    ok = isinstance(estimator.verbose, Integral | np.bool_)
    require(estimator, ok, "verbose", "an integer: 0 for silence")
    require_one_of(estimator, "stopping", STOPPINGS)
    sparse, weight = estimator.sparse_coef, estimator.class_weight
    ok = isinstance(sparse, bool | np.bool_) or (isinstance(sparse, str) and sparse == "auto")
    require(estimator, ok, "sparse_coef", "True, False or 'auto'")
    ok = weight is None or isinstance(weight, Mapping)
    ok = ok or (isinstance(weight, str) and weight == "balanced")
    require(estimator, ok, "class_weight", "None, 'balanced' or a dict of class to weight")
    wanted = estimator.calibration
    ok = wanted == "cv" if isinstance(wanted, str) else wanted is None or is_number(wanted)
    ok = ok and (wanted is None or isinstance(wanted, str) or 0 < wanted < 1)
    require(estimator, ok, "calibration", "None, 'cv' or a share of the samples between 0 and 1")
