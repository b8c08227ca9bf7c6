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

    @classmethod
    def least_penalty(cls, n_classes: int) -> float:
        # Below, models are the same but for their scale. On generated texts of 20, 150 and 400
        # classes maxima change with C from 30, 3,000 and 100,000 on; sums are best where
        # Lee-Lin-Wahba is, at 10 to 1,000; the own class alone at 1.
        if not cls.separable:
            return n_classes**2 / 40
        return LeeLinWahba.least_penalty(n_classes) if cls.other_variables else 0.03

    @staticmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        return n_samples + n_features
