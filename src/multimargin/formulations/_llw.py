"""Lee-Lin-Wahba.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, m_ic),   sum_c w_c = 0
dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic <= U_i,  a_{i,y_i} = 0
with    w_c  = sum_i (A_i / K - a_ic) x_i,   A_i = sum_c a_ic
        m_ic = 1 + w_c.x_i
        U_i  = C * sample weight * class weight; infinite for the hard margin
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from multimargin.formulations._base import Formulation


class LeeLinWahba(Formulation):
    name = "llw"
    title = "Lee-Lin-Wahba"
    reference = "Lee, Lin and Wahba, Multicategory support vector machines"
    solvers: ClassVar = {
        "auto": "rows",
        "passes": "rowspasses",
        "block": "rows",
        "alternating": "alternating",
        "extrapolated": "extrapolated",
    }
    divided_solver = "extrapolated"
    offered_losses = ("hinge",)
    sparse_dual = False
    separable = True
    independent = False
    relative = False
    own_variable = False
    other_variables = True
    centred = True
    tried_by_default = False  # dense and slow
    hard_margin = True

    @staticmethod
    def least_penalty(n_classes: int) -> float:
        # Below, nearly all dual variables are at C, and models are the same but for their scale.
        # With 1,139 classes of four samples: error 0.958 up to C = 30, 0.698 at 1,000.
        return float(np.clip(n_classes / 100, 1, 10))

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return n_samples + n_features
