"""Weston-Watkins and Crammer-Singer over ranks: the same bits, the optimum, shares and ends."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, _core, distributed
from multimargin.estimator._progress import CallbackObserver
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._records import Observers
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping, ViolationStopping
from multimargin.solvers.active_set import _solver as solver_module
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._rank_workspace import RankWorkspace
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import Lists
from tests.reference.cs import solve_cs_qp
from tests.reference.ww import box_of, solve_ww_qp
from tests.solvers.test_kernels import ISAS
from tests.support.rank_runs import problem_of, solve
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import labels, many_classes_problem

NAMES = ["ww", "cs"]
REFERENCES = {"ww": solve_ww_qp, "cs": solve_cs_qp}


def some_problem(name, dtype=np.float64, n_classes=23, n=160, d=90, C=1.0, seed=0):
    """Weights, an empty row, a class with a third of the samples, classes with one sample."""
    X, y = many_classes_problem(n=n, d=d, n_classes=n_classes, seed=seed)
    y = np.where(np.arange(n) >= n - n // 3, 0, y)
    X = sp.csr_matrix(X)
    X.data[X.indptr[n // 2] : X.indptr[n // 2 + 1]] = 0
    X.eliminate_zeros()
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, n)
    return problem_of(X, y, name, C=C, dtype=dtype, weight=weight)


def league(problem, ranks=1, **options):
    return solve(problem, ActiveSetSolver, ranks, **options)


def certificate(problem, found):
    """Primal of the joined weights, by the formulas and in double precision."""
    twin = FORMULATIONS[problem.formulation]
    A = np.hstack([problem.X.toarray(), np.full((len(problem.y), 1), problem.bias)]).astype(float)
    W = np.hstack([found.coef, found.constant[:, None]]).astype(float)
    return twin.primal(W, A, problem.y, problem.box.astype(float))


def check_certified(problem, found, rel=1e-9):
    primal, solution = certificate(problem, found), found.solutions[0]
    # A bound: what single precision may hide of the gap is added.
    assert primal * (1 - 1e-12) <= solution.primal
    assert solution.primal - primal <= max(0.5 * (solution.primal - solution.dual), rel * primal)
    assert solution.dual <= primal * (1 + rel)
    return primal


def dense_alpha(problem, found):
    """Dual variables of a run on one rank."""
    lists, n = found.solutions[0].alpha, len(problem.y)
    alpha = np.zeros((n, problem.n_classes))
    alpha[np.repeat(np.arange(n), np.diff(lists.pair)), lists.cls] = lists.value
    alpha[np.arange(n), problem.y] = 0
    return alpha


def check_feasible(problem, found):
    alpha = dense_alpha(problem, found)
    taken = alpha.max(axis=1) if problem.formulation == "ww" else alpha.sum(axis=1)
    assert alpha.min() >= 0
    assert np.all(taken <= problem.box * (1 + 3 * np.finfo(problem.box.dtype).eps))


def test_certified_points_keep_to_their_budgets():
    """Also where what a sample has was passed on from class to class hundreds of times."""
    X, y = many_classes_problem(n=300, d=80, n_classes=60)
    problem = problem_of(X, y, "cs", dtype=np.float32)
    found = league(problem, bundles=8, stopping=ViolationStopping(1e-9), max_passes=200)
    check_feasible(problem, found)
    check_certified(problem, found, rel=1e-5)


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("bundles", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_number_of_ranks_and_threads(name, dtype, bundles):
    problem = some_problem(name, dtype)
    alone = league(problem, bundles=bundles, tol=0.01)
    assert alone.solutions[0].converged
    assert alone.scalars[4] > 5
    check_certified(problem, alone, rel=1e-5)
    check_feasible(problem, alone)
    for ranks, threads in itertools.product((1, 2, 3, 4, 5), (1, 2)):
        if (ranks, threads) != (1, 1):
            found = league(problem, ranks, bundles=bundles, threads=threads, tol=0.01)
            assert found.same_bits(alone), (ranks, threads)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_with_long_indices_and_other_seeds(name):
    problem = some_problem(name)
    long = sp.csr_matrix(problem.X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    long = dataclasses.replace(problem, X=long)
    alone = league(problem, bundles=5, seed=1)
    assert (
        type(league(long, bundles=5).solvers[0]._workspace._core).__name__ == "RankWorkspaceF64I64"
    )
    assert league(long, 3, bundles=5, seed=1, threads=2).same_bits(alone)
    assert not league(problem, bundles=5, seed=2).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_with_many_classes_and_batches(name):
    """Not all classes are active from the start, scans find more, samples move in batches."""
    X, y = many_classes_problem(n=200, d=900, n_classes=100)
    problem = problem_of(X, y, name, dtype=np.float32)
    options = {"bundles": 6, "tol": 0.02, "plan": Plan(batch=16, coupling=0.2), "max_passes": 25}
    alone = league(problem, **options)
    assert len(alone.solutions[0].history) > 1
    assert 0 < alone.solutions[0].history[0].active < 200 * 99
    check_certified(problem, alone, rel=1e-5)
    for ranks, threads in [(1, 2), (3, 1)]:
        assert league(problem, ranks, threads=threads, **options).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_when_a_violation_is_asked_for(name):
    problem = some_problem(name, n_classes=80, n=200)
    stopping = ViolationStopping(0.01)
    alone = league(problem, bundles=4, stopping=stopping)
    assert alone.solutions[0].converged and alone.solutions[0].violation <= 0.01
    for ranks in (2, 3):
        assert league(problem, ranks, bundles=4, stopping=stopping, threads=2).same_bits(alone)
    twin = FORMULATIONS[name]
    A = np.hstack([problem.X.toarray(), np.ones((200, 1))])
    alpha = dense_alpha(problem, alone)
    margins = twin.margins(A @ twin.weights(alpha, A, problem.y).T, problem.y)
    assert twin.violations(margins, alpha, problem.box).max() <= 0.01 * (1 + 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bundles_are_two_per_rank_if_nothing_is_said(name):
    problem = some_problem(name)
    assert league(problem, 3).same_bits(league(problem, 1, bundles=6))


# ---------------------------------------------------------------- the optimum


@pytest.mark.parametrize("C", [0.01, 0.5, 30.0])
@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_that_of_the_reference(name, C):
    rng = np.random.default_rng(4)
    y = labels(rng, 36, 7)
    X = rng.standard_normal((36, 12)) * (rng.random((36, 12)) < 0.5) + np.eye(7, 12)[y]
    X[5] = 0
    weight = rng.uniform(0.3, 2.0, 36)
    problem = problem_of(X, y, name, C=C, weight=weight)
    A = np.hstack([X, np.ones((36, 1))])
    best_W, _, best, bound = REFERENCES[name](A, y, box_of(y, C, weight))
    for bundles in (2, 5, 7):
        found = league(problem, 2, bundles=bundles, tol=1e-5, max_passes=50_000)
        assert found.solutions[0].converged
        check_feasible(problem, league(problem, bundles=bundles, tol=1e-3))
        primal = check_certified(problem, found)
        assert bound * (1 - 1e-8) <= primal <= best * (1 + 2e-5)
        assert found.solutions[0].dual <= best * (1 + 1e-8)
        W = np.hstack([found.coef, found.constant[:, None]])
        assert 0.5 * np.sum((W - best_W) ** 2) <= 4e-5 * best + 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_that_of_one_machine(name, dtype):
    problem = some_problem(name, dtype, n_classes=100, n=300)
    tol = 1e-3
    plain = solve(problem, ActiveSetSolver, tol=tol)
    assert not isinstance(plain.solvers[0]._workspace, RankWorkspace)
    for bundles in (1, 6):
        found = league(problem, 2, bundles=bundles, tol=tol)
        assert found.solutions[0].converged
        check_feasible(problem, league(problem, bundles=bundles, tol=tol))
        primal = check_certified(problem, found, rel=1e-5)
        # Each primal is within tol of the optimum, each dual below it.
        assert found.solutions[0].dual <= plain.solutions[0].primal * (1 + 1e-6)
        assert primal * (1 - tol) <= plain.solutions[0].primal * (1 + 1e-6)
        assert plain.solutions[0].dual <= primal * (1 + 1e-6)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_set_reaches_the_optimum(name, isa):
    problem = some_problem(name)
    found, best = (league(problem, bundles=4, tol=1e-5, isa=i) for i in (isa, 0))
    assert found.solutions[0].primal == pytest.approx(best.solutions[0].primal, rel=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_more_bundles_than_classes_and_more_ranks_than_bundles(name, n_classes):
    problem = some_problem(name, n_classes=n_classes, n=40, d=20)
    alone = league(problem, bundles=64, tol=1e-4, max_passes=5000)
    assert alone.solutions[0].converged
    assert alone.solvers[0]._workspace.bundles == n_classes
    check_certified(problem, alone)
    for ranks in (2, 4, 5):
        found = league(problem, ranks, bundles=64, tol=1e-4, max_passes=5000)
        assert found.same_bits(alone)
        some = sum(len(s.weights.classes) > 0 for s in found.solutions)
        assert some == min(ranks, -(-n_classes // 2))


@pytest.mark.parametrize("name", NAMES)
def test_one_class_has_nearly_all_samples(name):
    X, y = many_classes_problem(n=150, d=60, n_classes=12)
    y[12:] = 3
    problem = problem_of(X, y, name, C=0.5)
    alone = league(problem, bundles=4, tol=1e-4, max_passes=5000)
    assert alone.solutions[0].converged
    check_certified(problem, alone)
    assert league(problem, 2, bundles=4, tol=1e-4, max_passes=5000, threads=2).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_empty_rows(name):
    problem = problem_of(sp.csr_matrix((9, 4)), np.arange(9) % 3, name, C=0.5, bias=0.0)
    for ranks in (1, 2, 3):
        found = league(problem, ranks, bundles=3)
        assert found.solutions[0].converged
        assert found.solutions[0].primal == 0.5 * 9 * (2 if name == "ww" else 1)
        assert not found.coef.any()


# ---------------------------------------------------------------- the foreign moves


def budget_problem():
    """Budgets that nearly all samples use up, so that what one class gets another has to give."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(12), 6)
    X = rng.standard_normal((12, 6))[y] + rng.standard_normal((72, 6))
    return np.hstack([X, np.ones((72, 1))]), y, problem_of(X, y, "cs", C=0.05)


