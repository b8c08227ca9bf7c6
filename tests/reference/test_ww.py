"""The reference must be right by itself before the package is measured against it."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.svm import LinearSVC

from tests.reference.qp import solve_box_qp
from tests.reference.ww import (
    block_solve_reference,
    box_of,
    margins,
    solve_binary_hinge,
    solve_ww_qp,
    weights_from_alpha,
    with_intercept,
    wrong_classes,
    ww_block_update,
    ww_dual,
    ww_gap,
    ww_hessian,
    ww_kkt,
    ww_primal,
)


def problem(seed, n=18, d=5, n_classes=4, C=1.0):
    """A random problem with every class present, one empty row and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[n // 2] = 0.0
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return X, y, box_of(y, C, sample_weight=rng.uniform(0.2, 2.0, size=n))


def feasible(rng, y, box, n_classes):
    """A random point of the box with a third of its coordinates at either bound."""
    share = np.clip(rng.uniform(-1.0, 2.0, size=(len(y), n_classes)), 0.0, 1.0)
    return np.where(wrong_classes(y, n_classes), share * box[:, None], 0.0)


def test_primal_and_weights_agree_with_loops():
    X, y, box = problem(0)
    rng = np.random.default_rng(1)
    alpha = feasible(rng, y, box, 4)
    W = np.zeros((4, X.shape[1]))
    for i in range(len(y)):
        for c in range(4):
            W[y[i]] += alpha[i, c] * X[i]
            W[c] -= alpha[i, c] * X[i]
    np.testing.assert_allclose(weights_from_alpha(alpha, X, y), W, atol=1e-12)
    primal = 0.5 * np.sum(W**2)
    for i in range(len(y)):
        for c in set(range(4)) - {y[i]}:
            primal += box[i] * max(0.0, 1.0 - (W[y[i]] @ X[i] - W[c] @ X[i]))
    assert ww_primal(W, X, y, box) == pytest.approx(primal, rel=1e-12)


def test_margins_are_the_gradient_of_the_dual():
    X, y, box = problem(2)
    alpha = 0.5 * feasible(np.random.default_rng(3), y, box, 4) + 0.1 * box[:, None]
    alpha[np.arange(len(y)), y] = 0.0
    m = margins(weights_from_alpha(alpha, X, y), X, y)
    step = 1e-6
    for i, c in [(0, 1), (3, 0), (7, (y[7] + 1) % 4), (9, (y[9] + 2) % 4)]:
        up, down = alpha.copy(), alpha.copy()
        up[i, c] += step
        down[i, c] -= step
        slope = (ww_dual(up, X, y, box) - ww_dual(down, X, y, box)) / (2.0 * step)
        assert slope == pytest.approx(m[i, c], abs=1e-6)


def test_hessian_gives_the_dual():
    X, y, box = problem(4)
    alpha = feasible(np.random.default_rng(5), y, box, 4)
    a = alpha[wrong_classes(y, 4)]
    quadratic = a.sum() - 0.5 * a @ ww_hessian(X, y, 4) @ a
    assert quadratic == pytest.approx(ww_dual(alpha, X, y, box), rel=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_gap_is_the_sum_of_complementarity(seed):
    """P - D = sum (u - a) max(0, m) + a max(0, -m): never negative, and what a violation costs."""
    X, y, box = problem(seed)
    alpha = feasible(np.random.default_rng(seed), y, box, 4)
    W = weights_from_alpha(alpha, X, y)
    m = margins(W, X, y)
    terms = (box[:, None] - alpha) * np.maximum(0.0, m) + alpha * np.maximum(0.0, -m)
    expected = np.sum(terms[wrong_classes(y, 4)])
    gap = ww_primal(W, X, y, box) - ww_dual(alpha, X, y, box)
    assert gap == pytest.approx(expected, rel=1e-9)
    violation = ww_kkt(alpha, X, y, box)
    assert 0.0 <= gap <= violation * box.sum() * 3


def test_dual_refuses_points_outside_the_box():
    X, y, box = problem(6)
    alpha = np.zeros((len(y), 4))
    alpha[0, 1] = 1.01 * box[0]
    with pytest.raises(ValueError, match="feasible"):
        ww_dual(alpha, X, y, box)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_qp_has_no_gap_and_meets_kkt(n_classes, C):
    X, y, box = problem(int(10 * C) + n_classes, n=30, n_classes=n_classes, C=C)
    _, alpha, primal, dual = solve_ww_qp(X, y, box)
    assert primal - dual <= 1e-9 * primal
    assert ww_gap(alpha, X, y, box) == pytest.approx((primal - dual) / primal, abs=1e-14)
    # An interior point ends next to the bounds, not on them.
    near = 1e-6 * box[:, None]
    snapped = np.where(alpha < near, 0.0, alpha)
    snapped = np.where(alpha > box[:, None] - near, box[:, None], snapped)
    assert ww_kkt(snapped, X, y, box) <= 1e-3


def test_qp_agrees_with_lbfgsb():
    X, y, box = problem(8, n=20, n_classes=3)
    Q, upper = ww_hessian(X, y, 3), np.repeat(box, 2)
    found = scipy.optimize.minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(len(upper)),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(np.zeros_like(upper), upper, strict=True)),
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-10},
    )
    assert -found.fun == pytest.approx(solve_ww_qp(X, y, box)[3], rel=1e-8)


