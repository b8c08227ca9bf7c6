"""Slow NumPy twins of the Lee-Lin-Wahba (LLW) SVM: the formulas, and solvers to certify them.

Primal  P(W) = 1/2 sum_c |w_c|^2 + sum_i u_i sum_{c != y_i} max(0, g_ic)   s.t.  sum_c w_c = 0
Dual    D(a) = sum_ic a_ic - 1/2 sum_c |w_c(a)|^2,   0 <= a_ic <= u_i,   a_{i,y_i} = 0
with    g_ic = 1 + w_c.x_i                           (also the gradient of D)
        w_c(a) = mean_e v_e - v_c,   v_c = sum_i a_ic x_i
        u_i = C * sample_weight_i * class_weight_{y_i}

The hard margin, C = inf: min 1/2 sum_c |w_c|^2 s.t. sum_c w_c = 0 and g_ic <= 0 for c != y_i; its
dual has no upper bounds. It is infeasible more often than "separable" suggests: every class must
split off from all others by one hyperplane, with scores that add up to zero.

Nothing here imports multimargin. Arrays are as in `reference`: dense float64, ``X`` (n, d) with
the constant feature appended, ``W`` (K, d), ``alpha`` (n, K).
"""

import numpy as np
import scipy.optimize

from tests.reference.qp import require_certified
from tests.reference.ww import solve_alpha_qp, wrong_classes


def llw_gradient(W, X):
    """Matrix ``g_ic = 1 + w_c.x_i``, shape (n, K); meaningless at c = y_i."""
    return 1.0 + X @ W.T


def llw_primal(W, X, y, box):
    """Primal objective at ``W``, whose rows must sum to zero."""
    scale = max(1.0, np.abs(W).max(initial=0.0))
    if np.abs(W.sum(axis=0)).max(initial=0.0) > 1e-4 * scale:
        raise ValueError("the rows of W do not sum to zero: it is not feasible")
    hinge = np.where(wrong_classes(y, len(W)), np.maximum(0.0, llw_gradient(W, X)), 0.0)
    return 0.5 * np.sum(W * W) + np.sum(box[:, None] * hinge)


def llw_weights(alpha, X, y):
    """``W(alpha)``, shape (K, d); its rows sum to zero by construction."""
    pushed = np.where(wrong_classes(y, alpha.shape[1]), alpha, 0.0).T @ X
    return pushed.mean(axis=0) - pushed


def llw_dual(alpha, X, y, box):
    """Dual objective at ``alpha``; raises unless ``alpha`` is feasible. ``box`` may be inf."""
    if np.any(alpha < 0) or np.any(alpha > box[:, None]) or np.any(alpha[np.arange(len(y)), y]):
        raise ValueError("alpha is not feasible, so it bounds nothing")
    W = llw_weights(alpha, X, y)
    return alpha.sum() - 0.5 * np.sum(W * W)


def llw_gap(alpha, X, y, box):
    """Relative duality gap ``(P(W(alpha)) - D(alpha)) / |P|`` of a feasible ``alpha``."""
    primal = llw_primal(llw_weights(alpha, X, y), X, y, box)
    return (primal - llw_dual(alpha, X, y, box)) / abs(primal)


def llw_kkt(alpha, X, y, box):
    """Largest projected gradient: 0 exactly at an optimum."""
    g = llw_gradient(llw_weights(alpha, X, y), X)
    upper = np.broadcast_to(box[:, None], alpha.shape)
    # At a bound only the direction back into the box counts.
    g = np.where(alpha <= 0.0, np.maximum(g, 0.0), g)
    g = np.where(alpha >= upper, np.minimum(g, 0.0), g)
    g = np.where(wrong_classes(y, alpha.shape[1]) & (upper > 0.0), g, 0.0)
    return np.max(np.abs(g), initial=0.0)


def llw_block_reference(a, g, k, bound, n_classes):
    """Exact maximiser over one sample's block (the K - 1 classes c != y), by bisection.

    ``a`` and ``g`` are the block's present variables and gradient. A step e changes the gradient
    by ``-k (e_c - D)`` with ``K D = sum_c e_c``, so the optimum is ``clip(a + g / k + D, 0,
    bound)`` at the one root of ``sum_c (clip(a_c + g_c / k + D, 0, bound) - a_c) = K D``: the
    left side rises by at most K - 1 where the right side rises by K.
    """
    target = a + g / k

    def rest(D):
        return np.sum(np.clip(target + D, 0.0, bound) - a) - n_classes * D

    # It falls by at least 1 per unit of D, so the root is no farther from 0 than its value there.
    low, high = min(0.0, rest(0.0)), max(0.0, rest(0.0))
    # 200 halvings exhaust float64 from any start.
    for _ in range(200):
        D = 0.5 * (low + high)
        if rest(D) > 0.0:
            low = D
        else:
            high = D
    return np.clip(target + 0.5 * (low + high), 0.0, bound)