def dual_without_foreign_moves(A, y, box, sweeps=60):
    """Where meetings of a sample's own class with one other at a time end, by plain loops."""
    alpha, W = np.zeros((len(y), y.max() + 1)), np.zeros((y.max() + 1, A.shape[1]))
    duals = []
    for _ in range(sweeps):
        for i, c in itertools.product(range(len(y)), range(len(W))):
            if c == y[i]:
                continue
            margin = 1 - (W[y[i]] - W[c]) @ A[i]
            room = box[i] - (alpha[i].sum() - alpha[i, c])
            fresh = np.clip(alpha[i, c] + margin / (2 * A[i] @ A[i]), 0, max(0.0, room))
            W[y[i]] += (fresh - alpha[i, c]) * A[i]
            W[c] -= (fresh - alpha[i, c]) * A[i]
            alpha[i, c] = fresh
        duals.append(alpha.sum() - 0.5 * np.sum(W * W))
    return np.array(duals)


def test_foreign_moves_lead_to_the_optimum():
    A, y, problem = budget_problem()
    _, alpha, best, bound = solve_cs_qp(A, y, problem.box)
    assert np.mean(alpha.sum(axis=1) > 0.999 * problem.box) > 0.5, "budgets bind"
    # Without moves from one foreign class to another it comes to rest far from the optimum.
    duals = dual_without_foreign_moves(A, y, problem.box)
    assert duals[-1] - duals[-20] < 1e-3 * (best - duals[-1])
    assert duals[-1] < 0.8 * best
    for ranks, bundles in [(3, 12), (2, 5)]:
        found = league(problem, ranks, bundles=bundles, tol=1e-5, max_passes=20_000)
        assert found.solutions[0].converged
        primal = check_certified(problem, found)
        assert bound * (1 - 1e-8) <= primal <= best * (1 + 2e-5)
        assert found.solutions[0].dual > duals[-1]


