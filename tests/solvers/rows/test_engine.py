"""The row engine against the NumPy twins: the exact step of one sample, and the certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import _core
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from tests.reference.problems import shares

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]
every_formulation = pytest.mark.parametrize("name", FORMULATIONS)


def feasible(facts, rng, y, box, n_classes):
    """Random dual variables, a third of them at either bound."""
    alpha = shares(rng, (len(y), n_classes)) * box[:, None] * facts.variables(y, n_classes)
    if not facts.separable:
        alpha *= (box / np.maximum(alpha.sum(axis=1), box))[:, None]
    return alpha


def engine_of(name, X, y, box, n_classes, bias=0.0, isa=None, dtype=np.float64, threads=1):
    y = y.astype(np.int32)
    problem = Problem(as_core_csr(X.astype(dtype)), y, box.astype(dtype), n_classes, bias, name)
    engine = _core.row_engine(
        problem.samples, name, "hinge", n_classes, threads=threads, seed=0, isa=isa
    )
    return problem, engine


def weights_of(engine, n_classes, n_features, dtype=np.float64):
    coef, constant = np.empty((n_classes, n_features), dtype), np.empty(n_classes, dtype)
    engine.weights(coef, constant)
    return np.hstack([coef, constant[:, None]])


@every_formulation
@pytest.mark.parametrize("isa", ISAS)
@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(3, 20),
    box=st.sampled_from([0.01, 1.0, 100.0]),
    size=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_a_pass_solves_a_sample(name, isa, seed, n_classes, box, size):
    facts, rng = FORMULATIONS[name], np.random.default_rng(seed)
    X, y = size * rng.standard_normal((1, 3)), rng.integers(n_classes, size=1)
    alpha = feasible(facts, rng, y, np.array([box]), n_classes)
    _, engine = engine_of(name, X, y, np.array([box]), n_classes, isa=isa)
    engine.assign(alpha)
    assert engine.run_pass(True, -np.inf, -np.inf, -np.inf).complete
    found = np.empty_like(alpha)
    engine.alpha(found)
    margins = facts.margins(X @ facts.weights(alpha, X, y).T, y)[0]
    expected = facts.solve_row(margins, alpha[0], int(y[0]), box, float(np.sum(X * X)))[None, :]
    # Other variables may make the same weights.
    near = 1e-9 * max(1.0, box * size)
    W = facts.weights(found, X, y)
    np.testing.assert_allclose(W, facts.weights(expected, X, y), atol=near)
    np.testing.assert_allclose(weights_of(engine, n_classes, 3)[:, :3], W, atol=near)
    dual = facts.dual(expected, X, y)
    assert facts.dual(found, X, y) == pytest.approx(dual, abs=near * n_classes)
    assert np.all(found >= 0) and not found[~facts.variables(y, n_classes)].any()
    assert (found.max() if facts.separable else found.sum()) <= box * (1 + 1e-14)


@every_formulation
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 0.75])
def test_certificates_are_those_of_the_twin(name, isa, dtype, bias):
    facts = FORMULATIONS[name]
    for n_classes in (3, 8, 21):
        rng = np.random.default_rng(n_classes)
        n = 2 * n_classes
        X = rng.standard_normal((n, 5)) * (rng.random((n, 5)) < 0.6)
        X[[1, 4]] = 0.0
        y = np.arange(n) % n_classes
        problem, engine = engine_of(
            name, X, y, rng.uniform(0.2, 2.0, n), n_classes, bias, isa, dtype, threads=2
        )
        box, A = problem.box.astype(float), problem.X.toarray().astype(float)
        A = np.hstack([A, np.full((n, 1), bias)])
        alpha = feasible(facts, rng, y, box, n_classes)
        engine.assign(alpha)
        engine.alpha(alpha)  # those of rows without entries are known
        seen, W = engine.certify(), facts.weights(alpha, A, y)
        near = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(weights_of(engine, n_classes, 5, dtype), W, atol=near * 100)
        primal = facts.primal(W, A, y, box)
        assert seen.half_norm + seen.loss == pytest.approx(primal, rel=near)
        assert seen.half_norm + seen.loss >= primal * (1 - near)
        dual = facts.dual(alpha, A, y)
        assert seen.gain - seen.dual_half_norm == pytest.approx(dual, rel=1e-10)
        full = np.any(A != 0, axis=1)
        violations = facts.violations(facts.margins(A @ W.T, y), alpha, box)[full]
        assert seen.violation == pytest.approx(violations.max(), rel=1e-4)


@every_formulation
def test_passes_raise_the_dual_to_the_primal(name):
    facts, rng = FORMULATIONS[name], np.random.default_rng(3)
    n, n_classes = 40, 6
    X, y, box = rng.standard_normal((n, 9)), np.arange(n) % n_classes, rng.uniform(0.02, 0.2, n)
    _, engine = engine_of(name, X, y, box, n_classes)
    before, alpha = -np.inf, np.empty((n, n_classes))
    for _ in range(300):
        engine.run_pass(True, -np.inf, -np.inf, -np.inf)
        engine.alpha(alpha)
        dual = facts.dual(alpha, X, y)
        assert dual >= before - 1e-12 * abs(dual)
        before = dual
    primal = facts.primal(facts.weights(alpha, X, y), X, y, box)
    assert primal - dual <= 1e-3 * primal
