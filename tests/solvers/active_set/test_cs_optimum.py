"""Crammer-Singer reaches the optimum of tiny problems, and says truthfully how near it is."""

import warnings
import zlib

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text
from multimargin.solvers._solution import Alpha, Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._pass_plan import Plan, make_plan
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.estimator.test_threads import bits, dense_few_classes, sparse_many_classes
from tests.reference.cs import cs_dual, cs_kkt, cs_primal, solve_cs_qp
from tests.reference.ww import box_of, dense, solve_binary_hinge, weights_of, with_intercept
from tests.solvers.active_set.test_ww_optimum import (
    PROBLEMS,
    dense_problem,
    labels,
    scales_problem,
    sparse_problem,
    tiny_problems,
    unbalanced_problem,
)
from tests.solvers.test_kernels import dense_alpha, make_problem
from tests.support.certificate import check_reported

TIGHT = {"tol": 1e-6, "max_iter": 100_000, "random_state": 0}


def cs(**options):
    return MulticlassSVC("cs", **{**TIGHT, **options})


def check_certificate(model, X, y, box, rel=1e-9):
    """The reported objectives are those of the returned model; returns the true primal."""
    A = with_intercept(X) if model.fit_intercept else dense(X)
    primal = cs_primal(weights_of(model), A, y, box)
    check_reported(model, primal, rel)
    return primal


def check_optimum(model, X, y, box, rel=1e-9):
    """Compare with the certified QP: converged, weak duality, and within the promised gap."""
    A = with_intercept(X) if model.fit_intercept else dense(X)
    primal = check_certificate(model, X, y, box, rel)
    best_W, _, best, bound = solve_cs_qp(A, y, box, n_classes=len(model.classes_))
    slack = rel * best + 1e-8 * best
    assert model.converged_
    assert model.dual_gap_ <= model.tol
    assert model.dual_objective_ <= best + slack, "the dual must bound the optimum from below"
    assert primal >= bound - slack, "no model can be better than the optimum"
    assert primal - best <= model.tol * primal + slack
    # Strong convexity: 1/2 |W - W*|^2 <= P(W) - P(W*), for the model and the reference alike.
    reach = np.sqrt(max(0.0, primal - bound) + slack) + np.sqrt(best - bound + slack)
    assert 0.5 * np.sum((weights_of(model) - best_W) ** 2) <= reach**2
    return best