# ---------------------------------------------------------------- one fixture


def one_sample(name, dtype):
    """One sample with entries in a league of four bundles of two classes; dual variables in all."""
    rng = np.random.default_rng(1)
    k, own = 8, 2
    X = sp.csr_matrix((np.array([0.7, -0.4, 1.1]), ([0] * 3, [0, 2, 5])), shape=(k, 6))
    y = np.array([own, *[c for c in range(k) if c != own]])
    problem = problem_of(X, y, name, C=1.5, dtype=dtype, bias=0.5)
    core = _core.rank_workspace(problem.samples, name, threads=2)
    bundle_of = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
    core.divide(bundle_of, 4)
    others = np.array([c for c in range(k) if c != own])
    alpha = np.zeros(k)
    share = rng.uniform(0, 1, k - 1)
    alpha[others] = 1.5 * (share / share.sum() if name == "cs" else share)
    alpha = alpha.astype(dtype)
    pair = np.concatenate([[0, k], k + 1 + np.arange(k - 1)]).astype(np.int64)
    cls = np.concatenate([[own], others, y[1:]]).astype(np.int32)
    values = np.concatenate([[0], alpha[others], np.zeros(k - 1)]).astype(dtype)
    sums = np.zeros(k)
    for b in range(4):
        core.take(b, pair, cls, values)
        core.lay_out(b)
        core.add_sums(b, sums)
    for b in range(4):
        core.make_bundle_state(b, sums)
    return problem, core, alpha.astype(float), own


