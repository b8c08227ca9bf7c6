"""The facts that a formulation states, and NumPy twins of its compiled kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq

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

    With scores s_ic = w_c.x_i, signs z_ic = 1 for c == y_i and -1 else, and dual variables a_ic::

        m_ic = 1 + s_ic - s_{i,y_i}            for c != y_i, if `relative`
        m_ic = gamma_ic - z_ic s_ic            else; gamma_ic = 1, but `gamma_own` for c == y_i
        loss = sum_c max(0, m_ic)              if `separable`, with 0 <= a_ic <= U_i
        loss = max(0, max_c m_ic)              else, with 0 <= a_ic and sum_c a_ic <= U_i
        dual   max  sum_ic gamma_ic a_ic - 1/2 sum_c |w_c|^2
        w_c  = sum_i share_ic x_i,   share_ic = z_ic a_ic - T_i for c == y_i,  if `relative`
                                     share_ic = z_ic a_ic - T_i / K,           if `centred`
                                     share_ic = z_ic a_ic                      else
        T_i  = sum_c z_ic a_ic

    Sums and maxima are over the classes that have a variable (`own_variable`, `other_variables`).
    The compiled twin is one header in ``src/core/formulations``. Methods here read like the
    formulas, allocate freely and are meant for tests, for certificates and for readers.
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
    """Whether the own class of a sample has a margin and a dual variable."""
    other_variables: ClassVar[bool]
    """Whether the other classes have."""
    centred: ClassVar[bool]
    """Whether weights have to sum to zero over the classes."""
    tried_by_default: ClassVar[bool]
    """Whether `tune` compares it where no formulations are asked for."""
    hard_margin: ClassVar[bool]
    """Whether ``C=inf`` can be trained."""
    label_costs = False
    """Whether costs between labels may replace the margin 1: only where margins are `relative`."""

    @staticmethod
    @abstractmethod
    def least_penalty(n_classes: int) -> float:
        """Return the least C that is worth trying, for samples of about unit length."""

    @staticmethod
    @abstractmethod
    def dense_numbers(n_samples: int, n_features: int) -> int:
        """Return how many numbers a fit allocates per class, whether zero or not."""

    @staticmethod
    def usual_penalty(loss: str) -> float:
        """Return the C that is used where none is given.

        The fixed one with the least errors in ``python -m benchmarks.defaults``, or 1 for
        formulations that are not compared there.
        """
        return 1.0

    @classmethod
    def penalty(cls, given: float | None, loss: str) -> float:
        """Return C: the one that is given, or the usual one of this formulation and loss."""
        return cls.usual_penalty(loss) if given is None else float(given)

    @classmethod
    def weight_rows(cls, n_classes: int) -> int:
        """Return the number of weight vectors: one per class, or one for two classes."""
        return 1 if cls.independent and n_classes == 2 else n_classes

    @classmethod
    def gamma_own(cls, n_classes: int) -> float:
        """Return the margin that is asked of the own class; all others are asked for 1."""
        return 1.0

    @classmethod
    def margins_to(
        cls, scores: Array, own: OwnClass, n_classes: int, asked: Array | float = 1
    ) -> Array:
        """Return the margins of some classes from their scores, which are left as they are.

        `asked` replaces the 1 in them by the costs between labels, as `scores` is shaped.
        """
        if cls.other_variables:
            margins: Array = (asked if own.scores is None else asked - own.scores) + scores
        else:
            margins = np.zeros_like(scores)
        of_own = cls.gamma_own(n_classes)
        margins[own.places] = of_own - scores[own.places] if cls.own_variable else 0
        return margins

    @classmethod
    def margins(cls, scores: Array, y: Labels, asked: Array | float = 1) -> Array:
        """Return the gradient of the dual for every class; zero where there is no variable."""
        own = np.take_along_axis(scores, y[:, None], axis=1) if cls.relative else None
        n_classes = scores.shape[1]
        return cls.margins_to(scores, OwnClass.among(y, 0, n_classes, own), n_classes, asked)

    @classmethod
    def losses(cls, margins: Array, loss: str = "hinge") -> Array:
        hinge = np.maximum(margins, 0)
        each = hinge if loss == "hinge" else hinge**2
        total: Array = each.sum(axis=1) if cls.separable else each.max(axis=1)
        return total

    @classmethod
    def zero_loss(cls, n_classes: int) -> float:
        scores = np.zeros((1, cls.weight_rows(n_classes)))
        return float(cls.losses(cls.margins(scores, np.zeros(1, dtype=np.intp)))[0])

    @classmethod
    def violations(cls, margins: Array, alpha: Array, box: Array) -> Array:
        """Return the largest projected gradient of each sample."""
        if cls.separable:
            up = np.where(alpha < box[:, None], np.maximum(margins, 0), 0)
            down = np.where(alpha > 0, np.maximum(-margins, 0), 0)
            each: Array = np.maximum(up, down).max(axis=1)
            return each
        # The rest of the budget is one more class, with margin 0.
        giving = np.where(alpha > 0, margins, np.inf).min(axis=1)
        rounding = 1e-6 * box  # a budget that is used up may lack this in single precision
        left = box - alpha.sum(axis=1) > rounding
        giving = np.where(left, np.minimum(giving, 0), giving)
        worst: Array = np.maximum(np.maximum(margins.max(axis=1), 0) - giving, 0)
        return worst

    @classmethod
    def solve_row(cls, margins: Array, alpha: Array, own: int, box: float, norm2: float) -> Array:
        """Return the optimal dual variables of one sample, those of all others fixed.

        They are nearest to ``a_c + m_c / k - z_c D`` within the bounds, with k = `norm2`, the
        square of the sample, where the signed steps ``T = sum_c z_c (a'_c - a_c)`` make D: it is T
        if `relative`, -T / K if `centred`, and 0 else. T falls in D, by at most K.
        """
        n_classes, there = len(margins), cls.variables(np.array([own]), len(margins))[0]
        z = np.where(np.arange(n_classes) == own, 1.0, -1.0)[there]
        a, wanted = alpha[there], alpha[there] + margins[there] / norm2

        def at(D: float) -> Array:
            return nearest(wanted - z * D, box, cls.separable)

        def rest(D: float) -> float:
            signed = float(z @ (at(D) - a))
            return D - signed if cls.relative else D + signed / n_classes

        D = 0.0
        if (cls.relative or cls.centred) and rest(0.0):
            # T is not above the number of classes times the box, or its value at 0; twice that,
            # as rounding may take T itself a little further.
            far = 2 * n_classes * (box if np.isfinite(box) else abs(float(z @ (at(0.0) - a))))
            D = brentq(rest, -far, far, xtol=1e-15, rtol=1e-15, maxiter=1000)
        solved = np.zeros(n_classes)
        solved[there] = at(D)
        return solved

    @classmethod
    def signed(cls, alpha: Array, own: OwnClass) -> Array:
        """Return z_ic a_ic of some classes."""
        signed: Array = -alpha
        signed[own.places] *= -1
        return signed

    @classmethod
    def shares(cls, alpha: Array, own: OwnClass, total: Array, n_classes: int) -> Array:
        """Return how much of each sample is in the weights of some classes, as `alpha` is shaped.

        `total` are sums of the samples' signed variables over all classes, (n_samples, 1).
        """
        shares = cls.signed(alpha, own)
        if cls.relative:
            shares[own.places] -= total[own.rows, 0]
        elif cls.centred:
            shares -= total / n_classes
        return shares

    @classmethod
    def weights(cls, alpha: Array, X: Array, y: Labels) -> Array:
        """Return W (classes x features) from the dual variables (samples x classes)."""
        alpha = np.asarray(alpha, dtype=np.float64)
        own, n_classes = OwnClass.among(y, 0, alpha.shape[1]), alpha.shape[1]
        total = cls.signed(alpha, own).sum(axis=1, keepdims=True)
        W: Array = cls.shares(alpha, own, total, n_classes).T @ X
        return W

    @classmethod
    def coefficients(
        cls, sample: Labels, own: Labels, other: Labels, alpha: Array, shape: tuple[int, int]
    ) -> sp.csr_matrix[Any]:
        """Return the shares of all samples in the weights, from dual variables one by one.

        Each has a sample, the sample's own class, the class whose variable it is, and a value.
        `shape` is samples x classes; the result has one column for one binary problem.
        """
        n_samples, n_classes = shape
        if cls.weight_rows(n_classes) == 1:  # both classes push against the other
            sign = np.where(own == 1, 1.0, -1.0)
            return sp.csr_matrix((sign * alpha, (sample, np.zeros_like(own))), (n_samples, 1))
        signed = np.where(own == other, alpha, -alpha)
        shares = sp.csr_matrix((signed, (sample, other)), shape)
        if cls.relative:
            shares = shares - sp.csr_matrix((signed, (sample, own)), shape)
        elif cls.centred:
            mean = np.bincount(sample, signed, minlength=n_samples) / n_classes
            held = np.flatnonzero(mean)
            places = (np.repeat(held, n_classes), np.tile(np.arange(n_classes), len(held)))
            shares = shares - sp.csr_matrix((np.repeat(mean[held], n_classes), places), shape)
        return shares

    @classmethod
    def variables(cls, y: Labels, n_classes: int) -> NDArray[np.bool_]:
        own = np.arange(n_classes)[None, :] == y[:, None]
        return np.where(own, cls.own_variable, cls.other_variables)

    @classmethod
    def dual_gains(
        cls, alpha: Array, own: OwnClass, n_classes: int, asked: Array | float = 1
    ) -> Array:
        """Return sum_i gamma_ic a_ic of some classes, which is the linear part of the dual."""
        gains: Array = np.sum(asked * alpha, axis=0, dtype=np.float64)
        more = (cls.gamma_own(n_classes) - 1) * alpha[own.places]
        np.add.at(gains, own.columns, more)
        return gains

    @classmethod
    def primal(cls, W: Array, X: Array, y: Labels, box: Array, asked: Array | float = 1) -> float:
        losses = cls.losses(cls.margins(X @ W.T, y, asked))
        return float(0.5 * np.sum(W * W) + np.sum(box * losses))

    @classmethod
    def dual(cls, alpha: Array, X: Array, y: Labels, asked: Array | float = 1) -> float:
        W = cls.weights(alpha, X, y)
        gains = cls.dual_gains(alpha, OwnClass.among(y, 0, len(W)), len(W), asked)
        return float(np.sum(gains) - 0.5 * np.sum(W * W))


def nearest(wanted: Array, box: float, separable: bool) -> Array:
    """Return the nearest dual variables of one sample within its bounds, or its budget."""
    kept: Array = np.clip(wanted, 0, box if separable else np.inf)
    if separable or kept.sum() <= box:
        return kept
    # Less the same for all that keep anything, which are the largest. At first so much less that
    # the largest alone would take the budget: digits are those of the budget.
    wanted = wanted - (wanted.max() - box)
    falling = np.sort(wanted)[::-1]
    less = (np.cumsum(falling) - box) / np.arange(1, len(wanted) + 1)
    shared: Array = np.maximum(wanted - less[np.flatnonzero(falling > less)[-1]], 0)
    return shared
