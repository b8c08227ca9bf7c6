"""Many classes with a small C: all of a sample at once, variables at their bound as bits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from multimargin import MulticlassSVC, _core
from multimargin.solvers import _engine_choice
from multimargin.solvers._problem import Problem
from multimargin.solvers._registry import choose_for
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import STOPPINGS
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.rows._bounded import BoundedSolver
from tests.estimator.test_threads import bits

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]


def problem(C, bias=0.0, dtype=np.float64, n_classes=45, n=150, d=40):
    X = sp.random(n, d, 0.15, format="csr", random_state=0, dtype=dtype)
    X.data[X.indptr[7] : X.indptr[8]] = 0
    X.eliminate_zeros()  # a sample without entries
    y = (np.arange(n) % n_classes).astype(np.int32)
    box = np.linspace(0.5 * C, C, n).astype(dtype)
    return Problem(X, y, box, n_classes, bias, "ww")


def solve(kind, p, tol=1e-7, stopping="gap", start=None, **options):
    run = kind(p, STOPPINGS[stopping](tol), Limits(5000), keep_alpha=True, **options)
    return run.run(start)


def objectives(p, solution):
    """Primal and dual in double precision, from nothing but weights and dual variables."""
    coef = solution.weights.coef
    W = np.asarray(coef if isinstance(coef, np.ndarray) else coef.toarray(), dtype=np.float64)
    b = solution.weights.constant.astype(np.float64)
    X, rows = p.X.astype(np.float64), np.arange(len(p.y))
    scores = X @ W.T + p.bias * b
    margins = np.maximum(0, 1 + scores - scores[rows, p.y][:, None])
    margins[rows, p.y] = 0
    primal = 0.5 * (np.sum(W**2) + np.sum(b**2)) + np.sum(p.box * margins.sum(axis=1))
    alpha = np.zeros(scores.shape)
    first = solution.alpha.slot_begin
    alpha[np.repeat(rows, np.diff(first)), solution.alpha.cls] = solution.alpha.value
    alpha[rows, p.y] = 0
    assert np.all((alpha >= 0) & (alpha <= p.box[:, None]))
    total, share = alpha.sum(axis=1), -alpha
    share[rows, p.y] = total
    made = X.T @ share
    return primal, total.sum() - 0.5 * (np.sum(made**2) + p.bias**2 * np.sum(share.sum(0) ** 2))


@pytest.mark.parametrize("bias", [0.0, 1.5])
@pytest.mark.parametrize("C", [0.003, 0.05, 2.0])
def test_the_optimum_is_that_of_the_active_set(C, bias):
    p = problem(C, bias)
    ours, other = solve(BoundedSolver, p), solve(ActiveSetSolver, p)
    assert ours.converged
    assert ours.dual <= other.primal and other.dual <= ours.primal
    assert objectives(p, ours) == pytest.approx((ours.primal, ours.dual), rel=1e-9)
    again = solve(BoundedSolver, p, start=ours.alpha)
    assert again.passes == 0 and again.primal == ours.primal
    warm = solve(ActiveSetSolver, p, start=ours.alpha)
    assert len(warm.history) == 1


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_certificates_in_single_precision_are_bounds(isa, bias):
    p = problem(0.01, bias, np.float32, n_classes=70, n=300)
    ours = solve(BoundedSolver, p, tol=1e-3, isa=isa)
    primal, dual = objectives(p, ours)
    assert ours.converged
    assert primal <= ours.primal <= primal * (1 + 1e-4)
    assert dual * (1 - 1e-5) <= ours.dual <= dual * (1 + 1e-7)


def test_violations():
    p = problem(0.05)
    ours = solve(BoundedSolver, p, 1e-3, "violation")
    assert ours.converged and ours.violation <= 1e-3


def test_limits():
    p = problem(0.05)
    ended = BoundedSolver(p, STOPPINGS["gap"](1e-9), Limits(2)).run()
    assert (ended.ended_by, ended.passes) == ("max_iter", 2)
    assert objectives(p, solve(BoundedSolver, p, 1e-9))[1] <= ended.primal


def test_it_is_chosen_where_samples_need_many_classes(monkeypatch):
    few, many = problem(1e3, n_classes=170, n=340), problem(0.01, n_classes=170, n=340)
    assert choose_for(few).solver is ActiveSetSolver
    assert choose_for(many).solver is BoundedSolver
    assert "135 of 170 classes" in choose_for(many).reason
    monkeypatch.setattr(_engine_choice, "_MOST_WEIGHT_BYTES", 0)
    assert choose_for(many).solver is BoundedSolver  # pairs would take more
    monkeypatch.setattr(_engine_choice, "pair_bytes", lambda X: 1)
    assert choose_for(many).solver is ActiveSetSolver


@pytest.mark.parametrize("density", [0.005, 0.2])  # CSR weights, dense ones
def test_models_are_the_same_bits_for_any_number_of_threads(density):
    X = sp.random(600, 300, density, format="csr", random_state=1, dtype=np.float32)
    y = np.arange(600) % 200
    model = MulticlassSVC("ww", C=0.002, random_state=0)
    models = [clone(model).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3)]
    assert "bounded rows" in models[0].history_[0]["engine"]
    assert len({bits(model) for model in models}) == 1
    primal = models[0].certify(X, y).primal
    assert primal <= models[0].primal_objective_ <= primal * (1 + 1e-4)