@pytest.mark.parametrize("meeting", [(0, 1), (1, 3), (0, 2), (2, 3)])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_solves_the_block_of_both_bundles(name, dtype, batch, meeting):
    """What lies outside the fixture keeps its share of the budget; the own class may be away."""
    problem, core, alpha, own = one_sample(name, dtype)
    a, b = meeting
    core.build(a, b, list(core.structure(a)), list(core.structure(b)), False)
    at_home = 1 in meeting
    inside = np.array([c for c in (2 * a, 2 * a + 1, 2 * b, 2 * b + 1) if c != own])
    k = float(problem.X.data @ problem.X.data) + 0.25
    # w_c = -alpha_c x, w_own = sum x: margins are 1 - k (sum + alpha_c).
    margin = 1 - k * (alpha.sum() + alpha)
    twin, curvature = FORMULATIONS[name], np.full(len(inside), k)
    expected = alpha.copy()
    if at_home:
        outside = alpha.sum() - alpha[inside].sum()
        room = 1.5 - (0 if name == "ww" else outside)
        expected[inside] = twin.solve_block(margin[inside], alpha[inside], room, k, curvature)
    elif name == "cs":
        expected[inside] = twin.solve_exchange(margin[inside], alpha[inside], curvature)
    else:
        assert len(core.meeting_state(a, b)[0]) == 0
        return
    (report,) = core.run_meetings([meeting], batch, True, 0.0, -1.0, 1.0, 0.0, -1.0, 7)
    assert report.complete and report.visits == 1
    found = np.zeros(8)
    for bundle in range(4):
        core.unpack_alpha(bundle)
    if name == "ww":
        for bundle, which in ((a, 0), (b, 1)):
            core.put_alpha(bundle, *core.collect(a, b, which))
    for bundle in range(4):
        begin, sample, value = core.columns(bundle)
        cls = np.repeat([2 * bundle, 2 * bundle + 1], np.diff(begin))
        found[cls[sample == 0]] = value[sample == 0]
    near = 1e-5 if dtype == np.float32 else 1e-12
    here = np.arange(8) if name == "cs" else inside
    np.testing.assert_allclose(found[here], expected[here], atol=near)
    # Weights follow: those of the two bundles are those of the new dual variables.
    coefficient = -expected
    coefficient[own] = expected.sum()
    x = problem.X.toarray()[0].astype(float)
    for bundle in meeting:
        data, index, begin, constant = core.weights(bundle)
        rows = sp.csr_matrix((data, index, begin), shape=(2, 6)).toarray()
        mine = coefficient[2 * bundle : 2 * bundle + 2]
        np.testing.assert_allclose(rows, mine[:, None] * x, atol=near * 10)
        np.testing.assert_allclose(constant, 0.5 * mine, atol=near * 10)


