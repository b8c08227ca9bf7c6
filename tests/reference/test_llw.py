"""The reference of LLW must be right before the package is measured against it."""

import numpy as np
import pytest
import scipy.optimize

from tests.reference.llw import (
    llw_block_reference,
    llw_block_update,
    llw_constraints,
    llw_dual,
    llw_gap,
    llw_gradient,
    llw_hard_margin,
    llw_hessian,
    llw_kkt,
    llw_primal,
    llw_separable,
    llw_weights,
    solve_llw_hard,
    solve_llw_qp,
)
from tests.reference.problems import (
    PENALTIES,
    problem,
    separable,
    shares,
    snapped,
)
from tests.reference.ww import solve_binary_hinge, with_intercept, wrong_classes


def llw_feasible(rng, y, box, n_classes):
    share = shares(rng, (len(y), n_classes))
    return np.where(wrong_classes(y, n_classes), share * box[:, None], 0.0)


def test_llw_primal_and_weights_agree_with_loops():
    X, y, box = problem(0)
    alpha = llw_feasible(np.random.default_rng(1), y, box, 4)
    W = np.zeros((4, X.shape[1]))
    for i in range(len(y)):
        for c in range(4):
            # The class is pushed away from the sample, and the mean is given back to all.
            W[c] -= alpha[i, c] * X[i]
            W += alpha[i, c] * X[i] / 4.0
    np.testing.assert_allclose(llw_weights(alpha, X, y), W, atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=1e-12)
    primal = 0.5 * np.sum(W**2)
    for i in range(len(y)):
        for c in set(range(4)) - {y[i]}:
            primal += box[i] * max(0.0, 1.0 + W[c] @ X[i])
    assert llw_primal(W, X, y, box) == pytest.approx(primal, rel=1e-12)


