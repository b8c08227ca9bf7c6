"""The row engine with an intercept that passes hold: where it moves, and what it certifies."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, _core
from multimargin.datasets import make_hierarchical_text
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers.rows._solver import RowSolver

BIAS, SAMPLES, FEATURES, CLASSES = 0.7, 150, 40, 7
every_loss = pytest.mark.parametrize("name", ["ww", "cs"])


def engine_of(name, threads=1, scale=1.0):
    rng = np.random.default_rng(3)
    y = (CLASSES * rng.random(SAMPLES) ** 2).astype(np.int32)
    X = sp.random(SAMPLES, FEATURES, 0.2, random_state=4).toarray() + 0.5 * np.eye(FEATURES)[y]
    X = as_core_csr(sp.csr_matrix(scale * X))
    problem = Problem(X, y, np.full(SAMPLES, 0.3), CLASSES, BIAS, name)
    return problem, _core.row_engine(problem.samples, name, "hinge", CLASSES, threads, seed=0)


def passes(engine, *held):
    none = -np.inf
    return [engine.run_pass(True, none, none, none, hold=hold).gap for hold in held]


def variables(problem, engine):
    alpha, weights = np.empty((SAMPLES, CLASSES)), np.empty((FEATURES + 1, CLASSES))
    engine.alpha(alpha)
    engine.copy_weights(weights)
    shares = -alpha
    shares[np.arange(SAMPLES), problem.y] = alpha.sum(axis=1)
    return alpha, weights, shares


def response(problem, name, alpha):
    """Return L, from the classes with free variables of each sample."""
    L = np.zeros((CLASSES, CLASSES))
    squares = problem.X.multiply(problem.X).sum(axis=1).A1
    for i, a in enumerate(alpha):
        free = a > 0 if name == "cs" else (a > 0) & (a < problem.box[i])
        free[problem.y[i]] = name == "ww" or a.sum() < problem.box[i] * (1 - 1e-9)
        if free.sum() > 1:
            block = np.eye(free.sum()) - 1 / free.sum()
            L[np.ix_(free, free)] += block / squares[i]
    return L


@every_loss
def test_the_intercept_moves_by_a_newton_step(name):
    problem, engine = engine_of(name)
    passes(engine, False, False, True)
    alpha, before, shares = variables(problem, engine)
    passes(engine, True)
    moved = BIAS * (variables(problem, engine)[1][-1] - before[-1])
    rest = BIAS * (BIAS * shares.sum(axis=0) - before[-1])
    matrix = np.eye(CLASSES) + BIAS**2 * response(problem, name, alpha)
    left = rest - matrix @ moved
    # Conjugate gradients end at a tenth, in the norm of their preconditioner.
    assert left @ (left / np.diag(matrix)) <= 0.0101 * rest @ (rest / np.diag(matrix))


@every_loss
def test_certificates_are_of_the_held_intercept(name):
    problem, engine = engine_of(name)
    passes(engine, False, False, True, True)
    engine.recompute()
    alpha, weights, shares = variables(problem, engine)
    made = np.vstack([problem.X.T @ shares, BIAS * shares.sum(axis=0)])
    np.testing.assert_allclose(weights[:-1], made[:-1], atol=1e-12)
    assert np.abs(weights[-1] - made[-1]).max() > 1e-3
    seen = engine.certify()
    assert seen.half_norm == pytest.approx(np.sum(weights**2) / 2)
    assert seen.dual_half_norm == pytest.approx(np.sum(made**2) / 2)
    scores = problem.X @ weights[:-1] + BIAS * weights[-1]
    margins = 1 + scores - scores[np.arange(SAMPLES), problem.y][:, None]
    margins[np.arange(SAMPLES), problem.y] = 0
    losses = np.maximum(margins, 0)
    losses = losses.max(axis=1) if name == "cs" else losses.sum(axis=1)
    assert seen.loss == pytest.approx(problem.box @ losses)
    assert seen.gain == pytest.approx(alpha.sum())


@every_loss
def test_holding_leads_to_the_optimum_of_passes_that_move_it(name):
    ends = []
    for hold in (True, False):
        _, engine = engine_of(name)
        gaps = passes(engine, False, False, *[hold] * 300)
        assert gaps[-1] < 1e-6 * gaps[0]
        engine.recompute()
        seen = engine.certify()
        ends.append(seen.half_norm + seen.loss)
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@every_loss
def test_threads_and_a_state_that_is_put_back_change_no_bit(name):
    ends = []
    for threads in (1, 3):
        problem, engine = engine_of(name, threads)
        passes(engine, False, True, True)
        engine.recompute()
        kept = engine.save()
        passes(engine, True, True, False)
        ends.append(variables(problem, engine)[:2])
        _, again = engine_of(name, threads)
        again.load(kept["alpha"], kept["weights"], kept["scores"], kept["state"])
        passes(again, True, True, False)
        ends.append(variables(problem, again)[:2])
    for alpha, weights in ends[1:]:
        np.testing.assert_array_equal(alpha, ends[0][0])
        np.testing.assert_array_equal(weights, ends[0][1])


@every_loss
def test_weak_features_do_not_hold_it(name):
    ends = []
    for hold in (True, False):
        problem, engine = engine_of(name, scale=0.01)
        passes(engine, False, hold, hold)
        ends.append(variables(problem, engine)[1])
    np.testing.assert_array_equal(*ends)


def test_newton_steps_do_not_begin_because_an_intercept_was_let_go(monkeypatch):
    """Its gap rises in the first passes that move it with the samples, and then falls."""
    began = []
    begin = RowSolver._begin_newton
    monkeypatch.setattr(
        RowSolver, "_begin_newton", lambda self: (began.append(self._passes), begin(self))[1]
    )
    shape = {"words_per_sample": 120, "topic_share": 0.12, "random_state": 0}
    X, y = make_hierarchical_text(6000, 20_000, 100, **shape)
    model = MulticlassSVC("ww", C=2.0, random_state=0).fit(X, y)
    assert model.converged_ and not began
