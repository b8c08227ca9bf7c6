"""What a model keeps is never worse than what was found, and what it claims is true."""

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, TextClassifier
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def check_true(model, X, y):
    """The gap is no smaller than one that knows nothing of solvers."""
    found = model.certify(X, y)
    assert model.dual_gap_ >= found.gap - 1e-6
    assert found.gap >= -1e-7  # C is rounded to the type of the data
    return found


@pytest.mark.parametrize("bundles", [None, 2])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_that_lose_their_entries(formulation, bundles):
    rng = np.random.RandomState(0)
    X = rng.randn(60, 5)
    X[::10] = 0
    y = rng.randint(0, 3, 60)
    model = MulticlassSVC(formulation, n_bundles=bundles, random_state=0, warm_start=True)
    model.fit(X, y).set_params(fit_intercept=False).fit(X, y)
    cold = MulticlassSVC(formulation, fit_intercept=False, n_bundles=bundles, random_state=0)
    cold.fit(X, y)
    assert model.converged_
    if formulation in ("ww", "cs"):
        assert model.n_iter_ <= cold.n_iter_
    assert check_true(model, X, y).dual_recomputed


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_words_that_become_too_rare(formulation):
    texts = ["red fruit", "red car", "fast car", "sweet fruit", "sweet red", "rare", "odd"] * 2
    texts[5], texts[6] = "once", "alone"
    labels = ["food", "car", "car", "food", "food", "car", "food"] * 2
    model = TextClassifier(
        formulation=formulation, warm_start=True, fit_intercept=False, random_state=0
    )
    model.fit(texts, labels)
    model.set_params(min_df=2).fit(texts, labels)
    assert model.converged_
    check_true(model, texts, labels)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "passes"])
def test_one_vs_rest_keeps_the_best(loss, solver):
    X, y = load_digits(return_X_y=True)
    X = (16 * X[:600]).astype(np.float32)
    y = y[:600]
    model = MulticlassSVC("ovr", loss=loss, solver=solver, max_iter=700, random_state=0).fit(X, y)
    assert model.primal_objective_ <= min(h["primal"] for h in model.history_) * (1 + 1e-12)
    assert model.primal_objective_ < 10 * len(y)  # of zero weights
    check_true(model, X, y)


def test_unscaled_features_and_a_large_penalty():
    X, y = load_wine(return_X_y=True)
    model = MulticlassSVC("ovr", 1e4, random_state=0).fit(X, y)
    assert model.dual_gap_ <= min(h["gap"] for h in model.history_)
    assert check_true(model, X, y).gap < 0.01


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_single_precision_claims_no_more_than_it_has(formulation, seed):
    X = (np.random.RandomState(seed).randn(60, 120) * 100).astype(np.float32)
    y = np.arange(60) % 3
    model = MulticlassSVC(
        formulation, C=2e4, tol=1e-3, fit_intercept=False, max_iter=1000, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    check_true(model, X, y)
    assert model.converged_ == (not caught)


@pytest.mark.parametrize("bundles", [None, 3])
@pytest.mark.parametrize("C", [1e-7, 1e-4])
def test_a_tiny_budget_is_used(C, bundles):
    X, y = load_digits(return_X_y=True)
    X = (X * 1e-5).astype(np.float32)
    model = MulticlassSVC("cs", C, fit_intercept=False, n_bundles=bundles, random_state=0).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 10
    assert np.abs(model.coef_).max() > 0
    check_true(model, X, y)


# Of weights with a maximum of absolute margins, no multiple need be better than zero.
@pytest.mark.parametrize("formulation", sorted({*FORMULATIONS} - {"adm", "atm"}))
def test_a_run_of_one_pass_is_better_than_zero(formulation):
    X, y = load_digits(return_X_y=True)
    model = MulticlassSVC(formulation, 10.0, max_iter=1, warm_start=True, random_state=0).fit(X, y)
    zero = copy.deepcopy(model)
    zero.coef_, zero.intercept_ = 0 * zero.coef_, 0 * zero.intercept_
    assert model.primal_objective_ < zero.certify(X, y).primal
    assert model.score(X, y) > 0.5
    check_true(model, X, y)


def many_classes(n=3000, k=2000):
    X = sp.random(n, 4000, density=0.003, format="csr", dtype=np.float32, random_state=0)
    return X, np.arange(n) % k


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_a_time_limit_that_is_over_at_once(formulation):
    X, y = many_classes()
    model = MulticlassSVC(formulation, time_limit=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="All weights are zero"):
        model.fit(X, y)
    assert not model.coef_.any() if isinstance(model.coef_, np.ndarray) else model.coef_.nnz == 0
    assert model.dual_gap_ == 1.0
    check_true(model, X, y)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_a_scan_is_given_up_when_it_takes_too_long(formulation, monkeypatch):
    """It had no time to end: the certificate before it counts."""
    monkeypatch.setattr(ActiveSetSolver, "_seconds_to_overtime", lambda self: 0.0)
    X, y = many_classes()
    model = MulticlassSVC(formulation, time_limit=600.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.dual_gap_ == 1.0


def test_a_dual_above_the_primal_is_a_bug():
    X, y = many_classes(n=60, k=20)
    problem = Problem(X.astype(np.float64), y.astype(np.int32), np.ones(60), 20, 0.0, "ww")
    solver = ActiveSetSolver(problem, GapStopping(0.1), Limits(10))
    with pytest.raises(RuntimeError, match="internal error"):
        solver._certified(1.0, 1.0 + 1e-8, 0.0, 0)
    assert solver._certified(1.0, 1.0 + 1e-12, 0.0, 0).gap == 0.0
