"""Problems for several ranks, and checks of their solutions."""

import numpy as np
import scipy.sparse as sp

from multimargin import _core
from multimargin.formulations import FORMULATIONS
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.support.rank_runs import problem_of, solve
from tests.support.tiny_problems import labels, many_classes_problem

NAMES = ["ww", "cs"]


def some_problem(name, dtype=np.float64, n_classes=23, n=160, d=90, C=1.0, seed=0):
    """Weights, an empty row, a class with a third of the samples, classes with one sample."""
    X, y = many_classes_problem(n=n, d=d, n_classes=n_classes, seed=seed)
    y = np.where(np.arange(n) >= n - n // 3, 0, y)
    X = sp.csr_matrix(X)
    X.data[X.indptr[n // 2] : X.indptr[n // 2 + 1]] = 0
    X.eliminate_zeros()
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, n)
    return problem_of(X, y, name, C=C, dtype=dtype, weight=weight)


def run(problem, ranks=1, **options):
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
    alpha[np.repeat(np.arange(n), np.diff(lists.slot_begin)), lists.cls] = lists.value
    alpha[np.arange(n), problem.y] = 0
    return alpha


def check_feasible(problem, found):
    alpha = dense_alpha(problem, found)
    taken = alpha.max(axis=1) if problem.formulation == "ww" else alpha.sum(axis=1)
    assert alpha.min() >= 0
    assert np.all(taken <= problem.box * (1 + 3 * np.finfo(problem.box.dtype).eps))


def crawling_problem():
    """Few dense features and a large C: coordinates crawl."""
    rng = np.random.default_rng(3)
    y = labels(rng, 120, 4)
    X = rng.standard_normal((120, 3)) + 0.5 * y[:, None]
    return problem_of(X, y, "ww", C=1e4)


def visit_rule(batch):
    """Everything is visited and moves, as if all samples of a batch were alike."""
    return _core.VisitRule(
        everything=True,
        leave_below=0.0,
        idle=-1.0,
        quiet_gap=0.0,
        quiet_violation=-1.0,
        batch=batch,
        coupling=1.0,
    )
