"""Weston-Watkins and Crammer-Singer over ranks: the same bits, and the optimum."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin.formulations import FORMULATIONS
from multimargin.solvers._stopping import ViolationStopping
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.reference.cs import solve_cs_qp
from tests.reference.ww import box_of, solve_ww_qp
from tests.solvers.active_set.rank_problems import (
    NAMES,
    check_certified,
    check_feasible,
    dense_alpha,
    run,
    some_problem,
)
from tests.solvers.test_kernels import ISAS
from tests.support.rank_runs import problem_of, solve
from tests.support.tiny_problems import labels, many_classes_problem

REFERENCES = {"ww": solve_ww_qp, "cs": solve_cs_qp}


def test_certified_points_keep_to_their_budgets():
    """Also where what a sample has was passed on from class to class hundreds of times."""
    X, y = many_classes_problem(n=300, d=80, n_classes=60)
    problem = problem_of(X, y, "cs", dtype=np.float32)
    found = run(problem, bundles=8, stopping=ViolationStopping(1e-9), max_passes=200)
    check_feasible(problem, found)
    check_certified(problem, found, rel=1e-5)


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("bundles", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_number_of_ranks_and_threads(name, dtype, bundles):
    problem = some_problem(name, dtype)
    alone = run(problem, bundles=bundles, tol=0.01)
    assert alone.solutions[0].converged
    assert alone.scalars[4] > 5
    check_certified(problem, alone, rel=1e-5)
    check_feasible(problem, alone)
    for ranks, threads in ((1, 2), (2, 1), (3, 2), (4, 1), (5, 2)):
        found = run(problem, ranks, bundles=bundles, threads=threads, tol=0.01)
        assert found.same_bits(alone), (ranks, threads)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_with_long_indices_and_other_seeds(name):
    problem = some_problem(name)
    long = sp.csr_matrix(problem.X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    long = dataclasses.replace(problem, X=long)
    alone = run(problem, bundles=5, seed=1)
    assert type(run(long, bundles=5).solvers[0]._workspace._core).__name__ == "RankWorkspaceF64I64"
    assert run(long, 3, bundles=5, seed=1, threads=2).same_bits(alone)
    assert not run(problem, bundles=5, seed=2).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_with_many_classes_and_batches(name):
    """Not all classes are active from the start, scans find more, samples move in batches."""
    X, y = many_classes_problem(n=200, d=900, n_classes=100)
    problem = problem_of(X, y, name, dtype=np.float32)
    options = {"bundles": 6, "tol": 0.02, "plan": Plan(batch=16, coupling=0.2), "max_passes": 25}
    alone = run(problem, **options)
    assert len(alone.solutions[0].history) > 1
    assert 0 < alone.solutions[0].history[0].active < 200 * 99
    check_certified(problem, alone, rel=1e-5)
    for ranks, threads in [(1, 2), (3, 1)]:
        assert run(problem, ranks, threads=threads, **options).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_when_a_violation_is_asked_for(name):
    problem = some_problem(name, n_classes=80, n=200)
    stopping = ViolationStopping(0.01)
    alone = run(problem, bundles=4, stopping=stopping)
    assert alone.solutions[0].converged and alone.solutions[0].violation <= 0.01
    for ranks in (2, 3):
        assert run(problem, ranks, bundles=4, stopping=stopping, threads=2).same_bits(alone)
    twin = FORMULATIONS[name]
    A = np.hstack([problem.X.toarray(), np.ones((200, 1))])
    alpha = dense_alpha(problem, alone)
    margins = twin.margins(A @ twin.weights(alpha, A, problem.y).T, problem.y)
    assert twin.violations(margins, alpha, problem.box).max() <= 0.01 * (1 + 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bundles_are_two_per_rank_if_nothing_is_said(name):
    problem = some_problem(name)
    assert run(problem, 3).same_bits(run(problem, 1, bundles=6))


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
        found = run(problem, 2, bundles=bundles, tol=1e-5, max_passes=50_000)
        assert found.solutions[0].converged
        check_feasible(problem, run(problem, bundles=bundles, tol=1e-3))
        primal = check_certified(problem, found)
        assert bound * (1 - 1e-8) <= primal <= best * (1 + 2e-5)
        assert found.solutions[0].dual <= best * (1 + 1e-8)
        W = np.hstack([found.coef, found.constant[:, None]])
        assert 0.5 * np.sum((W - best_W) ** 2) <= 4e-5 * best + 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_that_of_one_process(name, dtype):
    problem = some_problem(name, dtype, n_classes=100, n=300)
    tol = 1e-3
    plain = solve(problem, ActiveSetSolver, tol=tol)
    assert not plain.solvers[0]._workspace.divided
    for bundles in (1, 6):
        found = run(problem, 2, bundles=bundles, tol=tol)
        assert found.solutions[0].converged
        check_feasible(problem, run(problem, bundles=bundles, tol=tol))
        primal = check_certified(problem, found, rel=1e-5)
        # Each primal is within tol of the optimum, each dual below it.
        assert found.solutions[0].dual <= plain.solutions[0].primal * (1 + 1e-6)
        assert primal * (1 - tol) <= plain.solutions[0].primal * (1 + 1e-6)
        assert plain.solutions[0].dual <= primal * (1 + 1e-6)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_set_reaches_the_optimum(name, isa):
    problem = some_problem(name)
    found, best = (run(problem, bundles=4, tol=1e-5, isa=i) for i in (isa, 0))
    assert found.solutions[0].primal == pytest.approx(best.solutions[0].primal, rel=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_more_bundles_than_classes_and_more_ranks_than_bundles(name, n_classes):
    problem = some_problem(name, n_classes=n_classes, n=40, d=20)
    alone = run(problem, bundles=64, tol=1e-4, max_passes=5000)
    assert alone.solutions[0].converged
    assert alone.solvers[0]._workspace.bundles == n_classes
    check_certified(problem, alone)
    for ranks in (2, 4, 5):
        found = run(problem, ranks, bundles=64, tol=1e-4, max_passes=5000)
        assert found.same_bits(alone)
        some = sum(len(s.weights.classes) > 0 for s in found.solutions)
        assert some == min(ranks, -(-n_classes // 2))


@pytest.mark.parametrize("name", NAMES)
def test_one_class_has_nearly_all_samples(name):
    X, y = many_classes_problem(n=150, d=60, n_classes=12)
    y[12:] = 3
    problem = problem_of(X, y, name, C=0.5)
    alone = run(problem, bundles=4, tol=1e-4, max_passes=5000)
    assert alone.solutions[0].converged
    check_certified(problem, alone)
    assert run(problem, 2, bundles=4, tol=1e-4, max_passes=5000, threads=2).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_empty_rows(name):
    problem = problem_of(sp.csr_matrix((9, 4)), np.arange(9) % 3, name, C=0.5, bias=0.0)
    for ranks in (1, 2, 3):
        found = run(problem, ranks, bundles=3)
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
        found = run(problem, ranks, bundles=bundles, tol=1e-5, max_passes=20_000)
        assert found.solutions[0].converged
        primal = check_certified(problem, found)
        assert bound * (1 - 1e-8) <= primal <= best * (1 + 2e-5)
        assert found.solutions[0].dual > duals[-1]
