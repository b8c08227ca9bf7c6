"""One-vs-rest: one binary problem per class.

primal  min  sum_c [ 1/2 |w_c|^2 + sum_i U_i max(0, m_ic) ]
dual    max  sum_c [ sum_i a_ic - 1/2 |w_c|^2 ],    0 <= a_ic <= U_i
with    w_c  = sum_i z_ic a_ic x_i,   z_ic = 1 where y_i = c, else -1
        m_ic = 1 - z_ic w_c.x_i
        U_i  = C * sample weight * class weight
The squared hinge loses U_i max(0, m_ic)^2; a_ic has no upper bound and the dual loses
a_ic^2 / (4 U_i).
"""

from __future__ import annotations

from typing import ClassVar

from multimargin.formulations._base import Formulation


class OneVsRest(Formulation):
    name = "ovr"
    title = "One-vs-rest"
    reference = "Rifkin and Klautau, In defense of one-vs-all classification"
    solvers: ClassVar = {"auto": "ovr", "passes": "ovrpasses"}
    divided_solver = "auto"
    offered_losses = ("hinge", "squared_hinge")
    sparse_dual = False
    separable = True
    independent = True
    relative = False
    own_variable = True
    other_variables = True
    centred = False
    tried_by_default = True
    hard_margin = False

    @staticmethod
    def usual_penalty(loss: str) -> float:
        return 2.0 if loss == "hinge" else 1.0

    @staticmethod
    def least_penalty(n_classes: int) -> float:
        return 0.03

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return n_features
