"""Weston-Watkins.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, m_ic)
dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic <= U_i,  c != y_i
with    w_c  = sum_{i: y_i = c} A_i x_i - sum_{i: y_i != c} a_ic x_i,   A_i = sum_c a_ic
        m_ic = 1 - (w_{y_i} - w_c).x_i
        U_i  = C * sample weight * class weight
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from multimargin.formulations._base import Array, Formulation

_MOST_AT_A_TIME = 2**20  # numbers


class WestonWatkins(Formulation):
    name = "ww"
    title = "Weston-Watkins"
    reference = "Weston and Watkins, Support vector machines for multi-class pattern recognition"
    separable = True

    @staticmethod
    def margins(scores: Array, y: NDArray[np.intp]) -> Array:
        own = np.take_along_axis(scores, y[:, None], axis=1)
        margins: Array = 1 - own + scores
        np.put_along_axis(margins, y[:, None], 0, axis=1)
        return margins

    @staticmethod
    def losses(margins: Array) -> Array:
        total: Array = np.maximum(margins, 0).sum(axis=1)
        return total

    @staticmethod
    def weights(alpha: Array, X: Array, y: NDArray[np.intp]) -> Array:
        coefficients = -np.asarray(alpha, dtype=np.float64)
        np.put_along_axis(coefficients, y[:, None], alpha.sum(axis=1, keepdims=True), axis=1)
        W: NDArray[Any] = coefficients.T @ X
        return W

    @staticmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        ratio = curvature_own / curvature
        shifted = alpha + margin / curvature + ratio * alpha.sum()

        def rest(s: float) -> float:
            return float(np.clip(shifted - ratio * s, 0, box).sum() - s)

        s = brentq(rest, 0, len(margin) * box, xtol=1e-15, rtol=1e-15) if rest(0) > 0 else 0.0
        solved: Array = np.clip(shifted - ratio * s, 0, box)
        return solved

    @staticmethod
    def normal_matrix(scale: Array, X: Array, y: NDArray[np.intp]) -> list[Array]:
        """B diag(scale) B', with B from dual variables to weights, class by class."""
        k, d = scale.shape[1], X.shape[1]
        full = np.zeros((k, d, k, d))
        each = np.arange(k)
        for own in range(k):
            rows, shares = X[y == own], scale[y == own].T
            blocks = np.zeros((k, d, d))
            # Many classes at a time, where their products are small: 650 classes of 4 weights
            # took 15 s one after the other.
            many = max(1, _MOST_AT_A_TIME // max(1, rows.size))
            for begin in range(0, k, many):
                some = slice(begin, begin + many)
                blocks[some] = rows.T @ (shares[some, :, None] * rows)
            blocks[own] = 0.0  # no variable
            full[each, :, each, :] += blocks
            full[own, :, own, :] += blocks.sum(axis=0)
            full[own] -= blocks.transpose(1, 0, 2)
            full[:, :, own, :] -= blocks
        return [full.reshape(k * d, k * d)]
