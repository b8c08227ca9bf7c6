"""Primal and dual objective of a model, from its weights and dual variables alone.

NumPy and SciPy in double precision, and nothing that models are trained with but the costs between
labels, where there are any. To check a solver,
read this file and `multimargin.formulations`, which has the formulas. Classes are taken some at a
time, so that no array of samples x classes or features x classes is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.formulations import OwnClass
from multimargin.solvers._layout import filled_rows
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, DenseAlpha

Floats = NDArray[np.float64]

_BLOCK_BYTES = 64 * 2**20
_ROUNDING = 1 - 1e-15  # keeps a scaled sum below its bound


def primal_objective(coef: Any, intercept: NDArray[Any], problem: Problem) -> float:
    """Return the primal objective of ``coef_`` and ``intercept_``; all in double precision.

    Where the weights have to sum to zero over the classes (`centred`), their mean, which no
    prediction depends on, is taken off first. For the hard margin, the weights are scaled to obey
    the constraints; infinite if no scale makes them.
    """
    weights = _Weights(coef, intercept, problem)
    facts, hard = problem.facts, bool(np.isinf(problem.box).any())
    own = _own_scores(weights, problem) if facts.relative else None
    norm2, lost = 0.0, np.zeros(len(problem.y))
    for some in _blocks(problem):
        W, constant = weights.of(some)
        norm2 += float(np.vdot(W, W))
        if not problem.free_intercept:
            norm2 += float(constant @ constant)
        scores = _scores(problem.X, W, constant, problem)
        own_class, asked = _own_class(some, problem, own), problem.asked(some.start, some.stop)
        margins = facts.margins_to(scores, own_class, problem.n_classes, asked)
        if hard:
            np.maximum(lost, margins.max(axis=1), out=lost)
        elif facts.separable:
            lost += facts.losses(margins, problem.loss)
        else:
            np.maximum(lost, facts.losses(margins, problem.loss), out=lost)
    if hard:
        worst = float(lost.max())
        return 0.5 * norm2 / (1 - worst) ** 2 if worst < 1 else float("inf")
    return 0.5 * norm2 + float(problem.box @ lost)


def dual_objective(
    alpha: Alpha | DenseAlpha, origin: NDArray[np.int64], problem: Problem, primal: float
) -> float:
    """Return the dual objective of dual variables; all in double precision.

    ``origin`` has, for each sample of the problem, its place among the samples of ``alpha``.
    Values that exceed their bounds, by rounding or because the bounds are others, are cut off.
    ``primal``: no less than the optimum. A free intercept needs it for a bound.
    """
    empty = _empty_rows(problem)
    imbalance = 0.0
    if isinstance(alpha, Alpha):
        gain, norm2, imbalance = _ragged(alpha, origin, empty, problem)
    else:
        gain, norm2 = _dense(alpha, origin, empty, problem)
    # No weights change the loss of these: their variables are as large as they may be.
    dual = gain + problem.zero_loss(empty) - 0.5 * norm2
    if not problem.free_intercept:
        return dual
    # The proof stands in src/core/intercept/free_intercept.hpp.
    boxes = np.bincount(problem.y, problem.box, minlength=problem.n_classes)
    X: Any = problem.X
    longest = np.max((X * X if isinstance(X, np.ndarray) else X.multiply(X)).sum(axis=1))
    spread = primal / boxes.min() + 2 * np.sqrt(primal * longest)
    return max(0.0, dual - float(spread) / 2 * imbalance)


class _Weights:
    """The weights of some classes at a time, dense, in double precision, one column per class."""

    def __init__(self, coef: Any, intercept: NDArray[Any], problem: Problem) -> None:
        self._coef: Any = coef
        self._constant = np.asarray(intercept, dtype=np.float64) / (problem.bias or 1.0)
        if coef.shape[0] < problem.weight_rows:  # kept as the difference of two that are opposites
            row = np.asarray(coef if isinstance(coef, np.ndarray) else coef.toarray(), np.float64)
            self._coef = np.vstack([-0.5 * row, 0.5 * row])
            self._constant = np.array([-0.5, 0.5]) * self._constant
        self._mean: Any = 0.0
        if problem.facts.centred:
            # Sparse matrices add up in their own type, whatever type is asked for.
            total: Any = self._coef.astype(np.float64).sum(axis=0)
            self._mean = np.asarray(total).reshape(-1, 1) / problem.weight_rows
            self._constant = self._constant - self._constant.mean()

    def of(self, some: slice) -> tuple[Floats, Floats]:
        rows: Any = self._coef[some]
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return np.ascontiguousarray(dense.T, dtype=np.float64) - self._mean, self._constant[some]


def _blocks(problem: Problem) -> Iterator[slice]:
    n, features = problem.X.shape
    size = max(1, _BLOCK_BYTES // (8 * (features + 2 * n)))
    for begin in range(0, problem.weight_rows, size):
        yield slice(begin, min(problem.weight_rows, begin + size))


def _scores(X: Any, W: Floats, constant: Floats, problem: Problem) -> Floats:
    scores: Floats = np.asarray(X @ W)
    scores += problem.bias * constant
    return scores


def _own_scores(weights: _Weights, problem: Problem) -> Floats:
    own, order = np.empty(len(problem.y)), np.argsort(problem.y, kind="stable")
    first = np.searchsorted(problem.y[order], np.arange(problem.n_classes + 1))
    for some in _blocks(problem):
        rows = order[first[some.start] : first[some.stop]]
        scores = _scores(problem.X[rows], *weights.of(some), problem)
        own[rows] = scores[np.arange(len(rows)), problem.y[rows] - some.start]
    return own[:, None]


def _own_class(some: slice, problem: Problem, scores: Floats | None = None) -> OwnClass:
    return problem.own_class(some.start, some.stop, scores)


def _empty_rows(problem: Problem) -> NDArray[np.bool_]:
    if problem.bias:
        return np.zeros(len(problem.y), dtype=bool)
    return ~filled_rows(problem.X)


def _ragged(
    alpha: Alpha, origin: NDArray[np.int64], empty: NDArray[np.bool_], problem: Problem
) -> tuple[float, float, float]:
    """Return the sum of sparse dual variables, the squared norm of their weights, and sum |s|."""
    shape = (len(origin), problem.n_classes)
    kept: Any = sp.csr_matrix((alpha.value.astype(np.float64), alpha.cls, alpha.slot_begin), shape)
    kept = kept[origin]
    row = np.repeat(np.arange(len(origin)), np.diff(kept.indptr))
    value = np.clip(kept.data, 0, problem.box[row])
    value[empty[row] | (kept.indices == problem.y[row])] = 0
    total: Any = np.bincount(row, value, minlength=len(origin))
    if not problem.facts.separable:
        fits = _fitting(total, problem.box)
        value, total = value * fits[row], total * fits
    kept.data = -value
    places = (np.arange(len(origin)), problem.y)
    share = (kept + sp.csr_matrix((total, places), shape)).tocsc()
    norm2 = sum(_squared_norm(share[:, some], problem) for some in _blocks(problem))
    if problem.costs is not None:
        value = value * problem.costs.between(problem.y[row], kept.indices)
    gain = float((total if problem.costs is None else value).sum())
    return gain, norm2, float(np.abs(share.sum(axis=0)).sum())


def _fitting(total: Floats, box: Any) -> Floats:
    """Return by what to multiply the variables of a sample, which share the bound."""
    fits: Floats = _ROUNDING * box / np.maximum(total, box)
    fits[total <= box] = 1
    return fits


def _dense(
    alpha: DenseAlpha, origin: NDArray[np.int64], empty: NDArray[np.bool_], problem: Problem
) -> tuple[float, float]:
    """Return the linear part of the dual, and the squared norm; the squared hinge adds to it."""
    facts, bound = problem.facts, problem.box[:, None] if problem.loss == "hinge" else np.inf

    def feasible(some: slice) -> Floats:
        value: Floats = np.clip(alpha.value[origin, some].astype(np.float64), 0, bound)
        value[empty] = 0
        value[~facts.variables(problem.own_row - some.start, some.stop - some.start)] = 0
        return value

    total, signed = np.zeros(len(origin)), np.zeros(len(origin))
    for some in () if facts.independent else _blocks(problem):
        value = feasible(some)
        total += value.sum(axis=1)
        signed += facts.signed(value, _own_class(some, problem)).sum(axis=1)
    fits = 1.0 if facts.separable else _fitting(total, problem.box)[:, None]
    gain = norm2 = 0.0
    for some in _blocks(problem):
        value, own = fits * feasible(some), _own_class(some, problem)
        gain += float(facts.dual_gains(value, own, problem.n_classes).sum())
        if problem.loss != "hinge":
            norm2 += float(np.sum(value**2 / (2 * problem.box[:, None])))
        share = facts.shares(value, own, fits * signed[:, None], problem.n_classes)
        norm2 += _squared_norm(share, problem)
    return gain, norm2


def _squared_norm(share: Any, problem: Problem) -> float:
    """Return the squared norm of the weights with these shares (n_samples, classes)."""
    W: Any = problem.X.T @ share
    values = W if isinstance(W, np.ndarray) else W.data
    bias = 0.0 if problem.free_intercept else problem.bias
    constant = bias * np.asarray(share.sum(axis=0)).reshape(-1)
    return float(np.vdot(values, values) + constant @ constant)
