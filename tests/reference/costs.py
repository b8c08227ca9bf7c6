"""Slow NumPy twins of Weston-Watkins and Crammer-Singer with costs between labels.

The problems are those of `ww` and `cs` with

Margins  m_ic = D(y_i, c) - (w_{y_i} - w_c).x_i
Dual     D(a) = sum_ic D(y_i, c) a_ic - 1/2 sum_c |w_c(a)|^2

and ``costs`` a (K, K) array of D, own class by other class. Nothing here imports multimargin.
"""

import numpy as np

from tests.reference.cs import solve_simplex_qp
from tests.reference.qp import require_certified, solve_box_qp
from tests.reference.ww import weights_from_alpha, wrong_classes, ww_hessian


def primal(formulation, W, A, y, box, costs):
    """Primal objective at ``W``."""
    scores = A @ W.T
    m = costs[y] - scores[np.arange(len(y)), y][:, None] + scores
    hinge = np.where(wrong_classes(y, len(W)), np.maximum(0, m), 0)
    lost = hinge.sum(axis=1) if formulation == "ww" else hinge.max(axis=1)
    return 0.5 * np.sum(W * W) + box @ lost


def solve(formulation, A, y, box, costs, max_gap=1e-8):
    """Optimum of a tiny problem, certified by its own duality gap: W, alpha, primal, dual."""
    mask = wrong_classes(y, len(costs))
    asked, upper = costs[y][mask], np.broadcast_to(box[:, None], mask.shape)[mask]
    alpha, Q = np.zeros(mask.shape), ww_hessian(A, y, len(costs))
    if formulation == "ww":
        alpha[mask] = solve_box_qp(Q, upper, gain=asked)
    else:
        share = np.zeros(mask.shape)
        share[mask] = solve_simplex_qp(Q * np.outer(upper, upper), asked * upper, len(y))
        alpha = share / np.maximum(1, share.sum(axis=1, keepdims=True)) * box[:, None]
    W = weights_from_alpha(alpha, A, y)
    best = primal(formulation, W, A, y, box, costs)
    dual = np.sum(costs[y] * alpha) - 0.5 * np.sum(W * W)
    require_certified(best, dual, max_gap)
    return W, alpha, best, dual
