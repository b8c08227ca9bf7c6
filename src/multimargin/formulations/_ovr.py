"""One-vs-rest: one binary machine per class.

primal  min  sum_c [ 1/2 |w_c|^2 + sum_i U_i max(0, m_ic) ]
dual    max  sum_c [ sum_i a_ic - 1/2 |w_c|^2 ],    0 <= a_ic <= U_i
with    w_c  = sum_i z_ic a_ic x_i,   z_ic = 1 where y_i = c, else -1
        m_ic = 1 - z_ic w_c.x_i
        U_i  = C * sample weight * class weight
The squared hinge loses U_i max(0, m_ic)^2; a_ic has no upper bound and the dual loses
a_ic^2 / (4 U_i).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multimargin.formulations._base import Array, Formulation


class OneVsRest(Formulation):
    name = "ovr"
    title = "One-vs-rest"
    reference = "Rifkin and Klautau, In defense of one-vs-all classification"
    separable = True
    offered_losses = ("hinge", "squared_hinge")

    @staticmethod
    def margins(scores: Array, y: NDArray[np.intp]) -> Array:
        margins: Array = 1 - _signs(y, scores.shape[1]) * scores
        return margins

    @staticmethod
    def losses(margins: Array) -> Array:
        total: Array = np.maximum(margins, 0).sum(axis=1)
        return total

    @staticmethod
    def weights(alpha: Array, X: Array, y: NDArray[np.intp]) -> Array:
        W: Array = (_signs(y, alpha.shape[1]) * alpha).T @ X
        return W

    @staticmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        solved: Array = np.clip(alpha + margin / curvature, 0, box)
        return solved

    @staticmethod
    def variables(y: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
        return np.ones((len(y), n_classes), dtype=bool)

    @staticmethod
    def normal_matrix(scale: Array, X: Array, y: NDArray[np.intp]) -> list[Array]:
        """B diag(scale) B', with B from dual variables to weights: one block per class."""
        return [X.T @ (column[:, None] * X) for column in scale.T]


def _signs(y: NDArray[np.intp], n_classes: int) -> Array:
    signs: Array = np.where(np.arange(n_classes)[None, :] == y[:, None], 1.0, -1.0)
    return signs