def test_llw_gradient_hessian_and_constraints_are_those_of_the_dual():
    X, y, box = problem(2)
    alpha = 0.5 * llw_feasible(np.random.default_rng(3), y, box, 4) + 0.1 * box[:, None]
    alpha[np.arange(len(y)), y] = 0.0
    W = llw_weights(alpha, X, y)
    g = llw_gradient(W, X)
    step = 1e-6
    for i, c in [(0, 1), (3, 0), (7, (y[7] + 1) % 4), (9, (y[9] + 2) % 4)]:
        up, down = alpha.copy(), alpha.copy()
        up[i, c] += step
        down[i, c] -= step
        slope = (llw_dual(up, X, y, box) - llw_dual(down, X, y, box)) / (2.0 * step)
        assert slope == pytest.approx(g[i, c], abs=1e-6)
    mask = wrong_classes(y, 4)
    a, Q, G = alpha[mask], llw_hessian(X, y, 4), llw_constraints(X, y, 4)
    assert a.sum() - 0.5 * a @ Q @ a == pytest.approx(llw_dual(alpha, X, y, box), rel=1e-11)
    np.testing.assert_allclose(G @ G.T, Q, atol=1e-12)
    np.testing.assert_allclose((a @ G).reshape(W.shape), W, atol=1e-12)
    np.testing.assert_allclose(1.0 - G @ W.ravel(), g[mask], atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_llw_gap_is_the_sum_of_complementarity(seed):
    """P - D = sum (u - a) max(0, g) + a max(0, -g)."""
    X, y, box = problem(seed)
    alpha = llw_feasible(np.random.default_rng(seed), y, box, 4)
    W = llw_weights(alpha, X, y)
    g = llw_gradient(W, X)
    terms = (box[:, None] - alpha) * np.maximum(0.0, g) + alpha * np.maximum(0.0, -g)
    gap = llw_primal(W, X, y, box) - llw_dual(alpha, X, y, box)
    assert gap == pytest.approx(np.sum(terms[wrong_classes(y, 4)]), rel=1e-9)
    assert 0.0 <= gap <= llw_kkt(alpha, X, y, box) * box.sum() * 3


def test_llw_refuses_what_is_not_feasible():
    X, y, box = problem(6)
    alpha = np.zeros((len(y), 4))
    alpha[0, 1] = 1.01 * box[0]
    with pytest.raises(ValueError, match="feasible"):
        llw_dual(alpha, X, y, box)
    with pytest.raises(ValueError, match="feasible"):
        llw_primal(np.ones((4, X.shape[1])), X, y, box)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bound", [0.05, 1.0, np.inf])
def test_llw_block_is_the_optimum_of_its_block(seed, bound):
    """Moving e changes the gradient by -k (e - sum e / K): at the optimum no coordinate rises."""
    rng = np.random.default_rng(seed)
    n_classes, k = int(rng.integers(2, 40)), rng.uniform(0.1, 5.0)
    a = shares(rng, n_classes - 1) * min(bound, 3.0)
    g = rng.normal(0.5, 3.0, size=n_classes - 1)
    found = llw_block_reference(a, g, k, bound, n_classes)
    step = found - a
    gradient = g - k * (step - step.sum() / n_classes)
    at_upper = found >= bound
    assert np.all(gradient[found == 0.0] <= 1e-9)
    assert np.all(gradient[at_upper] >= -1e-9)
    assert np.all(np.abs(gradient[(found > 0.0) & ~at_upper]) <= 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_llw_block_update_raises_the_dual_and_ends_the_block(seed):
    X, y, box = problem(seed)
    rng = np.random.default_rng(seed)
    alpha = llw_feasible(rng, y, box, 4)
    for i in range(len(y)):
        before = llw_dual(alpha, X, y, box)
        alpha = llw_block_update(alpha, i, X, y, box)
        after = llw_dual(alpha, X, y, box)
        assert after >= before - 1e-12
        # KKT of this row alone, at the weights of all rows.
        g = llw_gradient(llw_weights(alpha, X, y), X)[i]
        exists = np.arange(4) != y[i]
        free = exists & (alpha[i] > 0.0) & (alpha[i] < box[i])
        assert np.all(np.abs(g[free]) <= 1e-9)
        assert np.all(g[exists & (alpha[i] == 0.0)] <= 1e-9)
        assert np.all(g[alpha[i] >= box[i]] >= -1e-9)
        for _ in range(5):
            other = alpha.copy()
            other[i] = llw_feasible(rng, y, box, 4)[i]
            assert llw_dual(other, X, y, box) <= after + 1e-10, "a better block exists"


@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
@pytest.mark.parametrize("C", PENALTIES)
def test_llw_qp_has_no_gap_and_meets_kkt(n_classes, C):
    X, y, box = problem(int(10 * C) + n_classes, n=30, n_classes=n_classes, C=C)
    _, alpha, primal, dual = solve_llw_qp(X, y, box)
    assert primal - dual <= 1e-9 * primal
    assert llw_gap(alpha, X, y, box) == pytest.approx((primal - dual) / primal, abs=1e-14)
    assert llw_kkt(snapped(alpha, box[:, None]), X, y, box) <= 1e-2


def test_llw_qp_agrees_with_lbfgsb():
    X, y, box = problem(8, n=20, n_classes=3)
    Q, upper = llw_hessian(X, y, 3), np.repeat(box, 2)
    found = scipy.optimize.minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(len(upper)),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(np.zeros_like(upper), upper, strict=True)),
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-10},
    )
    dual = solve_llw_qp(X, y, box)[3]
    assert -found.fun == pytest.approx(dual, rel=1e-8)


def test_llw_qp_agrees_with_block_ascent():
    X, y, box = problem(9, n=15, n_classes=5, C=0.3)
    alpha = np.zeros((len(y), 5))
    values = [0.0]
    while llw_gap(alpha, X, y, box) > 1e-8:
        assert len(values) < 3000, "block ascent does not converge"
        for i in range(len(y)):
            alpha = llw_block_update(alpha, i, X, y, box)
        values.append(llw_dual(alpha, X, y, box))
    assert np.all(np.diff(values) >= -1e-12)
    W, _, primal, _ = solve_llw_qp(X, y, box)
    assert values[-1] == pytest.approx(primal, rel=1e-7)
    np.testing.assert_allclose(llw_weights(alpha, X, y), W, atol=1e-3)


def test_llw_all_at_the_bound_when_c_is_small():
    X, y, box = problem(14, C=1e-3)
    W, alpha, primal, _ = solve_llw_qp(X, y, box)
    full = np.where(wrong_classes(y, 4), box[:, None], 0.0)
    np.testing.assert_allclose(alpha, full, rtol=1e-6)
    # w_c = mean_e v_e - v_c, v_c = sum over the samples of other classes: own samples attract.
    everyone = box @ X
    for c in range(4):
        closed = (box * (y == c)) @ X - everyone / 4.0
        np.testing.assert_allclose(W[c], closed, rtol=1e-5, atol=1e-9)
    assert llw_gap(full, X, y, box) == pytest.approx(0.0, abs=1e-14)
    assert llw_dual(full, X, y, box) == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_llw_of_two_classes_is_the_binary_machine_at_half_the_penalty(C):
    """With w_1 = -w_0 = v: |v|^2 + sum u hinge(v) is twice the hinge problem at box u / 2."""
    X, y, box = problem(12, n=40, n_classes=2, C=C)
    X = with_intercept(X, 2.0)
    W, _, primal, _ = solve_llw_qp(X, y, box)
    v, objective = solve_binary_hinge(X, 2.0 * y - 1.0, 0.5 * box)
    assert primal == pytest.approx(2.0 * objective, rel=1e-7)
    np.testing.assert_allclose(W[1] - W[0], 2.0 * v, atol=1e-3 * np.abs(v).max())


