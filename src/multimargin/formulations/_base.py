"""The facts that a formulation states, and NumPy twins of its compiled kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class OwnClass:
    """The samples' own classes among some columns of classes."""

    rows: NDArray[np.intp]  # samples whose own class is among the columns
    columns: NDArray[np.intp]  # which column it is
    scores: Array | None = None  # of all samples' own classes, (n_samples, 1): relative margins

    @staticmethod
    def among(y: Labels, first: int, last: int, scores: Array | None = None) -> OwnClass:
        """Find own classes in the columns of the classes `first` to `last`, which is not one."""
        (rows,) = np.nonzero((y >= first) & (y < last))
        return OwnClass(rows, y[rows].astype(np.intp) - first, scores)

    @property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return self.rows, self.columns


class Formulation(ABC):
    """A multi-class SVM: the facts that the rest of the package asks for, and its formulas.

    With scores s_ic = w_c.x_i, dual variables a_ic and A_i = sum_c a_ic::

        m_ic = 1 + s_ic - [relative] s_{i,y_i}               for c != y_i
        m_ic = 1 - s_ic                                      for c == y_i, if `own_variable`
        w_c  = sum_i share_ic x_i,   share_ic = -a_ic        for c != y_i
               share_ic = [relative] A_i + [own_variable] a_ic   for c == y_i
               less their mean over the classes, if `centred`

    A formulation of another kind overrides `margins_to`, `shares` and `coefficients`. The compiled
    twin is one header in ``src/core/formulations``. Methods here read like the formulas, allocate
    freely and are meant for tests, for certificates and for readers.
    """

    name: ClassVar[str]
    """As in ``MulticlassSVC(formulation=name)``."""
    title: ClassVar[str]
    reference: ClassVar[str]
    solvers: ClassVar[Mapping[str, str]]
    """The `name` of a solver for each ``solver=`` of users; "auto" is one of them."""
    divided_solver: ClassVar[str]
    """The meaning of "auto" where classes are divided over bundles, or the run is kept."""
    offered_losses: ClassVar[tuple[str, ...]]
    sparse_dual: ClassVar[bool]
    """Whether few classes of a sample have dual variables: pairs (`Alpha`), not `DenseAlpha`."""
    separable: ClassVar[bool]
    """Whether losses add up over classes and each dual variable has its own bounds; otherwise only
    the worst class counts, and the variables of a sample share one bound."""
    independent: ClassVar[bool]
    """Whether each class is a binary problem by itself; two classes are then one, the second's."""
    relative: ClassVar[bool]
    """Whether margins are measured from the score of the own class."""
    own_variable: ClassVar[bool]
    """Whether the own class has a margin and a dual variable, too."""
    centred: ClassVar[bool]
    """Whether weights have to sum to zero over the classes."""
    hard_margin: ClassVar[bool]
    """Whether ``C=inf`` can be trained."""
    interior_point: ClassVar[bool]
    """Whether an interior-point method can solve it, by `normal_matrix`."""
    label_costs = False
    """Whether costs between labels may replace the margin 1: only where margins are `relative`."""

    @staticmethod
    @abstractmethod
    def solve_block(
        margin: Array, alpha: Array, box: float, curvature_own: float, curvature: Array
    ) -> Array:
        """Return the optimal dual variables of one sample's classes, the others fixed."""

    @staticmethod
    @abstractmethod
    def least_penalty(n_classes: int) -> float:
        """Return the least C that is worth trying, for samples of about unit length."""

    @staticmethod
    @abstractmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        """Return how many numbers a fit allocates per class, whether zero or not."""

    @classmethod
    def weight_rows(cls, n_classes: int) -> int:
        """Return the number of weight vectors: one per class, or one for two classes."""
        return 1 if cls.independent and n_classes == 2 else n_classes

    @classmethod
    def margins_to(cls, scores: Array, own: OwnClass, asked: Array | float = 1) -> Array:
        """Return the margins of some classes from their scores, which are left as they are.

        `asked` replaces the 1 in them by the costs between labels, as `scores` is shaped.
        """
        shift = asked if own.scores is None else asked - own.scores
        margins: Array = shift + scores
        margins[own.places] = 1 - scores[own.places] if cls.own_variable else 0
        return margins

    @classmethod
    def margins(cls, scores: Array, y: Labels, asked: Array | float = 1) -> Array:
        """Return the gradient of the dual for every class; zero where there is no variable."""
        own = np.take_along_axis(scores, y[:, None], axis=1) if cls.relative else None
        return cls.margins_to(scores, OwnClass.among(y, 0, scores.shape[1], own), asked)

    @classmethod
    def losses(cls, margins: Array, loss: str = "hinge") -> Array:
        """Return the loss of each sample, not yet multiplied by its box."""
        hinge = np.maximum(margins, 0)
        each = hinge if loss == "hinge" else hinge**2
        total: Array = each.sum(axis=1) if cls.separable else each.max(axis=1)
        return total

    @classmethod
    def zero_loss(cls, n_classes: int) -> float:
        """Return the loss of a sample whose scores are all zero: all its margins are 1."""
        scores = np.zeros((1, cls.weight_rows(n_classes)))
        return float(cls.losses(cls.margins(scores, np.zeros(1, dtype=np.intp)))[0])

    @classmethod
    def violations(cls, margins: Array, alpha: Array, box: Array) -> Array:
        """Return the largest projected gradient of each sample."""
        up = np.where(alpha < box[:, None], np.maximum(margins, 0), 0)
        down = np.where(alpha > 0, np.maximum(-margins, 0), 0)
        worst: Array = np.maximum(up, down).max(axis=1)
        return worst

    @classmethod
    def shares(cls, alpha: Array, own: OwnClass, total: Array, n_classes: int) -> Array:
        """Return how much of each sample is in the weights of some classes, as `alpha` is shaped.

        `total` are sums of the samples' dual variables over all classes, (n_samples, 1).
        """
        shares: Array = total / n_classes - alpha if cls.centred else -alpha
        if cls.relative:
            shares[own.places] = total[own.rows, 0]
        elif cls.own_variable:
            shares[own.places] *= -1
        return shares

    @classmethod
    def weights(cls, alpha: Array, X: Array, y: Labels) -> Array:
        """Return W (classes x features) from the dual variables (samples x classes)."""
        alpha = np.asarray(alpha, dtype=np.float64)
        own, n_classes = OwnClass.among(y, 0, alpha.shape[1]), alpha.shape[1]
        W: Array = cls.shares(alpha, own, alpha.sum(axis=1, keepdims=True), n_classes).T @ X
        return W

    @classmethod
    def coefficients(
        cls, sample: Labels, own: Labels, other: Labels, alpha: Array, shape: tuple[int, int]
    ) -> sp.csr_matrix[Any]:
        """Return the shares of all samples in the weights, from dual variables one by one.

        Each has a sample, the sample's own class, another that it pushes against, and a value.
        `shape` is samples x classes; the result has one column for one binary problem.
        """
        n_samples, n_classes = shape
        if cls.weight_rows(n_classes) == 1:  # both classes push against the other
            sign = np.where(own == 1, 1.0, -1.0)
            return sp.csr_matrix((sign * alpha, (sample, np.zeros_like(own))), (n_samples, 1))
        if cls.own_variable:
            sign = np.where(own == other, 1.0, -1.0)
            return sp.csr_matrix((sign * alpha, (sample, other)), shape)
        pushes = sp.csr_matrix((-alpha, (sample, other)), shape)
        if cls.relative:
            pushes = pushes + sp.csr_matrix((alpha, (sample, own)), shape)
        if cls.centred:
            mean = np.bincount(sample, alpha, minlength=n_samples) / n_classes
            held = np.flatnonzero(mean)
            places = (np.repeat(held, n_classes), np.tile(np.arange(n_classes), len(held)))
            pushes = pushes + sp.csr_matrix((np.repeat(mean[held], n_classes), places), shape)
        return pushes

    @classmethod
    def variables(cls, y: Labels, n_classes: int) -> NDArray[np.bool_]:
        """Return where there is a dual variable: for all classes, or for all but the own."""
        others: NDArray[np.bool_] = np.arange(n_classes)[None, :] != y[:, None]
        return others | cls.own_variable

    @staticmethod
    def normal_matrix(scale: Array, X: Array, y: Labels) -> list[Array]:
        """Return B diag(scale) B', with B from dual variables to weights, class by class.

        One matrix of all weights, or one per class where classes are independent.
        """
        raise NotImplementedError

    @classmethod
    def primal(cls, W: Array, X: Array, y: Labels, box: Array, asked: Array | float = 1) -> float:
        losses = cls.losses(cls.margins(X @ W.T, y, asked))
        return float(0.5 * np.sum(W * W) + np.sum(box * losses))

    @classmethod
    def dual(cls, alpha: Array, X: Array, y: Labels, asked: Array | float = 1) -> float:
        W = cls.weights(alpha, X, y)
        return float(np.sum(asked * alpha) - 0.5 * np.sum(W * W))
