"""Which engine solves a problem that is not divided over ranks or bundles, and why.

rows          all classes of a sample at once; weights and dual variables are dense
bounded rows  the same where most variables are at a bound: these are bits, weights are dense
active set    the few classes that a sample needs; both are sparse
lines         every class by itself, a cache line of classes at a time (one-vs-rest)

Rows win where there is little to leave out. Measured on one core, to a gap of 1 %: 20 classes 5
times as fast as the active set, 108 classes twice, 150 classes the same, without an intercept.
With a small C a sample needs many classes, however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multimargin.solvers._layout import pair_bytes, sum_of_squares
from multimargin.solvers._problem import Problem

FEW_CLASSES = 160
_MOST_BYTES = 2**31  # of dense weights and dual variables, for losses that need not be dense

# Bounded rows: where a sample needs one class of this many, and up to this many bytes of dense
# weights, or as many as the active set would take.
_SHARE_NEEDED = 100
_MOST_WEIGHT_BYTES = 2**31


class EngineChoice(NamedTuple):
    rows: bool
    reason: str


def choose_engine(problem: Problem) -> EngineChoice:
    """Return whether rows solve the problem, or the engine that its formulation names."""
    facts, rows = problem.facts, problem.weight_rows
    size = 8 * rows * sum(problem.X.shape)
    dense = f"weights and dual variables take {size / 2**20:,.0f} MB"
    if problem.free_intercept:
        return EngineChoice(False, "rows have no free intercept")
    if facts.centred:
        return EngineChoice(True, f"the solution is dense: {dense}")
    if rows > FEW_CLASSES:
        return EngineChoice(False, f"{rows:,} classes are more than {FEW_CLASSES}")
    if size > _MOST_BYTES:
        return EngineChoice(False, f"dense {dense}")
    return EngineChoice(True, f"{rows:,} classes are few: {dense}")


def choose_bounded(problem: Problem) -> str:
    """Return why bounded rows solve a problem that rows do not; empty: they do not."""
    facts, classes = problem.facts, problem.n_classes
    suits = facts.sparse_dual and facts.separable and classes > FEW_CLASSES
    if not suits or problem.free_intercept or problem.costs is not None:
        return ""
    needed = min(classes, classes_needed(problem, 0.0))
    samples, features = problem.X.shape
    size = (features * problem.X.dtype.itemsize + samples // 8) * classes
    if isinstance(problem.X, np.ndarray) or needed * _SHARE_NEEDED < classes:
        return ""
    if size > max(_MOST_WEIGHT_BYTES, needed * pair_bytes(problem.X)):
        return ""
    return f"samples need up to {needed:,} of {classes:,} classes: weights take {size >> 20:,} MB"


def classes_needed(problem: Problem, bias: float) -> int:
    """Return how many classes a typical sample needs: its alphas, at most the box, sum to 1/k.

    1 is what is asked, or the mean cost. Where the sum is bounded, one class can take it all.
    """
    if not problem.facts.separable:
        return 1
    squares = sum_of_squares(problem.X) / problem.X.shape[0] + bias**2
    mean = 1.0 if problem.costs is None else float(problem.costs.total.mean()) / problem.n_classes
    return int(min(1e9, 2.0 * mean / max(1e-9, squares * float(np.median(problem.box)))))