# ---------------------------------------------------------------- one process


@pytest.mark.parametrize("name", NAMES)
def test_warm_start_in_one_process(name):
    X, y = many_classes_problem(n=160, d=90, n_classes=20)
    model = MulticlassSVC(name, n_bundles=4, warm_start=True, tol=1e-3, random_state=0)
    for C in (0.1, 1.0, 0.3):
        model.set_params(C=C).fit(X, y)
        plain = MulticlassSVC(name, C=C, tol=1e-3, random_state=0).fit(X, y)
        assert model.converged_
        assert model.dual_objective_ <= plain.primal_objective_ * (1 + 1e-9)
        assert model.primal_objective_ * (1 - 1e-3) <= plain.primal_objective_ * (1 + 1e-9)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 0, "the optimum was known"
    np.testing.assert_allclose(model.coef_, before, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_start_goes_from_one_machine_to_the_league_and_back(name):
    problem = some_problem(name)
    plain = solve(problem, ActiveSetSolver, tol=1e-3)
    start = plain.solutions[0].alpha
    found = [league(problem, ranks, bundles=4, tol=1e-3, start=start) for ranks in (1, 3)]
    assert found[0].scalars[4] == 0 and found[1].same_bits(found[0])
    assert found[0].solutions[0].dual == pytest.approx(plain.solutions[0].dual, rel=1e-9)
    again = solve(problem, ActiveSetSolver, tol=1e-3, start=found[0].solutions[0].alpha)
    assert again.scalars[4] == 0


def test_a_plan_with_bundles_is_a_league():
    problem = some_problem("ww")
    found = solve(problem, ActiveSetSolver, plan=Plan(bundles=5), threads=2)
    assert isinstance(found.solvers[0]._workspace, RankWorkspace)
    assert found.same_bits(solve(problem, ActiveSetSolver, plan=Plan(bundles=5)))


@pytest.mark.parametrize("ends", ["converged", "max_iter"])
def test_one_machine_becomes_a_league_when_a_pass_takes_long(ends, monkeypatch):
    problem = some_problem("ww", n_classes=80, n=200)
    plans = iter([Plan(), *[Plan(bundles=4)] * 50])
    make = solver_module.make_plan

    def planned(*args, may_divide=True, **options):
        return next(plans) if may_divide else make(*args, may_divide=False, **options)

    monkeypatch.setattr(solver_module, "make_plan", planned)
    tol, passes = (1e-4, 1000) if ends == "converged" else (1e-12, 14)
    found = solve(problem, ActiveSetSolver, tol=tol, max_passes=passes)
    assert isinstance(found.solvers[0]._workspace, RankWorkspace)
    assert found.solutions[0].ended_by == ("" if ends == "converged" else "max_iter")
    check_certified(problem, found)


# ---------------------------------------------------------------- memory and messages


def held(solver):
    """Pairs, slots and positions at a rank, from what the core gives out."""
    workspace = solver._workspace
    core = workspace._core
    pairs = sum(len(core.columns(b)[1]) for b in workspace.owned)
    weights = sum(int(core.pack(b)[0][0]) for b in workspace.owned)
    slots = sum(len(core.meeting_state(a, b)[0]) for a, b in workspace._placement.meetings())
    return np.array([pairs, weights, slots])


@pytest.mark.parametrize("name", NAMES)
def test_a_rank_holds_a_share(name):
    X, y = many_classes_problem(n=600, d=300, n_classes=96)
    problem = problem_of(X, y, name, dtype=np.float32)
    whole = held(league(problem, bundles=8).solvers[0])
    assert np.all(whole > 0)
    parts = [held(solver) for solver in league(problem, 4, bundles=8).solvers]
    np.testing.assert_array_equal(np.sum(parts, axis=0), whole)
    for part in parts:
        assert np.all(part <= 1.6 * whole / 4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 4])
