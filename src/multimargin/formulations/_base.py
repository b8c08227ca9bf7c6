"""What a formulation is: a name, a problem, and NumPy twins of its compiled kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


class Formulation(ABC):
    """A multi-class SVM: primal, dual and the exact solution of one sample's block.

    The compiled twin is one header in ``src/core``. Methods here read like the formulas, allocate
    freely and are meant for tests and for readers.
    """

    name: ClassVar[str]
    """What users write: ``MulticlassSVC(formulation=name)``."""
    title: ClassVar[str]
    reference: ClassVar[str]
    separable: ClassVar[bool]
    """Whether each dual variable has bounds of its own, not the variables of a sample together."""
    offered_losses: ClassVar[tuple[str, ...]] = ("hinge",)
    hard_margin: ClassVar[bool] = False
    """Whether ``C=inf`` can be trained."""

    @staticmethod
    @abstractmethod
    def margins(scores: Array, y: NDArray[np.intp]) -> Array:
        """Gradient of the dual for every sample and class; zero where there is no variable."""

    @staticmethod
    @abstractmethod
    def losses(margins: Array) -> Array:
        """Loss of each sample, not yet multiplied by its box."""

    @staticmethod
    def violations(margins: Array, alpha: Array, box: Array) -> Array:
        """Largest projected gradient of each sample; that of bounds for each variable alone."""
        up = np.where(alpha < box[:, None], np.maximum(margins, 0), 0)
        down = np.where(alpha > 0, np.maximum(-margins, 0), 0)
        worst: Array = np.maximum(up, down).max(axis=1)
        return worst

    @staticmethod
    @abstractmethod
    def weights(alpha: Array, X: Array, y: NDArray[np.intp]) -> Array:
        """W (classes x features) from the dual variables (samples x classes)."""

    @staticmethod
    @abstractmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        """Optimal dual variables of one sample's classes, the others fixed."""

    @staticmethod
    def variables(y: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
        """Where there is a dual variable: for all classes but the own, unless said otherwise."""
        others: NDArray[np.bool_] = np.arange(n_classes)[None, :] != y[:, None]
        return others

    @classmethod
    def primal(cls, W: Array, X: Array, y: NDArray[np.intp], box: Array) -> float:
        losses = cls.losses(cls.margins(X @ W.T, y))
        return float(0.5 * np.sum(W * W) + np.sum(box * losses))

    @classmethod
    def dual(cls, alpha: Array, X: Array, y: NDArray[np.intp]) -> float:
        W = cls.weights(alpha, X, y)
        return float(np.sum(alpha) - 0.5 * np.sum(W * W))