def test_llw_empty_row_costs_its_loss_in_every_other_class():
    X, y, box = problem(15)
    keep = np.any(X != 0.0, axis=1)
    expected = solve_llw_qp(X[keep], y[keep], box[keep], n_classes=4)[2] + 3.0 * box[~keep].sum()
    assert solve_llw_qp(X, y, box)[2] == pytest.approx(expected, rel=1e-8)


# ---------------------------------------------------------------- the hard margin


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_hard_margin_has_no_gap_and_is_the_limit_of_the_soft_one(seed, n_classes):
    X, y = separable(seed, n_classes=n_classes)
    W, alpha, primal, dual = solve_llw_hard(X, y)
    assert abs(primal - dual) <= 1e-9 * primal
    assert llw_hard_margin(W, X, y) >= 1.0 - 1e-12
    np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=1e-10)
    # Complementary slackness: only constraints that hold with equality carry weight.
    slack = -llw_gradient(W, X)
    assert np.max(alpha * np.where(wrong_classes(y, n_classes), slack, 0.0)) <= 1e-7 * primal
    # The penalty is exact: any finite C above the largest alpha has the same optimum.
    soft = solve_llw_qp(X, y, np.full(len(y), 3.0 * alpha.max()))
    assert soft[2] == pytest.approx(primal, rel=1e-7)
    np.testing.assert_allclose(soft[0], W, atol=1e-3 * np.abs(W).max())
    harder = solve_llw_qp(X, y, np.full(len(y), 0.5 * alpha.max()))
    assert harder[2] < primal * (1.0 - 1e-6), "half of the largest alpha must bind"


def test_hard_margin_agrees_with_slsqp():
    X, y = separable(7, n=10, n_classes=3)
    G = llw_constraints(X, y, 3)
    found = scipy.optimize.minimize(
        lambda w: (0.5 * w @ w, w),
        np.zeros(G.shape[1]),
        jac=True,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda w: G @ w - 1.0, "jac": lambda w: G}],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.success
    W, _, primal, _ = solve_llw_hard(X, y)
    assert found.fun == pytest.approx(primal, rel=1e-8)
    np.testing.assert_allclose(found.x.reshape(W.shape), W, atol=1e-5)


def conflicting():
    """The same row under two labels."""
    X, y = separable(1)
    return np.vstack([X, X[:1]]), np.append(y, (y[0] + 1) % 4)


def with_empty_row():
    X, y = separable(2)
    return np.vstack([X, np.zeros((1, X.shape[1]))]), np.append(y, 0)


def in_the_middle():
    """Three classes in a row: an affine score cannot be low on both sides of its own class."""
    return with_intercept(np.array([[-2.0], [-1.5], [0.0], [0.1], [1.5], [2.0]])), np.array(
        [0, 0, 1, 1, 2, 2]
    )


def overlapping():
    rng = np.random.default_rng(3)
    return with_intercept(rng.standard_normal((40, 3))), np.arange(40) % 4


@pytest.mark.parametrize("make", [conflicting, with_empty_row, in_the_middle, overlapping])
def test_infeasible_hard_margins_are_recognised_by_both_routes(make):
    X, y = make()
    assert not llw_separable(X, y, int(y.max()) + 1)
    with pytest.raises(ValueError, match="infeasible"):
        solve_llw_hard(X, y)


@pytest.mark.parametrize("seed", range(12))
def test_both_routes_agree_whether_a_hard_margin_exists(seed):
    rng = np.random.default_rng(seed)
    n_classes = [2, 3, 4][seed % 3]
    n = int(rng.integers(n_classes, 16))
    X = with_intercept(rng.standard_normal((n, int(rng.integers(2, 9)))))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    if llw_separable(X, y, n_classes):
        _, _, primal, dual = solve_llw_hard(X, y, n_classes)
        assert abs(primal - dual) <= 1e-8 * primal
    else:
        with pytest.raises(ValueError, match="infeasible"):
            solve_llw_hard(X, y, n_classes)
