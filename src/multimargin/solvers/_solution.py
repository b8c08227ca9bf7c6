"""Dual variables, from which a run may start, and its solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.formulations import OwnClass
from multimargin.solvers._layout import filled_rows
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import ScanRecord, Weights
from multimargin.solvers.ovr._own_part import OwnPart, growth_of_parts, own_part, row_sums

__all__ = ["Alpha", "DenseAlpha", "Limits", "Solution", "Start", "Weights"]


# A larger box lets the dual variables grow. Multiplied by s, all of them together are best at
# s = 1 + loss / |W|^2 (the dual is a parabola in s): little where the data are nearly separated,
# more than the box allows where most variables are at it. One by one they want to grow further:
# 4 times as far took up to 15 % fewer passes than once, on three sets. Growing with the box took
# up to four times as many where nothing is left to gain (C = 6 and above on 1,139 classes of four
# samples).
_OVERREACH = 4.0


def _grown(ratio: float, total: Any, norm2: Any) -> Any:
    """Return the factor for dual variables when the box grows by `ratio`."""
    best = np.divide(total, norm2, out=np.full(np.shape(total), np.inf), where=norm2 > 0)
    return np.clip(1 + _OVERREACH * (best - 1), 1.0, ratio)


def _common_ratio(new: NDArray[Any], old: NDArray[Any]) -> float | None:
    """Return by how much all boxes grow; None unless they grow, and all by the same."""
    if not (len(old) and np.all(np.isfinite(new)) and np.all(np.isfinite(old))):
        return None
    ratio = new.astype(np.float64) / old
    same = ratio.max() <= ratio.min() * (1 + 1e-5)
    return float(ratio[0]) if same and ratio[0] > 1 else None


def _fitting(total: NDArray[np.float64], problem: Problem) -> NDArray[Any]:
    """Return by what to multiply the variables of samples that share a bound."""
    fitting: NDArray[Any] = problem.box / np.maximum(total, problem.box)
    return fitting.astype(problem.X.dtype)


@dataclass(frozen=True)
class Alpha:
    """Dual variables of few classes per sample: ragged rows, own class first."""

    formulation: str
    slot_begin: NDArray[np.int64]
    cls: NDArray[np.int32]
    value: NDArray[Any]
    box: NDArray[Any]
    norm2: float | None = None  # squared norm of the weights, where it is known
    # Weights of the constant feature that were held; None: those that the variables make.
    constant: NDArray[Any] | None = None

    @staticmethod
    def of_dense(problem: Problem, alpha: NDArray[Any]) -> Alpha:
        own = np.arange(problem.n_classes)[None, :] == problem.y[:, None]
        order = np.argsort(~own, axis=1, kind="stable").astype(np.int32)  # the own class first
        rows = np.arange(len(problem.y))[:, None]
        kept = ((alpha > 0) | own)[rows, order]
        slot_begin = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        value = alpha[rows, order][kept]
        return Alpha(problem.formulation, slot_begin, order[kept], value, problem.box)

    @property
    def support(self) -> int:
        """Pairs of a sample and another class that hold the model up."""
        own = self.value[self.slot_begin[:-1]]
        return int(np.count_nonzero(self.value) - np.count_nonzero(own))

    def without_zeros(self, problem: Problem) -> Alpha:
        """Drop the pairs of value zero, and all of samples without features, whose value is known.

        The first scan finds what else is needed.
        """
        first = self.slot_begin[:-1]
        kept = self.value > 0
        if problem.bias == 0:
            kept &= np.repeat(filled_rows(problem.X), np.diff(self.slot_begin))
        kept[first] = True
        begin = np.zeros_like(self.slot_begin)
        np.cumsum(np.add.reduceat(kept.astype(np.int64), first), out=begin[1:])
        return replace(self, slot_begin=begin, cls=self.cls[kept], value=self.value[kept])

    def measured(self, weights: Weights, problem: Problem) -> Alpha:
        """Return them with the norm of their weights, which other boxes need."""
        norm2 = float(np.sum(squared_norms(weights)))
        if problem.free_intercept:  # the variables do not make it
            norm2 -= float(np.sum(np.square(weights.constant, dtype=np.float64)))
        return replace(self, norm2=norm2)

    def scaled_to(self, problem: Problem) -> NDArray[Any]:
        """Return feasible values for another box.

        They move with the box, so that those at a bound stay there, but a larger box does not
        drag along those that have no use for it.
        """
        first, sizes = self.slot_begin[:-1], np.diff(self.slot_begin)
        ratio = np.repeat(problem.box / self.box, sizes)
        growth = _common_ratio(problem.box, self.box)
        if growth is not None and self.norm2 is not None:
            value: Any = self.value
            if problem.costs is not None:
                value = value * problem.costs.between(np.repeat(problem.y, sizes), self.cls)
            everything = float(np.sum(value, dtype=np.float64))
            own = float(np.sum(value[first], dtype=np.float64))
            ratio = _grown(growth, np.array(everything - own), np.array(self.norm2))
        ceiling = np.repeat(problem.box, sizes)
        scaled: NDArray[Any] = np.minimum(self.value * ratio, ceiling).astype(problem.X.dtype)
        if not problem.facts.separable:
            # The others of a sample share the box; the first slot, their sum, is not used.
            scaled[first] = 0
            total = np.add.reduceat(scaled, first, dtype=np.float64)
            scaled *= np.repeat(_fitting(total, problem), sizes)
        return scaled

    def labels(self) -> NDArray[np.int32]:
        return self.cls[self.slot_begin[:-1]]

    def fits(self, problem: Problem) -> bool:
        return (
            self.formulation == problem.formulation
            and bool(np.array_equal(self.labels(), problem.y))
            and bool(np.all(self.cls < problem.n_classes))
        )


@dataclass(frozen=True)
class DenseAlpha:
    """Dual variables of all samples and classes, for formulations that use most of them."""

    formulation: str
    loss: str
    y: NDArray[np.int32]
    value: NDArray[Any]
    box: NDArray[Any]
    norm2: NDArray[Any] | None = None  # squared norm of each weight vector, where it is known
    # Where classes are independent: the part of each class's own samples in its weights.
    own: OwnPart | None = None

    @staticmethod
    def of(problem: Problem, value: NDArray[Any]) -> DenseAlpha:
        return DenseAlpha(problem.formulation, problem.loss, problem.y, value, problem.box)

    @property
    def support(self) -> int:
        """Pairs of a sample and a class that hold the model up."""
        return int(np.count_nonzero(self.value))

    def measured(self, weights: Weights, problem: Problem) -> DenseAlpha:
        norm2 = squared_norms(weights)
        if not problem.facts.independent:
            return replace(self, norm2=norm2)
        where = self._of_own_class(problem)
        own = own_part(weights, problem, *where, self.value[where])
        return replace(self, norm2=norm2, own=own)

    def scaled_to(self, problem: Problem) -> NDArray[Any]:
        """Return values for another box, moved as far as that serves (see `Alpha`)."""
        dtype = problem.X.dtype
        growth = _common_ratio(problem.box, self.box)
        if growth is not None and self.own is not None:
            scaled = self._grown_in_two(growth, self.own, problem)
        else:
            scaled = np.multiply(self.value, self._ratio(growth, problem), dtype=dtype)
        # A squared loss has no upper bound.
        if problem.loss == "hinge":
            np.minimum(scaled, problem.box[:, None], out=scaled)
        if not problem.facts.independent:
            scaled[~problem.facts.variables(problem.y, problem.n_classes)] = 0
        if not problem.facts.separable:
            scaled *= _fitting(scaled.sum(axis=1, dtype=np.float64), problem)[:, None]
        return np.ascontiguousarray(scaled, dtype=dtype)

    def _ratio(self, growth: float | None, problem: Problem) -> NDArray[Any]:
        if growth is not None and self.norm2 is not None:
            own = OwnClass(*self._of_own_class(problem))
            total = problem.facts.dual_gains(self.value, own, problem.n_classes)
            norm2 = self.norm2 + self._squares_over(problem)
            if not problem.facts.independent:  # all classes are one problem
                total, norm2 = np.sum(total, keepdims=True), np.sum(norm2, keepdims=True)
            return np.asarray(_grown(growth, total, norm2)[None, :])
        # An infinite box, the hard margin, has no scale.
        finite = np.isfinite(self.box) & np.isfinite(problem.box)
        ratio = np.ones((len(self.box), 1))
        np.divide(problem.box, self.box, out=ratio[:, 0], where=finite)
        return ratio

    def _grown_in_two(self, growth: float, part: OwnPart, problem: Problem) -> NDArray[Any]:
        where = self._of_own_class(problem)
        value, rows = self.value[where], len(part.norm2)

        def own_sum(terms: Any) -> NDArray[np.float64]:
            sums = np.bincount(where[1], weights=terms, minlength=rows)
            return sums.astype(np.float64, copy=False)

        own, more = own_sum(value), (np.array(0.0), np.array(0.0))
        total = np.add.reduce(self.value, axis=0, dtype=np.float64)
        if problem.loss != "hinge":
            squares = own_sum(value.astype(np.float64) ** 2 / (2 * problem.box[where[0]]))
            more = (squares, self._squares_over(problem) - squares)
        assert self.norm2 is not None
        sums = (own, total - own)
        for_own, for_others = growth_of_parts(growth, part, self.norm2, sums, more)
        factor = for_others[None, :].astype(problem.X.dtype)
        scaled: NDArray[Any] = np.multiply(self.value, factor, dtype=problem.X.dtype)
        scaled[where] = value * for_own[where[1]]
        return scaled

    def _of_own_class(self, problem: Problem) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the samples that have a weight vector of their class, and its row."""
        return problem.own_class(0, problem.weight_rows).places

    def labels(self) -> NDArray[np.int32]:
        return self.y

    def _squares_over(self, problem: Problem) -> Any:
        """Return the term of a squared loss in the parabola: alpha^2 / (2 box)."""
        if problem.loss == "hinge":
            return 0.0
        return np.sum(self.value**2 / (2 * problem.box[:, None]), axis=0, dtype=np.float64)

    def fits(self, problem: Problem) -> bool:
        return (
            self.formulation == problem.formulation
            and self.loss == problem.loss
            and bool(np.array_equal(self.y, problem.y))
            and self.value.shape[1] == problem.weight_rows
        )


