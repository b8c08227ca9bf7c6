"""Absolute margins, total sum: one-vs-rest with weights that sum to zero.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_c max(0, m_ic),   sum_c w_c = 0
dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic <= U_i
with    w_c  = sum_i (z_ic a_ic - T_i / K) x_i,   T_i = sum_c z_ic a_ic
        m_ic = 1 - z_ic w_c.x_i,   z_ic = 1 where y_i = c, else -1
        U_i  = C * sample weight * class weight
"""

from __future__ import annotations

from multimargin.formulations._centred import Centred


class AbsoluteTotalSum(Centred):
    name = "ats"
    title = "Absolute margins, total sum"
    separable = True
    own_variable = True
    other_variables = True
