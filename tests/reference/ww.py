"""Slow NumPy twins of the Weston-Watkins (WW) SVM: the formulas, and solvers to certify them.

Primal  P(W) = 1/2 sum_c |w_c|^2 + sum_i u_i sum_{c != y_i} max(0, m_ic)
Dual    D(a) = sum_ic a_ic - 1/2 sum_c |w_c(a)|^2,   0 <= a_ic <= u_i,   a_{i,y_i} = 0
with    m_ic = 1 - (w_{y_i} - w_c).x_i              (also the gradient of D)
        w_c(a) = sum_{i: y_i = c} A_i x_i - sum_{i: y_i != c} a_ic x_i,   A_i = sum_c a_ic
        u_i = C * sample_weight_i * class_weight_{y_i}                     (the "box")

Nothing here imports multimargin: the package is tested against this file, never with its own help.
Every function takes dense float64 arrays: ``X`` (n, d) with the constant feature already appended
(see `with_intercept`), ``y`` (n,) of class indices 0..K-1, ``box`` (n,), ``W`` (K, d), ``alpha``
(n, K). A WW problem of two classes is the binary hinge SVM with twice the penalty (see
`solve_binary_hinge`).
"""

import numpy as np
import scipy.sparse

from tests.reference.qp import require_certified, solve_box_qp


def dense(X):
    """``X`` as a dense float64 array, whatever it was."""
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X, dtype=np.float64)


def with_intercept(X, scaling=1.0):
    """``X`` with the constant, regularised feature of value ``scaling`` appended."""
    X = dense(X)
    return np.hstack([X, np.full((X.shape[0], 1), float(scaling))])


def box_of(y, C, sample_weight=None, class_weight=None):
    """Upper bounds ``u_i = C * sample_weight_i * class_weight_{y_i}``; class_weight is (K,)."""
    box = np.full(len(y), float(C))
    if sample_weight is not None:
        box = box * np.asarray(sample_weight, dtype=np.float64)
    if class_weight is not None:
        box = box * np.asarray(class_weight, dtype=np.float64)[y]
    return box


def wrong_classes(y, n_classes):
    """Mask (n, K): true where c != y_i, the coordinates that exist in the dual."""
    return np.arange(n_classes)[None, :] != np.asarray(y)[:, None]


def margins(W, X, y):
    """Matrix ``m_ic = 1 - (s_{i,y_i} - s_ic)``, shape (n, K); meaningless (1) at c = y_i."""
    scores = X @ W.T
    return 1.0 - (scores[np.arange(len(y)), y][:, None] - scores)


def ww_primal(W, X, y, box):
    """Primal objective at ``W``."""
    hinge = np.where(wrong_classes(y, len(W)), np.maximum(0.0, margins(W, X, y)), 0.0)
    return 0.5 * np.sum(W * W) + np.sum(box[:, None] * hinge)


def weights_from_alpha(alpha, X, y):
    """``W(alpha)``, shape (K, d); its rows sum to zero by construction."""
    coefficients = -np.where(wrong_classes(y, alpha.shape[1]), alpha, 0.0)
    coefficients[np.arange(len(y)), y] = -coefficients.sum(axis=1)
    return coefficients.T @ X


def ww_dual(alpha, X, y, box):
    """Dual objective at ``alpha``; raises unless ``alpha`` is feasible."""
    if np.any(alpha < 0) or np.any(alpha > box[:, None]) or np.any(alpha[np.arange(len(y)), y]):
        raise ValueError("alpha is not feasible, so it bounds nothing")
    W = weights_from_alpha(alpha, X, y)
    return alpha.sum() - 0.5 * np.sum(W * W)


def ww_gap(alpha, X, y, box):
    """Relative duality gap ``(P(W(alpha)) - D(alpha)) / |P|`` of a feasible ``alpha``."""
    primal = ww_primal(weights_from_alpha(alpha, X, y), X, y, box)
    return (primal - ww_dual(alpha, X, y, box)) / abs(primal)


def ww_kkt(alpha, X, y, box):
    """Largest projected gradient: 0 exactly at an optimum."""
    m = margins(weights_from_alpha(alpha, X, y), X, y)
    upper = np.broadcast_to(box[:, None], alpha.shape)
    # At a bound only the direction back into the box counts.
    m = np.where(alpha <= 0.0, np.maximum(m, 0.0), m)
    m = np.where(alpha >= upper, np.minimum(m, 0.0), m)
    # A box of width zero leaves nothing to move.
    m = np.where(wrong_classes(y, alpha.shape[1]) & (upper > 0.0), m, 0.0)
    return np.max(np.abs(m), initial=0.0)


