"""An intercept that is not regularised: optimum, certificate and bits."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, distributed, load_model, path, save_model
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import Lists, LocalWorkspace
from tests.reference import costs as reference
from tests.solvers.active_set.test_intercept import problem_of, slot_sums
from tests.solvers.active_set.test_solver import bits

SCALE = 300.0  # of a constant feature that is hardly regularised


def tiny(seed, classes=3, empty=1):
    """Samples far from the origin, of classes that overlap, some of them without features."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 18)])
    X = rng.normal(size=(classes, 3))[y] + 0.7 * rng.normal(size=(len(y), 3)) + [1.0, 0.0, -0.5]
    X[rng.permutation(len(y))[:empty]] = 0
    return X, y.astype(np.int32), rng.uniform(0.2, 2.0, len(y))


def optimum(formulation, X, y, box, costs):
    """Two values between which the optimum lies, by a generic quadratic program."""
    A = np.hstack([X, np.full((len(y), 1), SCALE)])
    W, _, primal, dual = reference.solve(formulation, A, y, box, costs)
    # The optimum with the regularised constant is larger by no more than this term at the free one.
    term = 0.5 * float(np.sum(W[:, -1] ** 2))
    return dual - 2 * term, primal - term


@pytest.mark.parametrize("formulation", ["ww", "cs"])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(("classes", "costly"), [(2, False), (4, True)])
def test_certificates_enclose_the_optimum_of_a_quadratic_program(formulation, C, classes, costly):
    X, y, weight = tiny(classes, classes)
    costs = np.where(np.eye(classes, dtype=bool), 0.0, 1.0)
    if costly:
        costs *= np.random.default_rng(1).uniform(0.5, 3.0, costs.shape)
    low, high = optimum(formulation, X, y, C * weight, costs)
    assert high - low <= 2e-4 * high
    options = {"C": C, "fit_intercept": "free", "label_cost": costs if costly else None}
    for tol, data in ((0.05, X), (1e-6, sp.csr_matrix(X))):
        model = MulticlassSVC(formulation, tol=tol, random_state=0, warm_start=True, **options)
        model.fit(data, y, sample_weight=weight)
        assert model.converged_ and model.dual_gap_ <= tol
        assert model.dual_objective_ <= high and low <= model.primal_objective_
        found = model.certify(data, y, sample_weight=weight)  # by NumPy alone
        assert found.dual_recomputed
        assert found.primal == pytest.approx(model.primal_objective_, rel=1e-9)
        assert found.gap <= tol
        assert abs(model.intercept_.sum()) <= 1e-9 or classes == 2
    assert model.primal_objective_ == pytest.approx((low + high) / 2, rel=2e-4)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_variables_that_are_out_of_balance_prove_no_more_than_is_true(formulation):
    X, y, weight = tiny(5, 3)
    _, high = optimum(formulation, X, y, weight, 1 - np.eye(3))
    problem = Problem(as_core_csr(X), y, weight, 3, 1.0, formulation, free_intercept=True)
    # Without the balance, the formula of the dual is that of no intercept, whose optimum is larger.
    fixed = MulticlassSVC(formulation, fit_intercept=False, tol=1e-6, warm_start=True)
    found = fixed.fit(X, y, sample_weight=weight)._warm_alpha
    first = found.slot_begin[:-1]
    for share in (0.9, 0.97, 1.0):
        workspace = LocalWorkspace(problem, 1, 0, None)
        workspace.begin(Lists(found.slot_begin, found.cls, share * found.value))
        scan = workspace.scan(1, 10**9, np.inf, True)
        coef = workspace.weights().coef
        gain = share * (found.value.sum() - found.value[first].sum())
        assert gain - 0.5 * np.sum(np.square(coef.data)) > high
        assert 0 <= scan.dual <= high <= scan.primal