def test_what_travels_in_a_season(name, ranks):
    """What is not zero in the bundles that move, a bit for each number, and reports."""
    X, y = many_classes_problem(n=600, d=300, n_classes=64)
    problem = problem_of(X, y, name, dtype=np.float32)

    def work(comm):
        solver = ActiveSetSolver(problem, GapStopping(0.01), Limits(30), comm=comm, bundles=8)
        solver.run()
        workspace, messages = solver._workspace, []
        workspace.arrange()
        pack, before = workspace._pack, comm.bytes_sent

        def noted(bundle):
            messages.append(pack(bundle))
            return messages[-1]

        workspace._pack = noted
        for _ in range(2):
            solver._pass(True, None)
        for sizes, mask, values in messages:
            assert np.all(values != 0)
            assert len(mask) == np.sum(-(-sizes // 64))
            assert values.nbytes < 4 * sizes[1] * problem.X.shape[1], "less than dense weights"
        last = len(workspace._placement.rounds) - 1
        ways = [(r, r + 1) for r in range(last)]
        moves = sum(
            move.source == comm.rank
            for way in (*ways, (last, 0), *ways)
            for move in workspace._placement.moves(*way)
        )
        assert len(messages) == moves
        told = sum(part.nbytes for message in messages for part in message)
        # Two places and three numbers of every meeting are told to everybody.
        reports = (
            2
            * comm.size
            * (40 * len(workspace._placement.rounds) * len(workspace._placement.mine) + 8)
        )
        assert told <= comm.bytes_sent - before <= told + reports
        return len(messages)

    messages = sum(run_ranks(ranks, work))
    # Four matches: each sends one bundle a round, and one or two from the last round to the first.
    # Moves within a rank cost nothing.
    assert messages <= 2 * 6 * 4 + 2 * 4
    assert messages >= 2 * 6 * 4 + 4 or ranks < 4


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize("name", NAMES)
def test_max_iter_ends_all_ranks(name):
    problem = some_problem(name, C=100.0)
    alone = league(problem, bundles=4, tol=1e-9, max_passes=7)
    assert alone.solutions[0].ended_by == "max_iter" and alone.scalars[4] == 7
    assert not alone.solutions[0].converged
    check_certified(problem, alone)
    for ranks in (2, 3):
        assert league(problem, ranks, bundles=4, tol=1e-9, max_passes=7).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seconds", [1e-9, 0.2])
def test_a_time_limit_ends_all_ranks(name, seconds):
    problem = some_problem(name, n_classes=120, n=400, C=1e4)
    found = league(problem, 3, bundles=6, tol=1e-14, time_limit=seconds, max_passes=10**8)
    assert found.solutions[0].ended_by == "time_limit"
    check_certified(problem, found)


@pytest.mark.parametrize("name", NAMES)
def test_a_time_limit_in_mid_season(name, monkeypatch):
    """Whatever the round after which it is up, dual variables come home."""
    problem = some_problem(name)
    for rounds_left in range(1, 7):
        left = itertools.count()
        monkeypatch.setattr(
            RankWorkspace, "_time_is_up",
            lambda self, left=left, most=rounds_left: bool(
                self._comm.broadcast(
                    [np.array([self._comm.rank == 0 and next(left) >= most])]
                )[0][0]
            ),
        )  # fmt: skip
        found = league(problem, 2, bundles=8, tol=1e-9, time_limit=1000.0)
        assert found.solutions[0].ended_by == "time_limit"
        assert found.solutions[0].dual > 0
        check_certified(problem, found)


def test_a_callback_of_rank_0_ends_all_ranks():
    seen = []

    def stop(record, weights):
        seen.append(weights().classes)
        return len(seen) == 2

    problem = some_problem("ww", n_classes=100, n=300)
    found = league(problem, 3, bundles=6, tol=1e-9, max_passes=10_000,
                   observers=Observers([CallbackObserver(stop)]))  # fmt: skip
    assert found.solutions[0].ended_by == "a callback"
    assert len(seen) == 2 and 0 < len(seen[0]) < 100
    check_certified(problem, found)


@pytest.mark.parametrize("name", NAMES)
def test_a_tolerance_that_single_precision_cannot_reach(name):
    """Whatever ends it, the best certificate is near what rounding allows."""
    problem = some_problem(name, np.float32, n_classes=12, n=80, d=50)
    found = league(problem, 2, bundles=4, tol=1e-12, max_passes=1000)
    assert abs(found.solutions[0].gap) < 1e-4
    check_certified(problem, found, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_whoever_is_not_done_says_how_far_it_came(name):
    X, y = many_classes_problem(n=160, d=90, n_classes=20)

    def work(comm):
        model = MulticlassSVC(name, C=100.0, tol=1e-9, max_iter=3, n_bundles=4, random_state=0)
        return distributed.fit(model, X, y, comm=comm)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run_ranks(3, work)
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(told) == 1
    assert "max_iter" in told[0]
    assert "gap" in told[0]
    assert [f.n_iter_ for f in found] == [3] * 3


# ---------------------------------------------------------------- the interior point


def crawling_problem():
    """Few dense features and a large C: coordinates crawl."""
    rng = np.random.default_rng(3)
    y = labels(rng, 120, 4)
    X = rng.standard_normal((120, 3)) + 0.5 * y[:, None]
    return problem_of(X, y, "ww", C=1e4)


def test_interior_point_over_ranks():
    problem = crawling_problem()
    alone = league(problem, bundles=3, tol=1e-4, max_passes=5000)
    assert alone.solvers[0]._tried_interior_point
    assert alone.solutions[0].converged
    check_certified(problem, alone, rel=1e-7)
    for ranks in (2, 3):
        assert league(problem, ranks, bundles=3, tol=1e-4, max_passes=5000).same_bits(alone)


@pytest.mark.parametrize("most", [300, 302, 306])
def test_limits_in_the_middle_of_the_interior_point(most):
    problem = crawling_problem()
    found = [league(problem, ranks, bundles=3, tol=1e-9, max_passes=most) for ranks in (1, 3)]
    assert found[1].same_bits(found[0])
    assert found[0].solutions[0].ended_by == "max_iter"
    check_certified(problem, found[0], rel=1e-7)


def test_back_to_what_was_before_a_new_start():
    """Dual variables that were kept belong to the classes that they were kept of."""
    problem = some_problem("ww")
    best = league(problem, bundles=5, tol=1e-3)
    workspace, kept = best.solvers[0]._workspace, best.solutions[0].alpha
    snapshot = workspace.snapshot()
    n = len(problem.y)
    other = ((problem.y + 1) % problem.n_classes).astype(np.int32)
    cls = np.stack([problem.y, other], axis=1).reshape(-1)
    workspace.begin(Lists(np.arange(0, 2 * n + 1, 2), cls, np.zeros(2 * n)))
    workspace.restore(snapshot)
    for found, expected in zip(workspace.lists(), (kept.pair, kept.cls, kept.value), strict=True):
        np.testing.assert_array_equal(found, expected)
    weights = workspace.weights()
    np.testing.assert_allclose(weights.coef.toarray(), best.coef, atol=1e-12)