def block_solve_reference(b, bound):
    """Exact maximiser over one sample's block, by bisection.

    ``b_c = m_c / k + A + alpha_c`` for the classes c != y; returns ``clip(b - S, 0, bound)`` with
    ``S = sum_c clip(b_c - S, 0, bound)``. The difference of both sides falls strictly in S, is
    not negative at S = 0 and not positive at S = sum_c clip(b_c, 0, bound).
    """
    low, high = 0.0, np.sum(np.clip(b, 0.0, bound))
    # 200 halvings exhaust float64 from any start.
    for _ in range(200):
        S = 0.5 * (low + high)
        if np.sum(np.clip(b - S, 0.0, bound)) > S:
            low = S
        else:
            high = S
    return np.clip(b - 0.5 * (low + high), 0.0, bound)


def ww_block_update(alpha, i, X, y, box):
    """A copy of ``alpha`` whose row ``i`` maximises the dual with all other rows fixed."""
    alpha = alpha.copy()
    others = np.flatnonzero(wrong_classes(y, alpha.shape[1])[i])
    k = X[i] @ X[i]
    if k == 0.0:
        # Scores of an empty row are 0 for every W: each margin is 1, the dual only grows.
        alpha[i, others] = box[i]
        return alpha
    m = margins(weights_from_alpha(alpha, X, y), X[i : i + 1], y[i : i + 1])[0, others]
    b = m / k + alpha[i].sum() + alpha[i, others]
    alpha[i, others] = block_solve_reference(b, box[i])
    return alpha


def ww_hessian(X, y, n_classes):
    """``Q`` of the dual ``1'a - 1/2 a'Qa`` over the coordinates c != y_i, row by row.

    ``Q[(i,c),(j,e)] = (x_i.x_j) * (e_{y_i} - e_c).(e_{y_j} - e_e)`` with unit vectors ``e``.
    """
    rows, classes = np.nonzero(wrong_classes(y, n_classes))
    unit = np.eye(n_classes)
    direction = unit[np.asarray(y)[rows]] - unit[classes]
    return (X @ X.T)[np.ix_(rows, rows)] * (direction @ direction.T)


def solve_alpha_qp(hessian, X, y, box, n_classes=None):
    """Optimal dual variables of the wrong classes, each between 0 and its box; (n, K) array."""
    n_classes = int(np.max(y)) + 1 if n_classes is None else n_classes
    mask = wrong_classes(y, n_classes)
    alpha = np.zeros(mask.shape)
    upper = np.broadcast_to(box[:, None], mask.shape)[mask]
    alpha[mask] = solve_box_qp(hessian(X, y, n_classes), upper)
    return alpha


def solve_ww_qp(X, y, box, n_classes=None, max_gap=1e-8):
    """Optimum of a tiny WW problem, certified by its own duality gap.

    Returns
    -------
    W : (K, d) array
    alpha : (n, K) array
    primal, dual : float
        The optimum lies between them; they differ by at most ``max_gap`` of the primal.
    """
    alpha = solve_alpha_qp(ww_hessian, X, y, box, n_classes)
    W = weights_from_alpha(alpha, X, y)
    primal, dual = ww_primal(W, X, y, box), ww_dual(alpha, X, y, box)
    require_certified(primal, dual, max_gap)
    return W, alpha, primal, dual


def solve_binary_hinge(X, signs, box, max_gap=1e-8):
    """Optimum of ``1/2 |w|^2 + sum_i box_i max(0, 1 - signs_i w.x_i)``: returns ``w, objective``.

    With two classes the WW primal depends on ``w = w_1 - w_0`` alone once ``w_1 = -w_0 = w / 2``
    (for a given difference the norm is smallest there): it becomes ``1/4 |w|^2 + sum_i u_i
    hinge_i``, half of this objective at ``box = 2 u``.
    """
    Z = np.asarray(signs, dtype=np.float64)[:, None] * X
    a = solve_box_qp(Z @ Z.T, np.asarray(box, dtype=np.float64))
    w = a @ Z
    primal = 0.5 * w @ w + box @ np.maximum(0.0, 1.0 - Z @ w)
    dual = a.sum() - 0.5 * w @ w
    require_certified(primal, dual, max_gap)
    return w, primal


def weights_of(model, intercept_scaling=1.0):
    """``W`` (K, d [+ 1]) of a fitted estimator, as its public attributes tell it.

    The constant feature's weight is ``intercept_ / intercept_scaling``. Two classes are stored as
    the single row ``w_1 - w_0``; since the rows of W sum to zero, that says everything.
    """
    coef = dense(model.coef_)
    if model.fit_intercept:
        intercept = np.asarray(model.intercept_, dtype=np.float64).reshape(-1, 1)
        coef = np.hstack([coef, intercept / intercept_scaling])
    return np.vstack([-0.5 * coef, 0.5 * coef]) if len(coef) == 1 else coef
