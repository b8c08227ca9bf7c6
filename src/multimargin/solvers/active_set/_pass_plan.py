"""Plans of passes: in batches or one by one, whatever the number of threads.

Samples of one *batch* are solved at the same weights and applied together; threads share the
batch. Those that share a class disturb each other by the cosine between them, so the curvature
along a class grows with the samples of the batch that touch it. For text, where these are few and
cosines small, that costs next to nothing. (On 12,582 classes: mean cosine 0.009, and in a
prototype, at a coupling of 0.05, 31.1 visits per sample with batches of 128 against 31.6 of one.)

With few classes and dense features every batch collides, and samples move one after the other.
Wide active sets, where many samples have the same classes, collide too; but where a pass takes
long, batches are small rather than none: 30 passes with 8 as with 1 (20,000 samples, 5,000 classes,
64 violators each; meetings of bundles took 95).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._divided_rows import DividedRows
from multimargin.solvers._layout import Matrix

_SAMPLED_ROWS = 512
_LARGEST_BATCH = 128
_SMALLEST_BATCH = 8  # below this, handing over costs more than it brings
_TOLERATED_COUPLING = 0.25  # expected disturbance of a sample, relative to its own curvature
# The same for dense rows, whose cosines are what they seem. On 28,630 x 256, 1,000 classes, C = 10:
# 6.5 million visits one by one, 7.0 in batches of 16, 9.1 of 32; with 4 times the coupling 13.0.
_TOLERATED_DENSE = 0.03
_SMALL_WORK = 3_000_000  # multiply-adds a pass, below which waiting costs more than it brings
_LONG_WORK = 50_000_000  # multiply-adds a pass from which waiting for one thread is long


@dataclass(frozen=True)
class Plan:
    """Arrangement of passes: batches of whole samples."""

    batch: int = 1
    coupling: float = 0.0

    @property
    def may_overshoot(self) -> bool:
        """Say whether samples of a batch may disturb each other more than is assumed."""
        return self.batch > 1 and self.coupling < 1

    def more_cautious(self) -> Plan:
        """Return a plan with more coupling; at 1 curvatures are bounds: the dual cannot fall."""
        return Plan(self.batch, min(1.0, 2 * self.coupling + 0.05))


def mean_cosine(X: Matrix, bias: float, seed: int) -> float:
    """Estimate the mean absolute cosine between different rows from a few hundred of them."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(X.shape[0])[:_SAMPLED_ROWS])
    some: Any = X.taken(rows) if isinstance(X, DividedRows) else X[rows]
    part = some.astype(np.float64)
    # Not BLAS, which would use threads of its own.
    dense = isinstance(part, np.ndarray)
    products = np.einsum("ij,kj->ik", part, part) if dense else (part @ part.T).todense()
    gram = np.asarray(products) + bias * bias
    norm = np.sqrt(np.diag(gram))
    usable = norm > 0
    gram = np.abs(gram[np.ix_(usable, usable)]) / np.outer(norm[usable], norm[usable])
    count = len(gram)
    if count < 2:
        return 1.0
    return float((gram.sum() - np.trace(gram)) / (count * (count - 1)))


def make_plan(
    cosine: Callable[[], float],
    touched: NDArray[np.int64],
    n_samples: int,
    work: int,
    *,
    dense: bool = False,
) -> Plan:
    """Plan for an active set of ``touched`` pairs per class and ``work`` multiply-adds a pass.

    ``cosine`` gives the mean cosine between samples and is called only where it matters.
    ``dense``: whether the rows are.
    """
    if work < _SMALL_WORK:
        return Plan()
    counts = touched.astype(np.float64)
    # The share of a batch's other samples that has a given pair's class, on average over pairs.
    # Not a dot product: BLAS would use threads of its own.
    share = float(np.sum(counts * counts)) / max(float(counts.sum()) * n_samples, 1.0)
    # Sparse samples that share a class are more alike than any two.
    alike, tolerated = (1, _TOLERATED_DENSE) if dense else (4, _TOLERATED_COUPLING)
    coupling = min(1.0, alike * cosine())
    batch = _LARGEST_BATCH
    while batch >= _SMALLEST_BATCH and (batch - 1) * share * coupling > tolerated:
        batch //= 2
    if batch < _SMALLEST_BATCH and (dense or work < _LONG_WORK):
        return Plan()
    return Plan(max(batch, _SMALLEST_BATCH), coupling)
