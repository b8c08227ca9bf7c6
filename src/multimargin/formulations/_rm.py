"""Reinforced multicategory SVM: all classes of a sample, and the own one is asked for more.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_c max(0, m_ic),   sum_c w_c = 0
dual    max  sum_ic gamma_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic <= U_i
with    w_c  = sum_i (z_ic a_ic - T_i / K) x_i,   T_i = sum_c z_ic a_ic
        m_ic = gamma_ic - z_ic w_c.x_i,   z_ic = 1 where y_i = c, else -1
        gamma_ic = K - 1 where y_i = c, else 1: what Lee-Lin-Wahba's margins make of the own class
        U_i  = C * sample weight * class weight
"""

from __future__ import annotations

from multimargin.formulations._centred import Centred


class Reinforced(Centred):
    name = "rm"
    title = "Reinforced multicategory SVM"
    reference = "Liu and Yuan, Reinforced multicategory support vector machines"
    separable = True
    own_variable = True
    other_variables = True

    @classmethod
    def gamma_own(cls, n_classes: int) -> float:
        return float(n_classes - 1)