def llw_block_update(alpha, i, X, y, box):
    """A copy of ``alpha`` whose row ``i`` maximises the dual with all other rows fixed."""
    alpha = alpha.copy()
    n_classes = alpha.shape[1]
    others = np.flatnonzero(wrong_classes(y, n_classes)[i])
    k = X[i] @ X[i]
    if k == 0.0:
        # Scores of an empty row are 0 for every W: each gradient is 1, the dual only grows.
        alpha[i, others] = box[i]
        return alpha
    g = llw_gradient(llw_weights(alpha, X, y), X[i : i + 1])[0, others]
    alpha[i, others] = llw_block_reference(alpha[i, others], g, k, box[i], n_classes)
    return alpha


def llw_constraints(X, y, n_classes):
    """``G`` (p, K d) with ``(G w)_(i,c) = -w_c.x_i`` for W = ``w`` whose rows sum to zero.

    Its rows lie in that subspace themselves: ``-(e_c - 1/K) (x) x_i``, so ``W(alpha) = G' alpha``.
    """
    rows, classes = np.nonzero(wrong_classes(y, n_classes))
    centred = np.eye(n_classes) - 1.0 / n_classes
    return -(centred[classes][:, :, None] * X[rows][:, None, :]).reshape(len(rows), -1)


def llw_hessian(X, y, n_classes):
    """``Q`` of the dual ``1'a - 1/2 a'Qa`` over the coordinates c != y_i, row by row.

    ``Q[(i,c),(j,e)] = (x_i.x_j) * ([c = e] - 1/K)``.
    """
    rows, classes = np.nonzero(wrong_classes(y, n_classes))
    same = (classes[:, None] == classes[None, :]).astype(np.float64)
    return (X @ X.T)[np.ix_(rows, rows)] * (same - 1.0 / n_classes)


def solve_llw_qp(X, y, box, n_classes=None, max_gap=1e-8):
    """Optimum of a tiny LLW problem with a finite box, certified by its own duality gap.

    Returns
    -------
    W : (K, d) array
    alpha : (n, K) array
    primal, dual : float
        The optimum lies between them; they differ by at most ``max_gap`` of the primal.
    """
    alpha = solve_alpha_qp(llw_hessian, X, y, box, n_classes)
    W = llw_weights(alpha, X, y)
    primal, dual = llw_primal(W, X, y, box), llw_dual(alpha, X, y, box)
    require_certified(primal, dual, max_gap)
    return W, alpha, primal, dual


def llw_hard_margin(W, X, y):
    """Smallest ``-w_c.x_i`` over c != y_i: ``W`` is feasible for C = inf where it is >= 1."""
    return np.min(-(X @ W.T)[wrong_classes(y, len(W))])


def llw_separable(X, y, n_classes):
    """Whether the hard margin has a feasible point, by a linear program of its own.

    Largest t with ``-w_c.x_i >= t``, ``sum_c w_c = 0`` and ``|w| <= 1``: positive if and only if
    some W can be scaled to margin 1.
    """
    G = llw_constraints(X, y, n_classes)
    size = G.shape[1]
    found = scipy.optimize.linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([-G, np.ones((len(G), 1))]),
        b_ub=np.zeros(len(G)),
        bounds=[(-1.0, 1.0)] * size + [(None, 1.0)],
    )
    if found.status != 0:
        raise ArithmeticError(f"the linear program ended with: {found.message}")
    return -found.fun > 1e-9


def solve_llw_hard(X, y, n_classes=None, max_gap=1e-8):
    """Optimum for C = inf as Lawson and Hanson's least distance problem, certified by its gap.

    ``min |w|  s.t.  G w >= h`` is read off the residual of the non-negative least squares problem
    ``min_u |G' u|^2 + (h sum u - 1)^2``, which vanishes if and only if the constraints contradict
    each other.

    Returns
    -------
    W : (K, d) array
        Feasible: scaled so that the smallest margin is 1.
    alpha : (n, K) array
    primal, dual : float

    Raises
    ------
    ValueError
        If no W is feasible.
    """
    n_classes = int(np.max(y)) + 1 if n_classes is None else n_classes
    G = llw_constraints(X, y, n_classes)
    margin = 1.0
    for _ in range(3):
        # E = [G'; h'], r = E u - [0; 1], w = -r / r_last, of which `last` is the last part.
        E = np.vstack([G.T, np.full(len(G), margin)])
        u, _ = scipy.optimize.nnls(E, np.append(np.zeros(G.shape[1]), 1.0), maxiter=100 * len(G))
        last = margin * u.sum() - 1.0
        if last > -1e-10:
            raise ValueError("the hard margin is infeasible")
        a = u / (-last * margin)  # in units of margin 1
        # With the norm near 1 both parts of the residual are of the same size.
        margin = 1.0 / max(1e-300, np.linalg.norm(G.T @ a))
    alpha = np.zeros((len(y), n_classes))
    alpha[wrong_classes(y, n_classes)] = a
    W = llw_weights(alpha, X, y)
    W = W / llw_hard_margin(W, X, y)
    primal, dual = 0.5 * np.sum(W * W), llw_dual(alpha, X, y, np.full(len(y), np.inf))
    if not abs(primal - dual) <= max_gap * primal:
        raise ArithmeticError(f"the reference stopped at primal {primal!r}, dual {dual!r}")
    return W, alpha, primal, dual