@pytest.mark.parametrize("make", PROBLEMS)
def test_the_reference_satisfies_the_optimality_conditions(make):
    X, y = make(np.random.default_rng(1), 4)
    A, box = with_intercept(X), box_of(y, 1.0)
    _, alpha, primal, dual = solve_cs_qp(A, y, box)
    assert cs_dual(alpha, A, y, box) == dual <= primal
    assert cs_kkt(alpha, A, y, box, negligible=1e-4) <= 1e-3
    assert cs_kkt(np.zeros_like(alpha), A, y, box) == pytest.approx(1.0)


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize(("C", "fit_intercept"), [(0.01, True), (1.0, False), (1.0, True)])
def test_optimum_of_tiny_problems(make, n_classes, C, fit_intercept):
    rng = np.random.default_rng(zlib.crc32(f"{make.__name__} {n_classes}".encode()))
    X, y = make(rng, n_classes)
    # Columns of length 0.01 to 10: coordinates get on slowly, slower than with WW's boxes.
    tol = 1e-3 if make is scales_problem else TIGHT["tol"]
    model = cs(C=C, fit_intercept=fit_intercept, tol=tol).fit(X, y)
    check_optimum(model, X, y, box_of(y, C))


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("C", [10.0, 100.0])
def test_optimum_with_large_penalty(make, C):
    X, y = make(np.random.default_rng(5), 4)
    tol = 0.05 if make is scales_problem else 1e-4
    check_optimum(cs(C=C, tol=tol).fit(X, y), X, y, box_of(y, C))


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("C", [1e-4, 1.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_optimum_in_float32(make, C, n_classes):
    X, y = make(np.random.default_rng(6), n_classes)
    model = cs(C=C, tol=1e-3).fit(X.astype(np.float32), y)
    check_optimum(model, X.astype(np.float32), y, box_of(y, C), rel=1e-4)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tiny_problems())
def test_optimum_of_generated_problems(problem):
    X, y, weight, C, fit_intercept = problem
    model = cs(C=C, fit_intercept=fit_intercept, tol=1e-5)
    model.fit(scipy.sparse.csr_array(X), y, sample_weight=weight)
    check_optimum(model, X, y, box_of(y, C, weight))


def test_dual_variables_satisfy_the_optimality_conditions():
    problem = make_problem(np.float64, np.int32, bias=1.0, formulation="cs")
    found = ActiveSetSolver(problem, GapStopping(1e-9), Limits(100_000)).run()
    engine = problem.engine(1, 0)
    engine.assign(found.alpha.pair, found.alpha.cls, found.alpha.value)
    A, alpha = with_intercept(problem.X), dense_alpha(engine, problem)
    assert cs_dual(alpha, A, problem.y, problem.box) == pytest.approx(found.dual, rel=1e-12)
    assert cs_kkt(alpha, A, problem.y, problem.box, negligible=1e-3) <= 1e-3
    # Some budgets are used up by several classes, some are not: both kinds of optimum occur.
    used = alpha.sum(axis=1) >= problem.box * (1 - 1e-9)
    several = np.count_nonzero(alpha > 1e-9, axis=1) > 1
    assert np.any(used & several)
    assert np.any(~used)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("n_classes", [3, 8])
def test_agrees_with_liblinear(sparse, C, n_classes):
    rng = np.random.default_rng(3)
    X, y = (sparse_problem if sparse else dense_problem)(rng, n_classes)
    peer = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-9, max_iter=10**7, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y)
    model = cs(C=C, tol=1e-9).fit(X, y)
    box = box_of(y, C)
    assert cs_primal(weights_of(peer), with_intercept(X), y, box) == pytest.approx(
        model.primal_objective_, rel=1e-6
    )
    atol = 1e-3 * np.abs(peer.coef_).max()
    np.testing.assert_allclose(dense(model.coef_), peer.coef_, atol=atol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=atol)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_two_classes_are_the_binary_hinge_machine(C):
    X, y = dense_problem(np.random.default_rng(12), 2)
    model = cs(C=C).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    A = with_intercept(X)
    _, objective = solve_binary_hinge(A, 2.0 * y - 1.0, box_of(y, 2.0 * C))
    assert model.primal_objective_ == pytest.approx(0.5 * objective, rel=2e-6)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-5])
@pytest.mark.parametrize("make", PROBLEMS)
def test_the_gap_is_honoured(make, tol):
    X, y = make(np.random.default_rng(21), 5)
    if make is scales_problem:
        tol = max(tol, 1e-3)  # coordinates get on slowly there
    check_optimum(cs(C=2.0, tol=tol).fit(X, y), X, y, box_of(y, 2.0))


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
@pytest.mark.parametrize("make", PROBLEMS)
def test_violation_stopping_bounds_the_gap(make, tol):
    """If no violation exceeds tol, then P - D <= tol * sum_i u_i."""
    X, y = make(np.random.default_rng(14), 5)
    model = cs(stopping="violation", tol=tol).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.violation_ <= tol
    primal = check_certificate(model, X, y, box_of(y, 1.0))
    allowed = tol * len(y)
    assert model.primal_objective_ - model.dual_objective_ <= allowed * (1.0 + 1e-9)
    best = solve_cs_qp(with_intercept(X), y, box_of(y, 1.0))[2]
    assert best * (1.0 - 1e-8) <= primal <= best + allowed


