"""Crammer-Singer: dual variables of a sample share one budget, whatever plan a pass has."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, _core
from multimargin.datasets import make_hierarchical_text
from multimargin.solvers._solution import Alpha, Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.estimator.test_threads import sparse_many_classes
from tests.reference.cases import Case
from tests.reference.cs import cs_dual, cs_kkt
from tests.reference.ww import box_of, dense, with_intercept
from tests.solvers.test_kernels import dense_alpha, make_problem


def test_dual_variables_satisfy_the_optimality_conditions():
    problem = make_problem(np.float64, np.int32, bias=1.0, formulation="cs")
    found = ActiveSetSolver(problem, GapStopping(1e-9), Limits(100_000)).run()
    engine = _core.engine(problem.samples, "cs", threads=1, seed=0)
    engine.assign(found.alpha.slot_begin, found.alpha.cls, found.alpha.value)
    A, alpha = with_intercept(problem.X), dense_alpha(engine, problem)
    assert cs_dual(alpha, A, problem.y, problem.box) == pytest.approx(found.dual, rel=1e-12)
    assert cs_kkt(alpha, A, problem.y, problem.box, negligible=1e-3) <= 1e-3
    # Some budgets are used up by several classes, some are not: both kinds of optimum occur.
    used = alpha.sum(axis=1) >= problem.box * (1 - 1e-9)
    several = np.count_nonzero(alpha > 1e-9, axis=1) > 1
    assert np.any(used & several)
    assert np.any(~used)


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


def test_many_classes_have_sparse_weights():
    X, y = sparse_many_classes()
    model = MulticlassSVC("cs", C=0.5, tol=1e-4, sparse_coef=True, random_state=0).fit(X, y)
    assert scipy.sparse.issparse(model.coef_)
    assert model.history_[-1]["active"] < X.shape[0] * 149
    Case("cs").check_reported(model, X, y, box_of(y, 0.5))
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
        problem, GapStopping(1e-5), Limits(20_000), bundles=bundles, threads=2
    ).run()
    best = ActiveSetSolver(problem, GapStopping(1e-8), Limits(20_000), plan=Plan()).run()
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-5)
    assert found.dual <= best.primal * (1 + 1e-12)


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
    value[alpha.slot_begin[:-1]] = 0  # the own class holds the sum of the others
    assert np.add.reduceat(value, alpha.slot_begin[:-1]).max() <= 1 + 1e-9
