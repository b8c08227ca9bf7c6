"""`solver="passes"` and `shrinking`: other ways to the same optimum, and that they are others."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import load_iris

from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text
from multimargin.formulations import FORMULATIONS
from multimargin.solvers.rows._newton import Newton

TIGHT: dict[str, Any] = {"tol": 1e-6, "random_state": 0, "max_iter": 1_000_000}


@pytest.fixture(scope="module")
def text() -> tuple[Any, Any]:
    return make_hierarchical_text(600, 1500, 80, random_state=0, dtype=np.float64)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_passes_alone_reach_the_same_optimum(formulation: str) -> None:
    X, y = load_iris(return_X_y=True)
    auto = MulticlassSVC(formulation, **TIGHT).fit(X, y)
    with patch.object(Newton, "step", side_effect=AssertionError("a Newton step")):
        passes = MulticlassSVC(formulation, solver="passes", **TIGHT).fit(X, y)
    assert passes.converged_
    assert passes.dual_objective_ == pytest.approx(auto.dual_objective_, rel=2e-6)


def test_passes_need_more_where_others_accelerate() -> None:
    X, y = load_iris(return_X_y=True)
    options = {"C": 10.0, **TIGHT}
    auto = MulticlassSVC("ww", **options).fit(X, y)
    passes = MulticlassSVC("ww", solver="passes", **options).fit(X, y)
    assert passes.n_iter_ > 2 * auto.n_iter_


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_without_shrinking_the_optimum_is_the_same(formulation: str, text: Any) -> None:
    models = [
        MulticlassSVC(formulation, shrinking=shrinking, **TIGHT).fit(*text)
        for shrinking in (True, False)
    ]
    assert all(model.converged_ for model in models)
    one, other = (model.dual_objective_ for model in models)
    assert one == pytest.approx(other, rel=2e-6)
    # Not an option that does nothing: other visits, so other last digits.
    assert not np.array_equal(*(np.asarray(_dense(model)) for model in models))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_without_shrinking_threads_keep_the_bits(formulation: str, text: Any) -> None:
    one, two = (
        MulticlassSVC(formulation, shrinking=False, n_jobs=jobs, random_state=0).fit(*text)
        for jobs in (1, 2)
    )
    assert np.array_equal(_dense(one), _dense(two))


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_alternation_without_shrinking(solver: str, text: Any) -> None:
    options = {"solver": solver, "tol": 1e-3, "random_state": 0}
    models = [
        MulticlassSVC("llw", shrinking=shrinking, **options).fit(*text)
        for shrinking in (True, False)
    ]
    one, other = (model.dual_objective_ for model in models)
    assert one == pytest.approx(other, rel=2e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_alternation_without_shrinking_visits_others(solver: str, text: Any) -> None:
    options = {"C": 100.0, "solver": solver, "tol": 1e-3, "max_iter": 60, "random_state": 0}
    one, other = (
        MulticlassSVC("llw", shrinking=shrinking, **options).fit(*text)
        for shrinking in (True, False)
    )
    assert not np.array_equal(_dense(one), _dense(other))


def test_bad_values() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"shrinking must be True or False, got 'no'"):
        MulticlassSVC(shrinking="no").fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"solver must be 'auto' or 'passes'"):
        MulticlassSVC("ww", solver="block").fit(X, y)


def _dense(model: MulticlassSVC) -> Any:
    coef = model.coef_
    return coef if isinstance(coef, np.ndarray) else coef.toarray()
