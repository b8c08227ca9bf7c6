"""Lee-Lin-Wahba reaches its optimum by every solver, and says truthfully how near it is."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC
from tests.reference.llw import llw_primal, solve_llw_qp
from tests.reference.ww import box_of, dense, solve_binary_hinge, weights_of, with_intercept
from tests.support.certificate import check_history, check_optimum, check_reported
from tests.support.tiny_problems import integer_problems, labels, many_classes_problem, tiny_problem

SOLVERS = ["block", "alternating", "extrapolated"]
TIGHT = {"formulation": "llw", "tol": 1e-6, "max_iter": 10**6, "random_state": 0}


def tol_for(C):
    """What is asked of the sample blocks; at C = 1e4 nearly all variables are free."""
    return 1e-6 if C <= 1.0 else 1e-4 if C <= 100.0 else 1e-2


def blobs(seed, n=60, d=6, n_classes=4):
    """Overlapping classes, off the origin so that the intercept has work."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n, n_classes)
    return rng.standard_normal((n, d)) + rng.standard_normal((n_classes, d))[y] + 0.5, y


def check_tiny(model, problem, rel=1e-9):
    W = weights_of(model, problem.scaling)
    primal = llw_primal(W, problem.A, problem.y, problem.box)
    reference = solve_llw_qp(problem.A, problem.y, problem.box, problem.n_classes)
    check_optimum(model, W, primal, reference, rel)
    if problem.n_classes > 2:
        # Weights are what is left of sums of alpha x, which may be as large as all boxes full.
        largest = problem.box.sum() * np.abs(problem.A).max()
        atol = 10.0 * np.finfo(model.coef_.dtype).eps * max(1.0, largest)
        np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=atol)