@pytest.mark.parametrize("sparse", [False, True])
def test_sample_and_class_weights_scale_the_budget(sparse):
    rng = np.random.default_rng(8)
    X, y = (sparse_problem if sparse else dense_problem)(rng, 4)
    weight = rng.uniform(0.0, 3.0, size=len(y))
    weight[[5, 7]] = 0.0
    class_weight = {0: 3.0, 1: 1.0, 2: 0.5, 3: 1.0}
    model = cs(C=0.7, class_weight=class_weight).fit(X, y, sample_weight=weight)
    check_optimum(model, X, y, box_of(y, 0.7, weight, list(class_weight.values())))


def test_integer_weights_are_repetitions():
    rng = np.random.default_rng(9)
    X, y = dense_problem(rng, 4)
    weight = rng.integers(0, 4, size=len(y))
    weight[:4] = 2  # no class vanishes
    weighted = cs().fit(X, y, sample_weight=weight)
    repeated = cs().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-6)
    distance = 0.5 * np.sum((weights_of(weighted) - weights_of(repeated)) ** 2)
    # Each is within sqrt(2 * gap) of the one optimum, so the two are within twice that.
    assert distance <= 4.0 * TIGHT["tol"] * weighted.primal_objective_ * 1.01


def test_balanced_classes():
    X, y = unbalanced_problem(np.random.default_rng(10), 4)
    model = cs(class_weight="balanced").fit(X, y)
    check_optimum(model, X, y, box_of(y, 1.0, class_weight=len(y) / (4.0 * np.bincount(y))))


def test_separable_data_with_a_large_penalty():
    rng = np.random.default_rng(13)
    y = labels(rng, 40, 4)
    X = 4.0 * np.eye(4)[y] + 0.3 * rng.standard_normal((40, 4))
    model = cs(C=1e4, tol=1e-5).fit(X, y)
    best = check_optimum(model, X, y, box_of(y, 1e4))
    # At the hard margin the loss is gone: the optimum no longer depends on C.
    assert best == pytest.approx(solve_cs_qp(with_intercept(X), y, box_of(y, 1e3))[2], rel=1e-6)


def test_samples_that_are_all_empty():
    """Without features or intercept every margin is 1: P = D = C n and W = 0."""
    X, y = scipy.sparse.csr_array((9, 5)), np.arange(9) % 3
    model = cs(C=0.5, fit_intercept=False).fit(X, y)
    assert model.converged_
    assert model.primal_objective_ == model.dual_objective_ == pytest.approx(0.5 * 9)
    assert not np.any(dense(model.coef_))


@pytest.mark.parametrize("sparse", [False, True])
def test_warm_start_over_penalties(sparse):
    rng = np.random.default_rng(22)
    X, y = (sparse_problem if sparse else dense_problem)(rng, 6)
    model = cs(warm_start=True)
    for C in [0.01, 1.0, 30.0, 0.3]:
        model.set_params(C=C).fit(X, y)
        check_optimum(model, X, y, box_of(y, C))
    passes = model.fit(X, y).n_iter_
    assert passes == 0, "the optimum was known"