Start: TypeAlias = Alpha | DenseAlpha  # dual variables of an earlier solution


@dataclass
class Solution:
    """The end of a run; its certificate is the last record of the history."""

    weights: Weights
    alpha: Start | None
    passes: int
    ended_by: str  # empty if the run reached its tolerance
    history: list[ScanRecord]
    is_zero: bool = False  # whether no better weights than zero were certified

    def __post_init__(self) -> None:
        last, self.converged = self.history[-1], not self.ended_by
        self.primal, self.dual = last.primal, last.dual
        self.gap, self.violation = last.gap, last.violation


@dataclass(frozen=True)
class Limits:
    max_passes: int
    time_limit: float | None = None


def squared_norms(weights: Weights) -> NDArray[Any]:
    """Return the squared norm of each weight vector, the constant feature included."""
    coef: Any = weights.coef
    if not isinstance(coef, np.ndarray):
        sums = row_sums(coef, np.square(coef.data))
    else:
        sums = np.einsum("ij,ij->i", coef, coef, dtype=np.float64)
    return sums + np.square(weights.constant.astype(np.float64))


def csr_weights(parts: tuple[Any, Any, Any, NDArray[Any]], features: int) -> Weights:
    data, indices, indptr, constant = parts
    coef = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, features))
    return Weights(coef, constant)


def stacked_weights(parts: list[Weights], features: int, dtype: Any) -> Weights:
    """Return the rows of several weights below each other; there may be none."""
    none = sp.csr_matrix((0, features), dtype=dtype)
    coef: Any = sp.vstack([none, *(part.coef for part in parts)], format="csr")
    return Weights(coef, np.concatenate([np.empty(0, dtype), *(p.constant for p in parts)]))
