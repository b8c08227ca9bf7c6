"""Crammer-Singer.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, max_{c != y_i} m_ic)
dual    max  sum_ic D_ic a_ic - 1/2 sum_c |w_c|^2,    a_ic >= 0,  A_i <= U_i,  c != y_i
with    w_c  = sum_{i: y_i = c} A_i x_i - sum_{i: y_i != c} a_ic x_i,   A_i = sum_c a_ic
        m_ic = D_ic - (w_{y_i} - w_c).x_i
        U_i  = C * sample weight * class weight
        D_ic = 1, or the label cost of y_i and c
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from multimargin.formulations._base import Array, Formulation


class CrammerSinger(Formulation):
    name = "cs"
    title = "Crammer-Singer"
    reference = (
        "Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector "
        "machines"
    )
    solvers: ClassVar = {"auto": "activeset", "passes": "activesetpasses"}
    divided_solver = "auto"
    offered_losses = ("hinge",)
    sparse_dual = True
    separable = False
    independent = False
    relative = True
    own_variable = False
    other_variables = True
    centred = False
    tried_by_default = True
    hard_margin = False
    label_costs = True

    @staticmethod
    def least_penalty(n_classes: int) -> float:
        return 0.03

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return 0

    @staticmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        """Solve for some other classes of one sample, each with a curvature of its own."""
        ratio = curvature_own / curvature
        shifted = alpha + margin / curvature + ratio * alpha.sum()

        def rest(t: float) -> float:
            return float(np.maximum(shifted - ratio * t, 0).sum() - min(t, box))

        # Twice the largest t that leaves something: by rounding, something may be left at it.
        end = 2 * float((shifted / ratio).max())
        t = brentq(rest, 0, end, xtol=1e-15, rtol=1e-15) if end > 0 else 0.0
        solved: Array = np.maximum(shifted - ratio * t, 0)
        return solved

    @staticmethod
    def solve_exchange(margin: Array, alpha: Array, curvature: Array) -> Array:
        """Solve for classes that meet without the own one: the sum of their alpha stays."""
        total = float(alpha.sum())
        if total == 0:
            return np.zeros_like(alpha)
        shifted = alpha + margin / curvature

        def rest(t: float) -> float:
            return float(np.maximum(shifted - t / curvature, 0).sum() - total)

        # At the smallest margin nobody has given anything yet; at the largest `end` all have.
        # Rounding may move both a little.
        start, end = float(margin.min()), float((shifted * curvature).max())
        slack = 1e-9 * max(1.0, abs(start), abs(end))
        t = brentq(rest, start - slack, end + slack, xtol=1e-15, rtol=1e-15)
        solved: Array = np.maximum(shifted - t / curvature, 0)
        return solved
