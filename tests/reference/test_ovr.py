"""The reference of OVR must be right before the package is measured against it."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.svm import LinearSVC

from tests.reference.ovr import (
    ovr_coordinate_update,
    ovr_dual,
    ovr_gap,
    ovr_gradient,
    ovr_hessian,
    ovr_margins,
    ovr_primal,
    ovr_signs,
    ovr_weights,
    solve_ovr_qp,
    squared_hinge_ceiling,
)
from tests.reference.problems import (
    LOSSES,
    PENALTIES,
    primal_by_loops,
    problem,
    shares,
)
from tests.reference.ww import with_intercept


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ovr_primal_agrees_with_loops(n_classes, loss):
    X, y, box = problem(0, n_classes=n_classes)
    signs = ovr_signs(y, n_classes)
    W = np.random.default_rng(1).standard_normal((signs.shape[1], X.shape[1]))
    assert len(W) == (1 if n_classes == 2 else n_classes)
    expected = primal_by_loops(W, X, y, box, n_classes, loss)
    assert ovr_primal(W, X, signs, box, loss) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_ovr_gradient_and_hessian_are_those_of_the_dual(loss):
    X, y, box = problem(2)
    signs = ovr_signs(y, 4)
    alpha = (0.1 + 0.8 * np.random.default_rng(3).random(signs.shape)) * box[:, None]
    g = ovr_gradient(alpha, X, signs, box, loss)
    step = 1e-6
    for i, b in [(0, 1), (3, 0), (9, 2), (9, 3)]:
        up, down = alpha.copy(), alpha.copy()
        up[i, b] += step
        down[i, b] -= step
        rise = ovr_dual(up, X, signs, box, loss) - ovr_dual(down, X, signs, box, loss)
        assert rise / (2.0 * step) == pytest.approx(g[i, b], abs=1e-6)
    quadratic = sum(
        a.sum() - 0.5 * a @ ovr_hessian(X, z, box, loss) @ a
        for a, z in zip(alpha.T, signs.T, strict=True)
    )
    assert quadratic == pytest.approx(ovr_dual(alpha, X, signs, box, loss), rel=1e-11)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("loss", LOSSES)
def test_ovr_gap_is_a_sum_over_the_samples(seed, loss):
    """hinge: (u - a) max(0, m) + a max(0, -m); squared: u (max(0, m) - a/2u)^2 + a max(0, -m)."""
    X, y, box = problem(seed)
    signs = ovr_signs(y, 4)
    alpha = shares(np.random.default_rng(seed), signs.shape) * box[:, None]
    W = ovr_weights(alpha, X, signs)
    m, u = ovr_margins(W, X, signs), box[:, None]
    own = (
        (u - alpha) * np.maximum(0.0, m)
        if loss == "hinge"
        else u * (np.maximum(0.0, m) - alpha / (2.0 * u)) ** 2
    )
    expected = np.sum(own + alpha * np.maximum(0.0, -m))
    gap = ovr_primal(W, X, signs, box, loss) - ovr_dual(alpha, X, signs, box, loss)
    assert gap == pytest.approx(expected, rel=1e-9)
    assert gap >= 0.0


@pytest.mark.parametrize("C", PENALTIES)
def test_the_ceiling_of_the_squared_hinge_does_not_bind(C):
    X, y, box = problem(int(10 * C) + 3, n=30, n_classes=3, C=C)
    alpha = solve_ovr_qp(X, ovr_signs(y, 3), box, "squared_hinge")[1]
    assert np.all(alpha < 0.9 * squared_hinge_ceiling(box)[:, None])


@pytest.mark.parametrize("loss", LOSSES)
def test_ovr_qp_agrees_with_coordinate_ascent(loss):
    X, y, box = problem(9, n=15, n_classes=5, C=0.3)
    signs = ovr_signs(y, 5)
    alpha = np.zeros(signs.shape)
    values = [0.0]
    while ovr_gap(alpha, X, signs, box, loss) > 1e-8:
        assert len(values) < 5000, "coordinate ascent does not converge"
        for i in range(len(y)):
            alpha = ovr_coordinate_update(alpha, i, X, signs, box, loss)
        values.append(ovr_dual(alpha, X, signs, box, loss))
    assert np.all(np.diff(values) >= -1e-12)
    W, _, primal, _ = solve_ovr_qp(X, signs, box, loss)
    assert values[-1] == pytest.approx(primal, rel=1e-7)
    np.testing.assert_allclose(ovr_weights(alpha, X, signs), W, atol=1e-3)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_squared_hinge_agrees_with_the_primal_by_lbfgs(C):
    X, y, box = problem(10, n=30, n_classes=3, C=C)
    signs = ovr_signs(y, 3)
    shape = (3, X.shape[1])

    def objective(w):
        W = w.reshape(shape)
        slope = -2.0 * box[:, None] * signs * np.maximum(0.0, ovr_margins(W, X, signs))
        return ovr_primal(W, X, signs, box, "squared_hinge"), (W + slope.T @ X).ravel()

    found = scipy.optimize.minimize(
        objective, np.zeros(shape).ravel(), jac=True, options={"gtol": 1e-9, "maxiter": 10_000}
    )
    W, _, primal, _ = solve_ovr_qp(X, signs, box, "squared_hinge")
    assert found.fun == pytest.approx(primal, rel=1e-8)
    np.testing.assert_allclose(found.x.reshape(shape), W, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_ovr_agrees_with_liblinear(n_classes, C, loss):
    X, y, box = problem(13, n=40, n_classes=n_classes, C=C)
    peer = LinearSVC(loss=loss, C=1.0, intercept_scaling=2.0, tol=1e-9, max_iter=10**6, dual=True)
    peer.fit(X, y, sample_weight=box)
    theirs = np.hstack([peer.coef_, peer.intercept_[:, None] / 2.0])
    A, signs = with_intercept(X, 2.0), ovr_signs(y, n_classes)
    W, _, primal, _ = solve_ovr_qp(A, signs, box, loss)
    assert ovr_primal(theirs, A, signs, box, loss) == pytest.approx(primal, rel=1e-6)
    np.testing.assert_allclose(theirs, W, atol=1e-3 * np.abs(W).max())


def test_ovr_all_at_the_bound_when_c_is_small():
    X, y, box = problem(14, C=1e-3)
    signs = ovr_signs(y, 4)
    W, alpha, _, _ = solve_ovr_qp(X, signs, box)
    np.testing.assert_allclose(alpha, np.broadcast_to(box[:, None], alpha.shape), rtol=1e-6)
    for c in range(4):
        closed = (box * (y == c)) @ X - (box * (y != c)) @ X
        np.testing.assert_allclose(W[c], closed, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_ovr_zero_box_drops_a_sample(loss):
    X, y, box = problem(11)
    box[5] = 0.0
    keep = np.arange(len(y)) != 5
    signs = ovr_signs(y, 4)
    expected = solve_ovr_qp(X[keep], signs[keep], box[keep], loss)[2]
    _, alpha, primal, _ = solve_ovr_qp(X, signs, box, loss)
    assert primal == pytest.approx(expected, rel=1e-8)
    assert not np.any(ovr_coordinate_update(alpha, 5, X, signs, box, loss)[5])
