"""Weston-Watkins.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, m_ic)
dual    max  sum_ic D_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic <= U_i,  c != y_i
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

_MOST_AT_A_TIME = 2**20  # numbers


class WestonWatkins(Formulation):
    name = "ww"
    title = "Weston-Watkins"
    reference = "Weston and Watkins, Support vector machines for multi-class pattern recognition"
    solvers: ClassVar = {"auto": "activeset", "passes": "activesetpasses"}
    divided_solver = "auto"
    offered_losses = ("hinge",)
    sparse_dual = True
    separable = True
    independent = False
    relative = True
    own_variable = False
    other_variables = True
    centred = False
    tried_by_default = True
    hard_margin = False
    label_costs = True

    @staticmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        """Solve for some other classes of one sample, each with a curvature of its own."""
        ratio = curvature_own / curvature
        shifted = alpha + margin / curvature + ratio * alpha.sum()

        def rest(s: float) -> float:
            return float(np.clip(shifted - ratio * s, 0, box).sum() - s)

        # Twice the largest sum there is: by rounding, `rest` may be above 0 at that sum itself.
        far = 2 * len(margin) * box
        s = brentq(rest, 0, far, xtol=1e-15, rtol=1e-15) if rest(0) > 0 else 0.0
        solved: Array = np.clip(shifted - ratio * s, 0, box)
        return solved

    @staticmethod
    def usual_penalty(loss: str) -> float:
        return 0.5

    @staticmethod
    def least_penalty(n_classes: int) -> float:
        # Below, every sample needs most classes to reach its margin: fits are slow, and models
        # dense and no better.
        return float(np.clip(10 / n_classes, 0.03, 0.1))

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return 0
