"""Slow NumPy twins of the one-vs-rest (OVR) SVM: the formulas, and solvers to certify them.

One binary problem b per class, with signs z_ib = +1 where y_i = b and -1 elsewhere. Two classes
are ONE binary problem, whose positive class is the second.

Primal  P(W) = sum_b [ 1/2 |w_b|^2 + sum_i u_i l(m_ib) ],   m_ib = 1 - z_ib w_b.x_i
Dual    D(a) = sum_b [ sum_i a_ib - 1/2 |w_b(a)|^2 - 1/2 sum_i q_i a_ib^2 ]
with    w_b(a) = sum_i a_ib z_ib x_i
        hinge:          l(m) = max(0, m),     0 <= a_ib <= u_i,   q_i = 0
        squared hinge:  l(m) = max(0, m)^2,   0 <= a_ib,          q_i = 1 / (2 u_i)
        u_i = C * sample_weight_i * class_weight_{y_i}, the same in every binary problem

The gradient of D is m_ib - q_i a_ib. Nothing here imports multimargin. Arrays are as in
`reference`: dense float64, ``X`` with the constant feature appended; ``W`` is (B, d) and ``alpha``
(n, B) for B binary problems.
"""

import numpy as np

from tests.reference.qp import require_certified, solve_box_qp
from tests.reference.ww import dense


def ovr_signs(y, n_classes):
    """Signs ``z`` (n, B): B = 1 for two classes, else one column per class."""
    positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(np.asarray(y)[:, None] == positive[None, :], 1.0, -1.0)


def ovr_upper(box, loss):
    """Upper bounds of the dual variables: none for the squared hinge."""
    return box if loss == "hinge" else np.where(box > 0.0, np.inf, 0.0)


def ovr_diagonal(box, loss):
    """``q_i``, what the loss itself adds to the curvature; 0 where nothing can move."""
    if loss == "hinge":
        return np.zeros(len(box))
    return np.divide(0.5, box, out=np.zeros(len(box)), where=box > 0.0)


def ovr_margins(W, X, signs):
    """Matrix ``m_ib = 1 - z_ib w_b.x_i``, shape (n, B)."""
    return 1.0 - signs * (X @ W.T)


def ovr_primal(W, X, signs, box, loss="hinge"):
    """Primal objective at ``W``, summed over the binary problems."""
    losses = np.maximum(0.0, ovr_margins(W, X, signs)) ** (1 if loss == "hinge" else 2)
    return 0.5 * np.sum(W * W) + np.sum(box[:, None] * losses)


def ovr_weights(alpha, X, signs):
    """``W(alpha)``, shape (B, d)."""
    return (alpha * signs).T @ X


def ovr_dual(alpha, X, signs, box, loss="hinge"):
    """Dual objective at ``alpha``; raises unless ``alpha`` is feasible."""
    if np.any(alpha < 0) or np.any(alpha > ovr_upper(box, loss)[:, None]):
        raise ValueError("alpha is not feasible, so it bounds nothing")
    W = ovr_weights(alpha, X, signs)
    quadratic = np.sum(W * W) + np.sum(ovr_diagonal(box, loss)[:, None] * alpha**2)
    return alpha.sum() - 0.5 * quadratic


def ovr_gap(alpha, X, signs, box, loss="hinge"):
    """Relative duality gap ``(P(W(alpha)) - D(alpha)) / |P|`` of a feasible ``alpha``."""
    primal = ovr_primal(ovr_weights(alpha, X, signs), X, signs, box, loss)
    return (primal - ovr_dual(alpha, X, signs, box, loss)) / abs(primal)


def ovr_gradient(alpha, X, signs, box, loss="hinge"):
    """Gradient of the dual, shape (n, B)."""
    m = ovr_margins(ovr_weights(alpha, X, signs), X, signs)
    return m - ovr_diagonal(box, loss)[:, None] * alpha


def ovr_kkt(alpha, X, signs, box, loss="hinge"):
    """Largest projected gradient: 0 exactly at an optimum."""
    g = ovr_gradient(alpha, X, signs, box, loss)
    upper = np.broadcast_to(ovr_upper(box, loss)[:, None], alpha.shape)
    # At a bound only the direction back into the box counts.
    g = np.where(alpha <= 0.0, np.maximum(g, 0.0), g)
    g = np.where(alpha >= upper, np.minimum(g, 0.0), g)
    return np.max(np.abs(np.where(upper > 0.0, g, 0.0)), initial=0.0)


def ovr_coordinate_update(alpha, i, X, signs, box, loss="hinge"):
    """A copy of ``alpha`` whose row ``i`` maximises the dual with all other rows fixed.

    The binary problems are independent, so that a row is B separate steps of one variable.
    """
    alpha = alpha.copy()
    curvature = X[i] @ X[i] + ovr_diagonal(box, loss)[i]
    upper = ovr_upper(box, loss)[i]
    if upper == 0.0:
        return alpha
    if curvature == 0.0:
        # An empty row under the hinge: its margin is 1 for every W, the dual only grows.
        alpha[i] = upper
        return alpha
    g = ovr_gradient(alpha, X, signs, box, loss)[i]
    alpha[i] = np.clip(alpha[i] + g / curvature, 0.0, upper)
    return alpha


def ovr_hessian(X, z, box, loss="hinge"):
    """``Q`` of the dual ``1'a - 1/2 a'Qa`` of the binary problem with signs ``z`` (n,)."""
    Z = z[:, None] * X
    return Z @ Z.T + np.diag(ovr_diagonal(box, loss))


def squared_hinge_ceiling(box):
    """Upper bounds that no optimum of the squared hinge reaches.

    P(W*) <= P(0) = sum_j u_j, so u_i max(0, m_i)^2 is at most that; and the optimum has
    a_i = 2 u_i max(0, m_i). Twice the bound keeps an interior point off it.
    """
    return 4.0 * np.sqrt(box * box.sum())


def solve_ovr_qp(X, signs, box, loss="hinge", max_gap=1e-8):
    """Optimum of a tiny OVR problem, certified by its own duality gap.

    Returns
    -------
    W : (B, d) array
    alpha : (n, B) array
    primal, dual : float
        The optimum lies between them; they differ by at most ``max_gap`` of the primal.
    """
    upper = box if loss == "hinge" else squared_hinge_ceiling(box)
    alpha = np.column_stack([solve_box_qp(ovr_hessian(X, z, box, loss), upper) for z in signs.T])
    W = ovr_weights(alpha, X, signs)
    primal, dual = ovr_primal(W, X, signs, box, loss), ovr_dual(alpha, X, signs, box, loss)
    require_certified(primal, dual, max_gap)
    return W, alpha, primal, dual


def ovr_weights_of(model, intercept_scaling=1.0):
    """``W`` (B, d [+ 1]) of a fitted estimator, as its public attributes tell it."""
    coef = dense(model.coef_)
    if model.fit_intercept:
        intercept = np.asarray(model.intercept_, dtype=np.float64).reshape(-1, 1)
        coef = np.hstack([coef, intercept / intercept_scaling])
    return coef
