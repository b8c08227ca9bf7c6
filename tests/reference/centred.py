"""Slow NumPy twins of five SVMs with absolute margins and weights that sum to zero.

Primal  P(W) = 1/2 sum_c |w_c|^2 + sum_i u_i L_i(W)   s.t.  sum_c w_c = 0
        adm  L_i = max(0, max_{c != y_i} g_ic)        ats  L_i = sum_c max(0, g_ic)
        atm  L_i = max(0, max_c g_ic)                 mmr  L_i = max(0, g_{i,y_i})
        rm   L_i = sum_c max(0, g_ic)
with    g_ic = 1 + w_c.x_i for c != y_i               (also the gradient of D)
        g_ic = 1 - w_c.x_i for c = y_i, but K - 1 - w_c.x_i for rm
Dual    D(a) = sum_ic b_ic a_ic - 1/2 |G'a|^2,   b_ic = g_ic at W = 0
        sums: 0 <= a_ic <= u_i;   maxima: 0 <= a_ic, sum_c a_ic <= u_i
        Row (i, c) of G is -dg_ic/dW, less its mean over the classes; W(a) = G'a.

Nothing here imports multimargin. Arrays are as in `ww`: dense float64, ``X`` (n, d) with the
constant feature appended, ``W`` (K, d), ``alpha`` (n, K), zero where there is no variable.
"""

from dataclasses import dataclass

import numpy as np

from tests.reference.cs import solve_simplex_qp
from tests.reference.qp import require_certified, solve_box_qp


@dataclass(frozen=True)
class CentredSvm:
    """One of the five: the classes of a sample that pay, and whether the worst pays for all."""

    own: bool
    others: bool
    worst: bool
    reinforced: bool = False

    def exists(self, y, n_classes):
        """Mask (n, K) of the dual variables."""
        own = np.asarray(y)[:, None] == np.arange(n_classes)
        return (own & self.own) | (~own & self.others)

    def asked(self, y, n_classes):
        """``b``, shape (n, K)."""
        asked = np.ones((len(y), n_classes))
        if self.reinforced:
            asked[np.arange(len(y)), y] = n_classes - 1
        return asked

    def gradient(self, W, X, y):
        """``g``, shape (n, K); zero where there is no variable."""
        gradient, each = X @ W.T, np.arange(len(y))
        gradient[each, y] = -gradient[each, y]
        gradient += self.asked(y, len(W))
        return np.where(self.exists(y, len(W)), gradient, 0.0)

    def primal(self, W, X, y, box):
        """Primal objective at ``W``, whose rows must sum to zero."""
        scale = max(1.0, np.abs(W).max(initial=0.0))
        if np.abs(W.sum(axis=0)).max(initial=0.0) > 1e-4 * scale:
            raise ValueError("the rows of W do not sum to zero: it is not feasible")
        hinge = np.maximum(0.0, self.gradient(W, X, y))
        return 0.5 * np.sum(W * W) + box @ (hinge.max(axis=1) if self.worst else hinge.sum(axis=1))

    def directions(self, y, n_classes):
        """Rows of ``G`` without their samples, (p, K), for the p variables one after the other."""
        rows, classes = np.nonzero(self.exists(y, n_classes))
        sign = np.where(np.asarray(y)[rows] == classes, 1.0, -1.0)
        return sign[:, None] * (np.eye(n_classes) - 1.0 / n_classes)[classes]

    def weights(self, alpha, X, y):
        """``W(alpha)``, shape (K, d)."""
        there = self.exists(y, alpha.shape[1])
        pushed = alpha[there][:, None] * self.directions(y, alpha.shape[1])
        return pushed.T @ X[np.nonzero(there)[0]]

    def dual(self, alpha, X, y, box):
        """Dual objective at ``alpha``; raises unless ``alpha`` is feasible."""
        used = alpha.sum(axis=1) if self.worst else alpha.max(axis=1)
        missing = ~self.exists(y, alpha.shape[1])
        if np.any(alpha < 0) or np.any(used > box * (1 + 1e-14)) or np.any(alpha[missing]):
            raise ValueError("alpha is not feasible, so it bounds nothing")
        W = self.weights(alpha, X, y)
        return np.sum(self.asked(y, len(W)) * alpha) - 0.5 * np.sum(W * W)

    def kkt(self, alpha, X, y, box, negligible=1e-4):
        """Largest gain per unit of a feasible move: 0 exactly at an optimum.

        Sums: of one variable, unless a bound holds it. Maxima: from a class, or from the unused
        budget, to another; shares up to ``negligible`` count as nothing to move.
        """
        g = self.gradient(self.weights(alpha, X, y), X, y)
        if not self.worst:
            g = np.where(alpha <= 0.0, np.maximum(g, 0.0), g)
            g = np.where(alpha >= box[:, None], np.minimum(g, 0.0), g)
            return np.max(np.abs(np.where(box[:, None] > 0.0, g, 0.0)), initial=0.0)
        price = np.where(alpha > negligible * box[:, None], g, np.inf).min(axis=1)
        unused = box - alpha.sum(axis=1) > negligible * box
        price = np.where(unused, np.minimum(price, 0.0), price)
        return np.max(np.maximum(np.maximum(g.max(axis=1), 0.0) - price, 0.0))

    def solve(self, X, y, box, n_classes=None, max_gap=1e-8):
        """Optimum of a tiny problem, certified by its own duality gap.

        Returns
        -------
        W : (K, d) array
        alpha : (n, K) array
        primal, dual : float
            The optimum lies between them; they differ by at most ``max_gap`` of the primal.
        """
        n_classes = int(np.max(y)) + 1 if n_classes is None else n_classes
        alpha, live = np.zeros((len(y), n_classes)), np.flatnonzero(box > 0)
        there = self.exists(y[live], n_classes)
        rows, direction = np.nonzero(there)[0], self.directions(y[live], n_classes)
        Q = (X[live] @ X[live].T)[np.ix_(rows, rows)] * (direction @ direction.T)
        gain, upper = self.asked(y[live], n_classes)[there], box[live][rows]
        some = np.zeros(there.shape)
        if self.worst:
            Q = Q * upper[:, None] * upper[None, :]
            some[there] = solve_simplex_qp(Q, gain * upper, len(live))
            some *= box[live, None] / np.maximum(1.0, some.sum(axis=1, keepdims=True))
        else:
            some[there] = solve_box_qp(Q, upper, gain)
        alpha[live] = some
        W = self.weights(alpha, X, y)
        primal, dual = self.primal(W, X, y, box), self.dual(alpha, X, y, box)
        require_certified(primal, dual, max_gap)
        return W, alpha, primal, dual


CENTRED = {
    "adm": CentredSvm(own=False, others=True, worst=True),
    "ats": CentredSvm(own=True, others=True, worst=False),
    "atm": CentredSvm(own=True, others=True, worst=True),
    "mmr": CentredSvm(own=True, others=False, worst=False),
    "rm": CentredSvm(own=True, others=True, worst=False, reinforced=True),
}
