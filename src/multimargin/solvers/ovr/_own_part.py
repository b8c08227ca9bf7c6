"""One-vs-rest dual variables in two parts: of a class's own samples, and of all others.

When the box grows, the two do not grow alike: the few samples of the class itself are at their
bound and follow it, and the many others grow as far as it takes to balance them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OwnPart:
    """The part of its own samples in the weights w of each class."""

    norm2: Floats  # squared norm of the part
    along: Floats  # product of the part and w


def own_part(
    weights: Weights, problem: Problem, rows: NDArray[Any], classes: NDArray[Any], alpha: Any
) -> OwnPart:
    """Measure the own part of all classes' weights.

    ``rows`` are samples that have a weight vector of their class, with its number and their alpha.
    """
    shape = (problem.weight_rows, len(problem.y))
    X: Any = problem.X
    shares: Any = sp.csr_matrix((alpha, (classes, rows)), shape=shape)
    coef: Any = sp.csr_matrix(shares @ X)
    constant = problem.bias * np.bincount(classes, weights=alpha, minlength=shape[0])
    product: Any = coef.multiply(weights.coef).tocsr()
    norm2, along = row_sums(coef, np.square(coef.data)), row_sums(product, product.data)
    return OwnPart(norm2 + constant**2, along + constant * weights.constant)


def row_sums(matrix: Any, data: NDArray[Any]) -> Floats:
    """Return the sums over the rows of a CSR matrix whose entries are `data`."""
    sums = np.zeros(matrix.shape[0])
    (there,) = np.nonzero(np.diff(matrix.indptr))
    if len(there):
        sums[there] = np.add.reduceat(data, matrix.indptr[there], dtype=np.float64)
    return sums


def growth_of_parts(
    most: float, part: OwnPart, norm2: Floats, sums: tuple[Floats, Floats], more: tuple[Any, Any]
) -> tuple[Floats, Floats]:
    """Return factors for the own and for the other variables of each class.

    The dual is a parabola in these two: t own + s others - 1/2 |t w_own + s w_others|^2. This is
    its maximum, clipped to between no growth and ``most``, by which the box grows. ``norm2`` are
    squared norms of the weights; ``sums`` are of the own and of the other variables, and ``more``
    are the terms of a squared loss in their two squared norms.
    """
    cross = part.along - part.norm2
    own2, others2 = part.norm2 + more[0], norm2 - part.along - cross + more[1]
    determinant = own2 * others2 - cross**2
    own = _clipped(sums[0] * others2 - sums[1] * cross, determinant, most)
    return own, _clipped(sums[1] - own * cross, others2, most)


def _clipped(above: Floats, below: Floats, most: float) -> Floats:
    # Where there is nothing to balance, the box is the limit.
    best = np.divide(above, below, out=np.full(np.shape(above), np.inf), where=below > 0)
    return np.asarray(np.clip(best, 1.0, most))
