"""The solver's arrangements: any plan, any instruction set, the same optimum; and its limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from multimargin.solvers._engine_choice import classes_needed
from multimargin.solvers._records import Observers
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping, ViolationStopping
from multimargin.solvers.active_set._pass_plan import Plan, make_plan, mean_cosine
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import LocalWorkspace
from tests.reference.ww import ww_primal
from tests.solvers.test_kernels import ISAS, make_problem
from tests.support.rank_runs import problem_of
from tests.support.tiny_problems import CallbackObserver

PLANS = [
    {"plan": Plan()},
    {"plan": Plan(batch=8, coupling=0.1)},
    {"plan": Plan(batch=128, coupling=1.0)},
    {"bundles": 2},
    {"bundles": 5},
    {"bundles": 12},
]


def solve(problem, stopping=None, **options):
    options.setdefault("limits", Limits(20_000))
    limits = options.pop("limits")
    return ActiveSetSolver(problem, stopping or GapStopping(1e-6), limits, **options).run()


@pytest.fixture(scope="module")
def best():
    return solve(make_problem(np.float64, np.int32, bias=1.0), plan=Plan())


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_every_plan_reaches_the_same_optimum(plan, best):
    problem = make_problem(np.float64, np.int32, bias=1.0)
    found = solve(problem, **plan, threads=2, seed=5)
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=3e-6)
    assert found.dual <= best.primal * (1 + 1e-12)


def bits(weights):
    parts = (weights.coef.data, weights.coef.indices, weights.coef.indptr, weights.constant)
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_plan_gives_the_same_bits_for_any_number_of_threads(plan, dtype):
    problem = make_problem(dtype, np.int32, bias=1.0)
    solutions = [solve(problem, GapStopping(0.02), **plan, threads=t) for t in (1, 2, 4)]
    for other in solutions[1:]:
        assert bits(other.weights) == bits(solutions[0].weights)
        assert other.passes == solutions[0].passes


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set_reaches_the_optimum(isa):
    problem = make_problem(np.float64, np.int32, bias=0.0)
    assert solve(problem, isa=isa).primal == pytest.approx(solve(problem, isa=0).primal, rel=3e-6)


def test_more_than_few_classes_start_from_candidates():
    problem = make_problem(np.float64, np.int32, bias=1.0, n=400, d=100, k=150)
    found = solve(problem)
    assert found.converged
    A = np.hstack([problem.X.toarray(), np.ones((400, 1))])
    W = np.hstack([found.weights.coef.toarray(), found.weights.constant[:, None]])
    assert found.primal == pytest.approx(ww_primal(W, A, problem.y, problem.box), rel=1e-9)
    assert found.history[-1].active < 400 * 149


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_looks_at_some_classes_come_before_scans_of_many(dtype, monkeypatch):
    looks = []
    look = LocalWorkspace.look
    monkeypatch.setattr(LocalWorkspace, "look", lambda *args: looks.append(args[-1]) or look(*args))
    problem = make_problem(dtype, np.int32, bias=0.0, n=2000, d=100, k=1600)
    solutions = [solve(problem, GapStopping(0.01), threads=t) for t in (1, 3)]
    assert looks[0] == 1600 // 12
    assert bits(solutions[0].weights) == bits(solutions[1].weights)
    W = solutions[0].weights.coef.toarray().astype(np.float64)
    primal = ww_primal(W, problem.X.toarray(), problem.y, problem.box)
    assert solutions[0].converged
    assert solutions[0].dual < primal == pytest.approx(solutions[0].primal, rel=1e-3)


def test_small_penalty_needs_many_classes():
    # Each alpha is at most the box, so a sample leans on 1 / box classes or more.
    problem = make_problem(np.float64, np.int32, bias=0.0, n=300, d=50, k=120)
    small = type(problem)(problem.X, problem.y, np.full(300, 1e-3), problem.n_classes, 0.0, "ww")
    found = solve(small)
    assert found.converged
    assert np.count_nonzero(found.alpha.value) > 300 * 100


def test_violation_stopping_leaves_coordinates_within_tol_alone():
    problem = make_problem(np.float64, np.int32, bias=1.0, n=400, d=100, k=150)
    loose = solve(problem, ViolationStopping(0.3))
    tight = solve(problem, ViolationStopping(1e-4))
    assert loose.converged
    assert tight.converged
    assert loose.violation <= 0.3
    assert tight.violation <= 1e-4
    assert loose.gap > tight.gap
    assert loose.passes < tight.passes


def test_a_disturbed_batch_makes_the_plan_more_cautious():
    plan = Plan(batch=128, coupling=0.0)
    for _ in range(10):
        plan = plan.more_cautious()
    assert plan.coupling == 1.0
    # Identical rows in one batch with no coupling assumed would diverge without that.
    problem = make_problem(np.float64, np.int32, bias=0.0, n=300, d=5, k=10)
    rows = sp.csr_matrix(np.ones((300, 5)) + 0.01 * problem.X.toarray()[:, :5])
    same = type(problem)(rows, problem.y, problem.box, 10, 0.0, "ww")
    found = solve(same, GapStopping(0.01), plan=Plan(batch=16, coupling=0.0))
    assert found.converged


def test_plans_follow_the_data():
    text = make_problem(np.float64, np.int32, bias=0.0, n=2000, d=5000, k=500)
    few = np.full(5, 2000)
    many = np.bincount(np.random.default_rng(0).integers(5000, size=20_000))
    assert mean_cosine(text.X, 0.0, seed=0) < mean_cosine(text.X, 10.0, seed=0)
    assert make_plan(lambda: 0.01, many, 2000, 10**7).batch == 128
    assert make_plan(lambda: 0.01, many, 2000, 10**6) == Plan()
    assert make_plan(lambda: 0.8, few, 2000, 10**7) == Plan()
    assert make_plan(lambda: 0.2, few, 2000, 10**9) == Plan(batch=8, coupling=0.8)
    assert make_plan(lambda: 0.2, few, 2000, 10**9, dense=True) == Plan()


def test_limits_end_a_fit_with_a_certificate():
    problem = make_problem(np.float64, np.int32, bias=1.0)
    few = solve(problem, GapStopping(1e-12), limits=Limits(3))
    assert (few.passes, few.converged, few.ended_by) == (3, False, "max_iter")
    assert few.gap > 0
    short = solve(problem, GapStopping(1e-15), limits=Limits(10**9, 1e-9))
    assert short.ended_by == "time_limit"


def test_precision_is_named_when_it_is_the_limit():
    problem = make_problem(np.float32, np.int32, bias=1.0, n=60, d=40, k=12)
    found = solve(problem, GapStopping(1e-12), limits=Limits(10**6, 60.0))
    assert found.ended_by == "precision"
    assert found.gap < 1e-4


def test_an_observer_can_stop_a_fit():
    problem = make_problem(np.float64, np.int32, bias=1.0)
    records = []

    def stop(record, weights):
        records.append(record)
        assert weights().coef.shape[0] == len(weights().constant)
        return True

    found = solve(problem, GapStopping(1e-9), observers=Observers([CallbackObserver(stop)]))
    assert found.ended_by == "a callback"
    assert len(records) == 1


def test_threads_of_blas_decide_nothing():
    """With rows of unit length 2 / C is a whole number: the last digit of their squares counts."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = normalize(rng.standard_normal((300, 200)))
        problem = problem_of(X, np.arange(300) % 3, "ww", C=0.05, bias=0.0)
        needed = set()
        for threads in (1, 2):
            with threadpool_limits(threads):
                needed.add(classes_needed(problem, problem.bias))
        assert len(needed) == 1