def test_a_class_without_samples_leaves_the_dual_of_zero():
    X, y, weight = tiny(5, 3)
    problem = Problem(as_core_csr(X), y, weight, 4, 1.0, "ww", free_intercept=True)
    workspace = LocalWorkspace(problem, 1, 0, None)
    cls = np.stack([y, np.full(len(y), 3)], axis=1).astype(np.int32)
    alpha = np.stack([weight, weight], axis=1)
    workspace.begin(Lists(np.arange(0, 2 * len(y) + 1, 2), cls.reshape(-1), alpha.reshape(-1)))
    assert workspace.scan(1, 10**9, np.inf, True).dual == 0


@pytest.mark.parametrize("formulation", ["ww", "cs"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads_and_variables_are_balanced(formulation, dtype):
    problem = problem_of(formulation, dtype=dtype, free=True)

    def solve(threads):
        solver = ActiveSetSolver(problem, GapStopping(1e-2), Limits(20_000), threads=threads)
        return solver.run()

    one, *others = map(solve, (1, 2, 3))
    assert one.converged
    for other in others:
        assert bits(other.weights) == bits(one.weights)
        np.testing.assert_array_equal(other.alpha.value, one.alpha.value)
    alpha = one.alpha
    total = float(alpha.value.sum())
    assert np.abs(slot_sums(problem, alpha)).sum() <= 1e-6 * total
    own = alpha.slot_begin[:-1]
    others = alpha.value.astype(np.float64)
    others[own] = 0
    most = others.max() if formulation == "ww" else np.add.reduceat(others, own).max()
    assert others.min() >= 0 and most <= problem.box[0] * (1 + 8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_moving_all_samples_moves_no_score(formulation):
    X, y, _ = tiny(7, 4, empty=0)
    model = MulticlassSVC(formulation, fit_intercept="free", tol=1e-9, random_state=0)
    here = model.fit(X, y).decision_function(X)
    shift = np.array([3.0, -2.0, 0.5])
    there = X + shift
    moved = model.fit(there, y)
    # Weights are within sqrt(2 gap) of the optimum, here and there.
    np.testing.assert_allclose(moved.decision_function(there), here, atol=2e-3)
    assert np.ptp(moved.coef_ @ shift) > 0.1


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_the_next_fit_and_the_next_penalty_know_it(formulation, tmp_path):
    problem = problem_of(formulation, dtype=np.float32)
    X, y = problem.X, problem.y
    model = MulticlassSVC(formulation, fit_intercept="free", warm_start=True, random_state=0)
    passes = model.fit(X, y).n_iter_
    save_model(model, tmp_path / "m", dual=True)
    loaded = load_model(tmp_path / "m")
    assert loaded.certify(X, y).gap <= 0.01
    assert loaded.fit(X, y).n_iter_ <= passes // 2
    few = y < 150
    assert model.fit(X[few], y[few]).n_iter_ < passes and model.converged_
    for each in path(X, y, Cs=[0.1, 1.0], estimator=model, keep="all"):
        assert each.model.converged_ and each.model.dual_gap_ <= 0.01


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formulation": "llw"}, "formulation must be 'ww' or 'cs' with fit_intercept='free'"),
        ({"stopping": "violation"}, "stopping must be 'gap' with fit_intercept='free'"),
        ({"n_bundles": 2}, "n_bundles must be None with fit_intercept='free'"),
        ({"intercept_scaling": 2.0}, "intercept_scaling must be 1 with fit_intercept='free'"),
        ({"fit_intercept": "fre"}, "fit_intercept must be True, False or 'free', got 'fre'"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    X, y, _ = tiny(0)
    with pytest.raises(ValueError, match=said):
        MulticlassSVC(**{"fit_intercept": "free"} | options).fit(X, y)


def test_checkpoints_are_refused_and_the_engine_is_the_active_set(tmp_path):
    X, y, _ = tiny(0)
    model = MulticlassSVC(fit_intercept="free", random_state=0)
    with pytest.raises(ValueError, match="'free' needs one process without bundles and checkpoi"):
        distributed.fit(model, X, y, checkpoint=tmp_path)
    engine = model.fit(X, y).history_[-1]["engine"]
    assert engine == "active set (rows have no free intercept)"
