"""What the formulations with absolute margins and weights that sum to zero have in common."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from multimargin.formulations._base import Formulation


class Centred(Formulation):
    reference = (
        "Dogan, Glasmachers and Igel, A unified view on multi-class support vector classification"
    )
    solvers: ClassVar = {"auto": "rows", "passes": "rowspasses"}
    divided_solver = "auto"
    offered_losses = ("hinge",)
    sparse_dual = False
    independent = False
    relative = False
    centred = True
    tried_by_default = False
    hard_margin = False
    interior_point = False

    @staticmethod
    def least_penalty(n_classes: int) -> float:
        return float(np.clip(n_classes / 100, 1, 10))

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return n_samples + n_features
