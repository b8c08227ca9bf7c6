"""What the formulations with absolute margins and weights that sum to zero have in common."""

from __future__ import annotations

from typing import ClassVar

from multimargin.formulations._base import Formulation
from multimargin.formulations._llw import LeeLinWahba


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

    @classmethod
    def least_penalty(cls, n_classes: int) -> float:
        # On generated texts of 20 and 150 classes, sums over all classes are best at C = 10 to
        # 300, like Lee-Lin-Wahba; maxima and the own class alone at 0.3 to 10.
        every_class_adds = cls.separable and cls.other_variables
        return LeeLinWahba.least_penalty(n_classes) if every_class_adds else 0.03

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return n_samples + n_features
