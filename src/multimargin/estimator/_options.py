"""Are the parameters of an estimator what they may be?"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from multimargin.formulations import FORMULATIONS
from multimargin.parallel._partition import MOST_BUNDLES
from multimargin.solvers._registry import SOLVERS
from multimargin.solvers._stopping import STOPPINGS

_LOSSES = ("hinge", "squared_hinge")


def check_parameters(estimator: Any) -> None:
    """Raise ValueError, with the name and what is allowed, at the first that is not right."""
    _check_formulation(estimator)
    _check_numbers(estimator)
    _check_choices(estimator)
    estimator._check_more()


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer of at least `least`, or a ValueError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def _require(estimator: Any, ok: bool, name: str, allowed: str) -> None:
    if not ok:
        raise ValueError(f"{name} must be {allowed}, got {getattr(estimator, name)!r}")


def _number(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:  # an integer of hundreds of digits
        return False


def _whole(value: object) -> bool:
    """Whether it is an integer of at least 1."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _one_of(estimator: Any, name: str, allowed: Any, where: str = "") -> None:
    value = getattr(estimator, name)
    names = " or ".join(repr(one) for one in allowed)
    _require(estimator, isinstance(value, str) and value in allowed, name, names + where)


def _check_formulation(estimator: Any) -> None:
    """The formulation, and what has a meaning for some only."""
    _one_of(estimator, "formulation", FORMULATIONS)
    formulation = FORMULATIONS[estimator.formulation]
    where = f" for formulation={estimator.formulation!r}"
    _one_of(estimator, "loss", _LOSSES)
    _one_of(estimator, "loss", formulation.offered_losses, where)
    solvers = SOLVERS[estimator.formulation]
    _one_of(estimator, "solver", solvers, where)
    _require(
        estimator,
        _whole(estimator.n_reductions) and estimator.n_reductions <= 10**6,
        "n_reductions",
        "an integer between 1 and 1,000,000",
    )
    # A value that would do nothing is refused.
    takes = solvers[estimator.solver].takes_reductions
    where += f", solver={estimator.solver!r}"
    _require(
        estimator, takes or estimator.n_reductions == 10, "n_reductions", "10, the default," + where
    )
    if formulation.hard_margin:
        ok, allowed = _number(estimator.C) and estimator.C > 0, "a positive number or infinity"
    else:
        ok, allowed = (
            _number(estimator.C) and 0 < estimator.C < np.inf,
            "a positive finite number" + f" for formulation={estimator.formulation!r}",
        )
    _require(estimator, ok, "C", allowed)


def _check_numbers(estimator: Any) -> None:
    for name in ("tol", "intercept_scaling"):
        value = getattr(estimator, name)
        _require(estimator, _number(value) and 0 < value < np.inf, name, "a positive finite number")
    _require(
        estimator,
        _whole(estimator.max_iter),
        "max_iter",
        "an integer of at least 1",
    )
    _require(
        estimator,
        estimator.n_bundles is None
        or (_whole(estimator.n_bundles) and estimator.n_bundles <= MOST_BUNDLES),
        "n_bundles",
        f"None or an integer between 1 and {MOST_BUNDLES:,}",
    )
    limit = estimator.time_limit
    _require(
        estimator,
        limit is None or (_number(limit) and limit > 0),
        "time_limit",
        "None or a positive number of seconds",
    )


def _check_choices(estimator: Any) -> None:
    for name in ("fit_intercept", "warm_start", "shrinking"):
        value = getattr(estimator, name)
        _require(estimator, isinstance(value, (bool, np.bool_)), name, "True or False")
    _require(
        estimator,
        isinstance(estimator.verbose, (Integral, np.bool_)),
        "verbose",
        "an integer: 0 for silence",
    )
    _one_of(estimator, "stopping", STOPPINGS)
    sparse = estimator.sparse_coef
    _require(
        estimator,
        isinstance(sparse, (bool, np.bool_)) or (isinstance(sparse, str) and sparse == "auto"),
        "sparse_coef",
        "True, False or 'auto'",
    )
    weight = estimator.class_weight
    _require(
        estimator,
        weight is None
        or (isinstance(weight, str) and weight == "balanced")
        or isinstance(weight, Mapping),
        "class_weight",
        "None, 'balanced' or a dict of class to weight",
    )