def test_qp_agrees_with_block_ascent():
    X, y, box = problem(9, n=15, n_classes=5, C=0.3)
    alpha = np.zeros((len(y), 5))
    values = [0.0]
    while ww_gap(alpha, X, y, box) > 1e-8:
        assert len(values) < 2000, "block ascent does not converge"
        for i in range(len(y)):
            alpha = ww_block_update(alpha, i, X, y, box)
        values.append(ww_dual(alpha, X, y, box))
    assert np.all(np.diff(values) >= -1e-12)
    W, _, primal, _ = solve_ww_qp(X, y, box)
    assert values[-1] == pytest.approx(primal, rel=1e-7)
    # W is unique (the primal is strongly convex), although alpha need not be.
    np.testing.assert_allclose(weights_from_alpha(alpha, X, y), W, atol=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_block_solve_is_the_optimum_of_its_block(seed):
    """The block maximises ``b.a - 1/2 a.a - 1/2 (sum a)^2``, which is the dual's block over k."""
    rng = np.random.default_rng(seed)
    b, bound = rng.normal(1.0, 3.0, size=rng.integers(1, 40)), rng.choice([0.05, 1.0, 50.0])
    a = block_solve_reference(b, bound)
    gradient = b - a - a.sum()
    assert np.all(gradient[a == 0.0] <= 1e-9)
    assert np.all(gradient[a == bound] >= -1e-9)
    assert np.all(np.abs(gradient[(a > 0.0) & (a < bound)]) <= 1e-9)


def test_block_solve_with_equal_entries_and_all_negative():
    np.testing.assert_allclose(block_solve_reference(np.full(9, 5.0), 10.0), 0.5, rtol=1e-12)
    np.testing.assert_array_equal(block_solve_reference(np.array([-1.0, -2.0]), 10.0), 0.0)


def test_zero_box_drops_a_sample():
    X, y, box = problem(11)
    box[5] = 0.0
    keep = np.arange(len(y)) != 5
    expected = solve_ww_qp(X[keep], y[keep], box[keep], n_classes=4)[2]
    assert solve_ww_qp(X, y, box)[2] == pytest.approx(expected, rel=1e-8)


def test_box_qp_knows_its_bounds():
    np.testing.assert_allclose(
        solve_box_qp(np.eye(3), np.array([0.5, 1.5, 0.0])), [0.5, 1.0, 0.0], atol=1e-7
    )


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_two_classes_are_the_binary_machine_at_twice_the_penalty(C):
    X, y, box = problem(12, n=40, n_classes=2, C=C)
    X = with_intercept(X, 2.0)
    W, _, primal, _ = solve_ww_qp(X, y, box)
    w, objective = solve_binary_hinge(X, 2.0 * y - 1.0, 2.0 * box)
    assert primal == pytest.approx(0.5 * objective, rel=1e-7)
    np.testing.assert_allclose(W[1] - W[0], w, atol=1e-3 * np.abs(w).max())
    np.testing.assert_allclose(W[1], -W[0], atol=1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_binary_machine_agrees_with_liblinear(C):
    X, y, box = problem(13, n=40, n_classes=2, C=C)
    peer = LinearSVC(loss="hinge", C=2.0, intercept_scaling=2.0, tol=1e-9, max_iter=10**6)
    peer.fit(X, y, sample_weight=box)
    w, objective = solve_binary_hinge(with_intercept(X, 2.0), 2.0 * y - 1.0, 2.0 * box)
    theirs = np.append(peer.coef_[0], peer.intercept_ / 2.0)
    Z = (2.0 * y - 1.0)[:, None] * with_intercept(X, 2.0)
    assert 0.5 * theirs @ theirs + 2.0 * box @ np.maximum(0.0, 1.0 - Z @ theirs) == pytest.approx(
        objective, rel=1e-6
    )
    np.testing.assert_allclose(theirs, w, atol=1e-3 * np.abs(w).max())
