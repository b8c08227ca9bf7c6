"""Slow NumPy twins of the Crammer-Singer (CS) machine, and a solver to certify them.

Primal  P(W) = 1/2 sum_c |w_c|^2 + sum_i u_i max(0, max_{c != y_i} m_ic)
Dual    D(a) = sum_ic a_ic - 1/2 sum_c |w_c(a)|^2,   a_ic >= 0,   sum_c a_ic <= u_i
with margins, weights and budgets ``u`` as in `reference`, which has all they share. Nothing here
imports multimargin.
"""

import numpy as np
import scipy.linalg

from reference import _room, margins, weights_from_alpha, wrong_classes, ww_hessian


def cs_primal(W, X, y, box):
    """Primal objective at ``W``."""
    worst = np.where(wrong_classes(y, len(W)), margins(W, X, y), 0.0).max(axis=1)
    return 0.5 * np.sum(W * W) + box @ worst


def cs_dual(alpha, X, y, box):
    """Dual objective at ``alpha``; raises unless ``alpha`` is feasible."""
    own = alpha[np.arange(len(y)), y]
    if np.any(alpha < 0) or np.any(alpha.sum(axis=1) > box * (1 + 1e-14)) or np.any(own):
        raise ValueError("alpha is not feasible, so it bounds nothing")
    W = weights_from_alpha(alpha, X, y)
    return alpha.sum() - 0.5 * np.sum(W * W)


def cs_kkt(alpha, X, y, box, negligible=1e-9):
    """Largest gain per unit of moving from a class, or from the unused budget, to another.

    Shares of the budget up to ``negligible`` count as nothing to move.
    """
    others = wrong_classes(y, alpha.shape[1])
    m = margins(weights_from_alpha(alpha, X, y), X, y)
    gain = np.where(others, m, 0.0).max(axis=1)
    held = others & (alpha > negligible * box[:, None])
    price = np.where(held, m, np.inf).min(axis=1)
    unused = box - alpha.sum(axis=1) > negligible * box
    price = np.where(unused, np.minimum(price, 0.0), price)
    return np.max(np.maximum(gain - price, 0.0))


def solve_cs_qp(X, y, box, n_classes=None, max_gap=1e-8):
    """Optimum of a tiny CS problem, certified by its own duality gap.

    Returns
    -------
    W : (K, d) array
    alpha : (n, K) array
    primal, dual : float
        The optimum lies between them; they differ by at most ``max_gap`` of the primal.
    """
    n_classes = int(np.max(y)) + 1 if n_classes is None else n_classes
    live = np.flatnonzero(box > 0)
    mask = wrong_classes(y[live], n_classes)
    shares = np.zeros(mask.shape)
    scale = np.repeat(box[live], n_classes - 1)
    Q = ww_hessian(X[live], y[live], n_classes) * scale[:, None] * scale[None, :]
    shares[mask] = _solve_simplex_qp(Q, scale, len(live))
    alpha = np.zeros((len(y), n_classes))
    alpha[live] = shares / np.maximum(1.0, shares.sum(axis=1, keepdims=True)) * box[live, None]
    W = weights_from_alpha(alpha, X, y)
    primal, dual = cs_primal(W, X, y, box), cs_dual(alpha, X, y, box)
    if not primal - dual <= max_gap * abs(primal):
        raise ArithmeticError(f"the reference stopped at primal {primal!r}, dual {dual!r}")
    return W, alpha, primal, dual


def _solve_simplex_qp(H, gain, groups, tol=1e-11, max_iter=200):
    """Maximise ``gain'x - 1/2 x'Hx`` over ``x >= 0``, each of the equal groups adding up to <= 1.

    Mehrotra's predictor and corrector, as `reference.solve_box_qp` has it for boxes.
    """
    width = len(gain) // groups
    M = np.kron(np.eye(groups), np.ones(width))
    x = np.full(len(gain), 0.5 / width)
    z, v = gain.copy(), gain[::width].copy()  # multipliers of x >= 0 and Mx <= 1
    best, best_gap = x, np.inf
    for _ in range(max_iter):
        slack = 1.0 - M @ x
        gradient = H @ x - gain
        worst = np.maximum(0.0, (-gradient).reshape(groups, width).max(axis=1))
        gap = worst.sum() + gradient @ x
        if gap < best_gap:
            best, best_gap = x, gap
        size = max(1e-300, abs(gain @ x - 0.5 * x @ H @ x))
        mu = (z @ x + v @ slack) / (len(x) + groups)
        if gap <= tol * size or mu * len(x) <= 1e-4 * tol * size:
            break
        try:
            factor = scipy.linalg.cho_factor(H + np.diag(z / x) + (M.T * (v / slack)) @ M)
        except np.linalg.LinAlgError:
            break  # this near the bounds rounding ends it; the caller looks at the gap
        residual = gradient - z + v @ M

        def step_to(
            target_z, target_v, factor=factor, residual=residual, slack=slack, x=x, z=z, v=v
        ):
            right = -residual + target_z / x - (target_v / slack) @ M
            dx = scipy.linalg.cho_solve(factor, right)
            return dx, (target_z - z * dx) / x, (target_v + v * (M @ dx)) / slack

        def longest(dx, dz, dv, slack=slack, x=x, z=z, v=v):
            return min(_room(x, dx), _room(slack, -(M @ dx)), _room(z, dz), _room(v, dv))

        dx, dz, dv = step_to(-z * x, -v * slack)
        t = longest(dx, dz, dv)
        ahead = (z + t * dz) @ (x + t * dx) + (v + t * dv) @ (slack - t * (M @ dx))
        centre = mu * (ahead / (len(x) + groups) / mu) ** 3
        dx, dz, dv = step_to(-z * x + centre - dz * dx, -v * slack + centre + dv * (M @ dx))
        t = 0.995 * longest(dx, dz, dv)
        x, z, v = x + t * dx, z + t * dz, v + t * dv
    return np.maximum(best, 0.0)
