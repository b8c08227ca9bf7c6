"""Lee-Lin-Wahba: its solvers, their options, and penalties that leave nearly all variables free."""

import numpy as np
import pytest

from multimargin import MulticlassSVC
from tests.reference.cases import Case
from tests.reference.ww import box_of, weights_of
from tests.support.tiny_problems import blobs, labels, tiny_problem

LLW = Case("llw")


def test_extrapolation_reaches_a_tight_tolerance():
    X, y = blobs(1, n=40)
    model = Case("llw", solver="extrapolated").model(tol=1e-5).fit(X, y)
    LLW.check_optimum(model, X, y, box_of(y, 1.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [61, 62, 63, 65, 66, 67])  # of more than two classes
def test_weights_sum_to_zero(number, dtype):
    problem = tiny_problem(number, dtype, C=1.0)
    model = LLW.model(tol=1e-3, **problem.options)
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    # Weights are what is left of sums of alpha x, which may be as large as all boxes full.
    largest = problem.box.sum() * np.abs(problem.A).max()
    atol = 10.0 * np.finfo(dtype).eps * max(1.0, largest)
    np.testing.assert_allclose(weights_of(model, problem.scaling).sum(axis=0), 0.0, atol=atol)


def test_auto_is_the_block_solver():
    X, y = blobs(2)
    auto, block = (MulticlassSVC("llw", solver=s, random_state=0) for s in ["auto", "block"])
    np.testing.assert_array_equal(auto.fit(X, y).coef_, block.fit(X, y).coef_)


def test_the_solvers_take_different_ways():
    X, y = blobs(3)
    solvers = ["block", "alternating", "extrapolated"]
    fits = [MulticlassSVC("llw", solver=s, tol=0.1, random_state=0).fit(X, y) for s in solvers]
    assert len({model.coef_.tobytes() for model in fits}) == 3, "an option changed nothing"


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_the_number_of_reductions_matters_on_the_way_only(solver):
    X, y = blobs(4)
    case = Case("llw", solver=solver)
    fits = [case.model(n_reductions=r, tol=0.05).fit(X, y) for r in [1, 40]]
    assert fits[0].coef_.tobytes() != fits[1].coef_.tobytes(), "the option changed nothing"
    for model in fits:
        assert model.converged_
        assert model.dual_objective_ <= fits[0].primal_objective_ * (1.0 + 1e-9)
        assert model.primal_objective_ >= fits[0].dual_objective_ * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("solver", "reductions"),
    [("block", 5), ("alternating", 0), ("extrapolated", -3), ("alternating", 2.5)],
)
def test_wrong_numbers_of_reductions(solver, reductions):
    with pytest.raises(ValueError, match=f"n_reductions must be .*got {reductions}"):
        MulticlassSVC("llw", solver=solver, n_reductions=reductions).fit(*blobs(20))


@pytest.mark.parametrize("n_classes", [3, 8])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_large_penalty_finishes(n_classes, fit_intercept):
    """Overlapping classes at C = 1e4, where nearly every variable is free."""
    X, y = blobs(7, n=60, d=10, n_classes=n_classes)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = LLW.model(C=1e4, fit_intercept=fit_intercept, tol=1e-3, time_limit=20.0).fit(X, y)
    LLW.check_optimum(model, X, y, box_of(y, 1e4))


def test_large_penalty_with_more_features_than_samples():
    """Everything can be separated, and most constraints end up active."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((25, 60)), labels(rng, 25, 4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = LLW.model(C=1e4, tol=1e-4, time_limit=20.0).fit(X, y)
    LLW.check_optimum(model, X, y, box_of(y, 1e4))
