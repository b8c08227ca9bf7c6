"""Max-margin regression: the own class alone has a margin.

primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, m_i),   sum_c w_c = 0
dual    max  sum_i a_i - 1/2 sum_c |w_c|^2,    0 <= a_i <= U_i
with    w_c  = sum_i a_i ([y_i = c] - 1 / K) x_i
        m_i  = 1 - w_{y_i}.x_i
        U_i  = C * sample weight * class weight
"""

from __future__ import annotations

from multimargin.formulations._centred import Centred


class MaxMarginRegression(Centred):
    name = "mmr"
    title = "Max-margin regression"
    reference = "Szedmak, Shawe-Taylor and Parado-Hernandez, Learning via linear operators"
    separable = True
    own_variable = True
    other_variables = False