def test_warm_start_from_weston_watkins_is_feasible():
    """There the variables of a sample add up to more than the budget."""
    X, y = dense_problem(np.random.default_rng(23), 6)
    model = MulticlassSVC("ww", C=0.02, warm_start=True, **TIGHT).fit(X, y)
    assert model._warm_alpha.value.max() > 0.02 * 2
    model.set_params(formulation="cs").fit(X, y)
    check_optimum(model, X, y, box_of(y, 0.02))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_is_scaled_into_the_budget(dtype):
    problem = make_problem(dtype, np.int32, bias=1.0, formulation="cs")
    pair = np.arange(0, 120 * 30 + 1, 30)
    cls = np.tile(np.arange(30, dtype=np.int32), 120)
    value = np.random.default_rng(0).uniform(0, 1, 3600)
    scaled = Alpha("cs", pair, cls, value, np.ones(120)).scaled_to(problem).reshape(120, 30)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scaled[:, 1:].sum(axis=1, dtype=float), problem.box, rtol=1e-6)
    part = value.reshape(120, 30)[:, 1:]
    np.testing.assert_allclose(
        scaled[:, 1:] / problem.box[:, None], part / part.sum(1)[:, None], rtol=1e-5
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stopping", ["gap", "violation"])
@pytest.mark.parametrize("make", [sparse_many_classes, dense_few_classes])
def test_model_is_bit_identical_for_any_number_of_threads(make, stopping, dtype):
    X, y = make()
    fits = [
        MulticlassSVC("cs", stopping=stopping, n_jobs=n_jobs, random_state=3).fit(
            X.astype(dtype), y
        )
        for n_jobs in [1, 2, 4]
    ]
    assert np.any(dense(fits[0].coef_))
    assert bits(fits[0]) == bits(fits[1]) == bits(fits[2])


def test_many_classes_have_sparse_weights():
    X, y = sparse_many_classes()
    model = MulticlassSVC("cs", C=0.5, tol=1e-4, sparse_coef=True, random_state=0).fit(X, y)
    assert scipy.sparse.issparse(model.coef_)
    assert model.history_[-1]["active"] < X.shape[0] * 149
    check_certificate(model, X, y, box_of(y, 0.5))
    dense_fit = MulticlassSVC("cs", C=0.5, tol=1e-4, sparse_coef=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(dense(model.coef_), dense_fit.coef_)
    assert model.coef_.nnz == np.count_nonzero(dense_fit.coef_) < 0.6 * dense_fit.coef_.size


@pytest.mark.parametrize(
    "plan", [Plan(), Plan(batch=8, coupling=0.1), Plan(batch=128, coupling=1.0)], ids=str
)
def test_every_plan_reaches_the_same_optimum(plan):
    problem = make_problem(np.float64, np.int32, bias=1.0, formulation="cs")
    found = ActiveSetSolver(
        problem, GapStopping(1e-6), Limits(20_000), plan=plan, threads=2, seed=5
    ).run()
    best = ActiveSetSolver(problem, GapStopping(1e-8), Limits(20_000), plan=Plan()).run()
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-6)
    assert found.dual <= best.primal * (1 + 1e-12)


@pytest.mark.parametrize("bundles", [2, 5, 12])
def test_bundles_reach_the_same_optimum(bundles):
    """Budgets are shared by classes of all bundles, so that some moves need two foreign ones."""
    problem = make_problem(np.float64, np.int32, bias=1.0, formulation="cs")
    found = ActiveSetSolver(
        problem, GapStopping(1e-5), Limits(20_000), plan=Plan(bundles=bundles), threads=2
    ).run()
    best = ActiveSetSolver(problem, GapStopping(1e-8), Limits(20_000), plan=Plan()).run()
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-5)
    assert found.dual <= best.primal * (1 + 1e-12)


def test_one_process_does_not_choose_bundles():
    few = np.full(5, 2000)
    assert make_plan(lambda: 0.8, few, 2000, 10**9).bundles == 5
    assert make_plan(lambda: 0.8, few, 2000, 10**9, may_divide=False) == Plan()


@pytest.mark.parametrize("passes", [8, 12, 16])
def test_what_rested_never_exceeds_the_budget(passes):
    """A class that rested and then got mass takes part in every pass, not only in full ones."""
    options = {"words_per_sample": 12, "topic_share": 0.3, "dtype": np.float64}
    X, y = make_hierarchical_text(3000, 3000, 300, random_state=2, **options)
    model = MulticlassSVC(
        "cs", tol=1e-6, random_state=2, max_iter=passes, warm_start=True, fit_intercept=False
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    alpha = model._warm_alpha
    value = alpha.value.copy()
    value[alpha.pair[:-1]] = 0  # the own class holds the sum of the others
    assert np.add.reduceat(value, alpha.pair[:-1]).max() <= 1 + 1e-9
