"""Slow NumPy twins of the Crammer-Singer (CS) SVM, and a solver to certify them.

Primal  P(W) = 1/2 sum_c |w_c|^2 + sum_i u_i max(0, max_{c != y_i} m_ic)
Dual    D(a) = sum_ic a_ic - 1/2 sum_c |w_c(a)|^2,   a_ic >= 0,   sum_c a_ic <= u_i
with margins, weights and budgets ``u`` as in `reference`, which has all they share. Nothing here
imports multimargin.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from tests.reference.qp import one_blas_thread, require_certified, room
from tests.reference.ww import margins, weights_from_alpha, wrong_classes, ww_hessian


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
    shares[mask] = solve_simplex_qp(Q, scale, len(live))
    alpha = np.zeros((len(y), n_classes))
    alpha[live] = shares / np.maximum(1.0, shares.sum(axis=1, keepdims=True)) * box[live, None]
    W = weights_from_alpha(alpha, X, y)
    primal, dual = cs_primal(W, X, y, box), cs_dual(alpha, X, y, box)
    require_certified(primal, dual, max_gap)
    return W, alpha, primal, dual


@one_blas_thread
def solve_simplex_qp(H, gain, groups, tol=1e-11, max_iter=200):
    """Maximise ``gain'x - 1/2 x'Hx`` over ``x >= 0``, each of the equal groups adding up to <= 1.

    Mehrotra's predictor and corrector, as `qp.solve_box_qp` has it for boxes.
    """
    width = len(gain) // groups
    M = np.kron(np.eye(groups), np.ones(width))
    x, slack = np.full(len(gain), 0.5 / width), np.full(groups, 0.5)
    # Multipliers of x >= 0 and Mx <= 1.
    z, v = np.maximum(gain, 1e-3), np.maximum(gain, 1e-3)[::width].copy()
    best, best_gap = x, np.inf
    for _ in range(max_iter):
        gradient = H @ x - gain
        worst = np.maximum(0.0, (-gradient).reshape(groups, width).max(axis=1))
        gap = worst.sum() + gradient @ x
        if gap < best_gap:
            best, best_gap = x, gap
        size = max(1e-300, abs(gain @ x - 0.5 * x @ H @ x))
        mu = (z @ x + v @ slack) / (len(x) + groups)
        # The second test ends a run that rounding keeps from the first.
        if gap <= tol * size or mu * len(x) <= 1e-4 * tol * size:
            break
        # With the multipliers of the sums kept, since without them the matrix loses its
        # definiteness to rounding where a budget is used up.
        system = np.block([[H + np.diag(z / x), M.T], [M, -np.diag(slack / v)]])
        now = _Point(_System(system), gradient - z + v @ M, x, slack, z, v)
        aim = now.steps(-z * x, -v * slack)
        t = now.longest(aim)
        ahead = (z + t * aim[2]) @ (x + t * aim[0]) + (v + t * aim[3]) @ (slack + t * aim[1])
        centre = mu * (ahead / (len(x) + groups) / mu) ** 3
        aim = now.steps(-z * x + centre - aim[2] * aim[0], -v * slack + centre - aim[3] * aim[1])
        t = 0.995 * now.longest(aim)
        x, slack, z, v = (old + t * d for old, d in zip((x, slack, z, v), aim, strict=True))
    return np.maximum(best, 0.0)


class _System:
    """``A x = r`` with a diagonal of both signs, scaled to a unit diagonal.

    Variables that make the same weights make it singular: it is factored with a little more on the
    diagonal, which refinement takes back.
    """

    def __init__(self, A):
        diagonal = np.diag(A)
        self._scale = 1.0 / np.sqrt(np.abs(diagonal))
        self._A = A * self._scale[:, None] * self._scale[None, :]
        self._factor = scipy.linalg.lu_factor(self._A + 1e-13 * np.diag(np.sign(diagonal)))

    def solve(self, r):
        r = r * self._scale
        x = np.zeros(len(r))
        for _ in range(4):
            x = x + scipy.linalg.lu_solve(self._factor, r - self._A @ x)
        return x * self._scale


class _Point(NamedTuple):
    """Where an interior point iteration stands."""

    system: Any
    residual: Any
    x: Any
    slack: Any
    z: Any
    v: Any

    def steps(self, target_z, target_v):
        """Changes of x, slack, z, v for ``z x -> target_z``, ``v slack -> target_v``."""
        n = len(self.x)
        right = np.concatenate([-self.residual + target_z / self.x, -target_v / self.v])
        dx, dv = np.split(self.system.solve(right), [n])
        dslack = (target_v - self.slack * dv) / self.v
        return dx, dslack, (target_z - self.z * dx) / self.x, dv

    def longest(self, steps):
        """Longest step in [0, 1] that keeps everything positive."""
        return min(map(room, (self.x, self.slack, self.z, self.v), steps))
