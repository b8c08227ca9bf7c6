"""Absolute margins, discriminative maximum: Lee-Lin-Wahba's margins, the worst class alone.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, max_{c != y_i} m_ic),   sum_c w_c = 0
dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,    0 <= a_ic,  A_i <= U_i,  a_{i,y_i} = 0
with    w_c  = sum_i (A_i / K - a_ic) x_i,   A_i = sum_c a_ic
        m_ic = 1 + w_c.x_i
        U_i  = C * sample weight * class weight
"""

from __future__ import annotations

from multimargin.formulations._centred import Centred


class AbsoluteDiscriminativeMax(Centred):
    name = "adm"
    title = "Absolute margins, discriminative maximum"
    separable = False
    own_variable = False
    other_variables = True