@pytest.mark.parametrize("number", range(60))
def test_optimum_of_tiny_problems(number):
    problem = tiny_problem(number)
    model = MulticlassSVC(**{**TIGHT, "tol": tol_for(problem.C), **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problem=integer_problems())
def test_optimum_of_generated_problems(problem):
    model = MulticlassSVC(**{**TIGHT, "tol": 1e-5, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem)


@pytest.mark.parametrize("number", range(60, 84))
def test_optimum_in_float32(number):
    problem = tiny_problem(number, np.float32, C=[0.01, 1.0, 5.0][number % 3])
    model = MulticlassSVC(**{**TIGHT, "tol": 1e-3, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    assert model.coef_.dtype == np.float32
    # Single precision sums these rows to about 1e-6; 1e-4 leaves room and catches a wrong sum.
    check_tiny(model, problem, rel=1e-4)


@pytest.mark.parametrize("number", range(84, 104))
@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_other_solvers_reach_the_same_optimum(number, solver):
    """With the mean vector fixed between reductions, steps are short: C and tol are moderate."""
    problem = tiny_problem(number, C=[0.01, 0.1, 1.0][number % 3])
    model = MulticlassSVC(solver=solver, **{**TIGHT, "tol": 1e-2, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem)


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_other_solvers_in_float32(solver):
    problem = tiny_problem(105, np.float32, C=1.0)
    model = MulticlassSVC(solver=solver, **{**TIGHT, "tol": 1e-2, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem, rel=1e-4)


def test_extrapolation_reaches_a_tight_tolerance():
    X, y = blobs(1)
    fits = [
        MulticlassSVC(solver=solver, **{**TIGHT, "tol": 1e-5}).fit(X, y)
        for solver in ["block", "extrapolated"]
    ]
    reference = solve_llw_qp(with_intercept(X), y, box_of(y, 1.0))
    for model in fits:
        W = weights_of(model)
        primal = llw_primal(W, with_intercept(X), y, box_of(y, 1.0))
        check_optimum(model, W, primal, reference)


def test_auto_is_the_block_solver():
    X, y = blobs(2)
    auto, block = (MulticlassSVC("llw", solver=s, random_state=0) for s in ["auto", "block"])
    np.testing.assert_array_equal(auto.fit(X, y).coef_, block.fit(X, y).coef_)


def test_the_solvers_take_different_ways():
    X, y = blobs(3)
    fits = [MulticlassSVC("llw", solver=s, tol=0.1, random_state=0).fit(X, y) for s in SOLVERS]
    coefs = {model.coef_.tobytes() for model in fits}
    assert len(coefs) == 3, "an option changed nothing"


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_the_number_of_reductions_matters_on_the_way_only(solver):
    X, y = blobs(4)
    fits = [
        MulticlassSVC(
            "llw", solver=solver, n_reductions=r, tol=0.05, max_iter=10**5, random_state=0
        ).fit(X, y)
        for r in [1, 40]
    ]
    assert fits[0].coef_.tobytes() != fits[1].coef_.tobytes(), "the option changed nothing"
    for model in fits:
        assert model.converged_
        assert model.dual_objective_ <= fits[0].primal_objective_ * (1.0 + 1e-9)
        assert model.primal_objective_ >= fits[0].dual_objective_ * (1.0 - 1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_are_the_binary_machine_at_half_the_penalty(C, fit_intercept):
    """w_1 = -w_0 = v and coef_ = w_1 - w_0: twice the hinge machine's v at C / 2."""
    X, y = blobs(5, n_classes=2)
    model = MulticlassSVC(C=C, fit_intercept=fit_intercept, **TIGHT).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert np.shape(model.intercept_) == (1,)
    A = with_intercept(X) if fit_intercept else X
    v, objective = solve_binary_hinge(A, 2.0 * y - 1.0, box_of(y, 0.5 * C))
    assert model.primal_objective_ == pytest.approx(2.0 * objective, rel=2e-6)
    scores = 2.0 * A @ v
    atol = 2e-2 * np.abs(scores).max()
    np.testing.assert_allclose(model.decision_function(X), scores, atol=atol)


@pytest.mark.parametrize("solver", SOLVERS)
def test_small_penalty_is_all_at_the_bound(solver):
    """Nothing to decide: w_c = C (sum of own rows - sum of all rows / K), after few passes."""
    X, y = blobs(6)
    C = 1e-5
    model = MulticlassSVC(C=C, solver=solver, **TIGHT).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ <= (5 if solver == "block" else 30)
    A = with_intercept(X)
    closed = C * np.array([A[y == c].sum(axis=0) - A.sum(axis=0) / 4.0 for c in range(4)])
    np.testing.assert_allclose(weights_of(model), closed, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 8])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_large_penalty_finishes(n_classes, fit_intercept):
    """Overlapping classes at C = 1e4, where nearly every variable is free."""
    X, y = blobs(7, n=80, d=10, n_classes=n_classes)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = MulticlassSVC(C=1e4, fit_intercept=fit_intercept, **{**TIGHT, "tol": 1e-3})
    model.set_params(time_limit=20.0).fit(X, y)
    A = with_intercept(X) if fit_intercept else X
    box = box_of(y, 1e4)
    W = weights_of(model)
    check_optimum(model, W, llw_primal(W, A, y, box), solve_llw_qp(A, y, box))


def test_large_penalty_with_more_features_than_samples():
    """Everything can be separated, and most constraints end up active."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((25, 60)), labels(rng, 25, 4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = MulticlassSVC(C=1e4, **{**TIGHT, "tol": 1e-4}, time_limit=20.0).fit(X, y)
    A, box = with_intercept(X), box_of(y, 1e4)
    W = weights_of(model)
    check_optimum(model, W, llw_primal(W, A, y, box), solve_llw_qp(A, y, box))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_integer_weights_are_repetitions(n_classes):
    X, y = blobs(9, n_classes=n_classes)
    weight = np.random.default_rng(9).integers(0, 4, size=len(y))
    weight[:n_classes] = 2  # no class vanishes
    weighted = MulticlassSVC(**TIGHT).fit(X, y, sample_weight=weight)
    repeated = MulticlassSVC(**TIGHT).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-6)
    distance = 0.5 * np.sum((weights_of(weighted) - weights_of(repeated)) ** 2)
    # Each is within sqrt(2 * gap) of the one optimum, so the two are within twice that.
    assert distance <= 4.0 * TIGHT["tol"] * weighted.primal_objective_ * 1.01


@pytest.mark.parametrize("solver", SOLVERS)
def test_balanced_class_weights(solver):
    rng = np.random.default_rng(10)
    y = np.concatenate([[1, 2, 2], np.zeros(27, dtype=int)])
    X = rng.standard_normal((30, 5)) + np.eye(3, 5)[y]
    options = {**TIGHT, "tol": 1e-6 if solver == "block" else 1e-2}
    model = MulticlassSVC(class_weight="balanced", solver=solver, **options).fit(X, y)
    box = box_of(y, 1.0, class_weight=30.0 / (3.0 * np.bincount(y)))
    W, A = weights_of(model), with_intercept(X)
    check_optimum(model, W, llw_primal(W, A, y, box), solve_llw_qp(A, y, box))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_samples_that_are_all_empty(solver, n_classes):
    """Without features or intercept every gradient is 1: P = D = C n (K - 1) and W = 0."""
    X, y = scipy.sparse.csr_array((12, 5)), np.arange(12) % n_classes
    model = MulticlassSVC("llw", 0.5, solver=solver, fit_intercept=False).fit(X, y)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(0.5 * 12 * (n_classes - 1))
    assert model.dual_objective_ == pytest.approx(0.5 * 12 * (n_classes - 1))
    assert not np.any(dense(model.coef_))


@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_violation_stopping_bounds_the_gap(tol):
    """If no projected gradient exceeds tol, then P - D <= tol * sum_i u_i (K - 1)."""
    X, y = blobs(11)
    model = MulticlassSVC("llw", stopping="violation", tol=tol, max_iter=10**6, random_state=0)
    model.fit(X, y)
    assert model.converged_
    assert 0.0 <= model.violation_ <= tol
    A, box = with_intercept(X), box_of(y, 1.0)
    primal = llw_primal(weights_of(model), A, y, box)
    check_reported(model, primal)
    best = solve_llw_qp(A, y, box)[2]
    assert best * (1.0 - 1e-8) <= primal <= best + tol * len(y) * 3
    assert primal - model.dual_objective_ <= tol * len(y) * 3 * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("path", [[0.01, 0.1, 1.0, 3.0], [3.0, 1.0, 0.1, 0.01]])
def test_warm_start_along_a_path(solver, path):
    X, y = blobs(12)
    options = {**TIGHT, "solver": solver, "tol": 1e-4 if solver == "block" else 1e-2}
    warm = MulticlassSVC(warm_start=True, **options)
    A = with_intercept(X)
    for C in path:
        warm.set_params(C=C).fit(X, y)
        cold = MulticlassSVC(C=C, **options).fit(X, y)
        reference = solve_llw_qp(A, y, box_of(y, C))
        for model in [warm, cold]:
            W = weights_of(model)
            check_optimum(model, W, llw_primal(W, A, y, box_of(y, C)), reference)


def test_warm_start_from_the_solution_has_nothing_to_do():
    X, y = blobs(13)
    model = MulticlassSVC(warm_start=True, **{**TIGHT, "tol": 1e-4}).fit(X, y)
    cold, before = model.n_iter_, model.primal_objective_
    model.fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 1 < cold
    assert model.primal_objective_ == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("before", ["ww", "ovr"])
def test_a_warm_start_from_another_formulation_is_a_cold_one(before):
    """Their dual variables mean other things."""
    X, y = blobs(14)
    model = MulticlassSVC(before, warm_start=True, random_state=0).fit(X, y)
    model.set_params(formulation="llw", tol=1e-5).fit(X, y)
    W, A, box = weights_of(model), with_intercept(X), box_of(y, 1.0)
    check_optimum(model, W, llw_primal(W, A, y, box), solve_llw_qp(A, y, box))
    back = model.set_params(formulation=before, tol=0.01).fit(X, y)
    cold = MulticlassSVC(before, random_state=0).fit(X, y)
    assert back.converged_
    assert back.primal_objective_ == pytest.approx(cold.primal_objective_, rel=0.02)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 40])
def test_same_bits_for_any_number_of_threads(dtype, solver, n_classes):
    X, y = many_classes_problem()
    X, y = X.astype(dtype), y % n_classes
    options = {"solver": solver, "tol": 0.05, "max_iter": 60, "random_state": 3}
    with warnings.catch_warnings():
        # The alternation need not arrive: the way must be the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [MulticlassSVC("llw", n_jobs=j, **options).fit(X, y) for j in [1, 2, 4]]
    for other in fits[1:]:
        assert np.array_equal(dense(fits[0].coef_), dense(other.coef_))
        assert np.array_equal(fits[0].intercept_, other.intercept_)
        assert fits[0].n_iter_ == other.n_iter_
        assert fits[0].dual_objective_ == other.dual_objective_


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_same_bits_for_any_number_of_threads_on_dense_rows(C):
    X, y = blobs(15, n=300, d=20, n_classes=5)
    options = {"tol": 0.01, "max_iter": 300, "random_state": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [MulticlassSVC("llw", C, n_jobs=j, **options).fit(X, y) for j in [1, 2, 4]]
    for other in fits[1:]:
        assert np.array_equal(fits[0].coef_, other.coef_)
        assert fits[0].dual_objective_ == other.dual_objective_


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_history_tells_the_run(C, n_classes):
    X, y = blobs(16, n_classes=n_classes)
    check_history(MulticlassSVC(C=C, **TIGHT).fit(X, y))


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
def test_history_of_the_other_solvers_does_not_fall_either(solver):
    """Exact steps at a fixed mean vector and safeguarded extrapolation both keep the dual."""
    X, y = blobs(17)
    check_history(MulticlassSVC("llw", solver=solver, tol=0.01, random_state=0).fit(X, y))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("limit", [{"time_limit": 1e-6}, {"max_iter": 1}])
def test_stopped_early_warns_with_numbers_and_leaves_a_model(solver, limit):
    X, y = blobs(18)
    model = MulticlassSVC("llw", 100.0, solver=solver, tol=1e-12, random_state=0, **limit)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    (message,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert next(iter(limit)) in message, "the message must name the remedy"
    assert f"{model.dual_gap_:.3g}" in message
    assert "1e-12" in message
    assert not model.converged_
    check_reported(model, llw_primal(weights_of(model), with_intercept(X), y, box_of(y, 100.0)))


def test_converged_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MulticlassSVC("llw", time_limit=600.0).fit(*blobs(19))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"solver": "newton"}, ["solver", "newton", "auto", "block", "alternating"]),
        ({"solver": None}, ["solver", "None"]),
        ({"n_reductions": 5}, ["n_reductions", "5"]),
        ({"n_reductions": 5, "solver": "block"}, ["n_reductions", "5"]),
        ({"n_reductions": 0, "solver": "alternating"}, ["n_reductions", "0"]),
        ({"n_reductions": -3, "solver": "extrapolated"}, ["n_reductions", "-3"]),
        ({"n_reductions": 2.5, "solver": "alternating"}, ["n_reductions", "2.5"]),
        ({"loss": "squared_hinge"}, ["loss", "squared_hinge"]),
        ({"loss": "log"}, ["loss", "log"]),
        ({"C": -np.inf}, ["C", "-inf"]),
    ],
)
def test_options_that_do_not_apply_are_refused(options, named):
    with pytest.raises(ValueError) as error:
        MulticlassSVC("llw", **options).fit(*blobs(20))
    for word in named:
        assert word in str(error.value)
