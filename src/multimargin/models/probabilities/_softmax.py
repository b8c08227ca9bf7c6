"""Sums over the classes of a softmax of scores, as the compiled core makes them.

With ``s = score - origin`` and the value ``g = s / (1 + curvature * |s|)``, a class weighs
``e = exp(g / temperature)`` before all are divided by their sum. The value has the order of the
scores; its change with the curvature is ``h = -g * |g|``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Columns of the sums of a sample: the largest g, from which all others are taken; the sum of e;
# of e over the classes that rank above the own one, and their number; of e g, e h and so on.
LARGEST, SUM, ABOVE, COUNT, G, H, GG, GH, HH = range(9)
WIDTH = 9


class Shape(NamedTuple):
    """How scores become exponents: ``beta`` is one over the temperature."""

    beta: float
    curvature: float
    origin: float

    def values(self, scores: NDArray[Any]) -> NDArray[Any]:
        from_origin = scores - scores.dtype.type(self.origin)
        found: NDArray[Any] = from_origin / (
            1 + scores.dtype.type(self.curvature) * np.abs(from_origin)
        )
        return found


def empty_sums(n_samples: int) -> NDArray[np.float64]:
    sums = np.zeros((n_samples, WIDTH))
    sums[:, LARGEST] = -np.inf
    return sums


def sums_of(scores: NDArray[Any], shape: Shape, own: NDArray[Any] | None) -> NDArray[np.float64]:
    """All sums, from all scores: for two classes, and as the formulas that kernels are tested by.

    Above the own class rank those with a higher score, or with the same one and a lower number.
    """
    g = shape.values(scores.astype(np.float64))
    h = -g * np.abs(g)
    sums = empty_sums(len(g))
    sums[:, LARGEST] = g.max(axis=1)
    e = np.exp(shape.beta * (g - sums[:, [LARGEST]]))
    for column, each in ((SUM, e), (G, e * g), (H, e * h), (GG, e * g * g), (GH, e * g * h)):
        sums[:, column] = each.sum(axis=1)
    sums[:, HH] = (e * h * h).sum(axis=1)
    if own is not None:
        place, its = np.arange(scores.shape[1]), np.take_along_axis(scores, own[:, None], axis=1)
        above = (scores > its) | ((scores == its) & (place < own[:, None]))
        sums[:, ABOVE], sums[:, COUNT] = np.where(above, e, 0).sum(axis=1), above.sum(axis=1)
    return sums


def sums_of_parts(parts: list[NDArray[np.float64]], shape: Shape) -> NDArray[np.float64]:
    """The sums over all classes, from those over disjoint parts of them."""
    total = empty_sums(len(parts[0]))
    total[:, LARGEST] = np.max([part[:, LARGEST] for part in parts], axis=0)
    for part in parts:
        scale = np.exp(shape.beta * (part[:, LARGEST] - total[:, LARGEST]))
        total[:, COUNT] += part[:, COUNT]
        for column in (SUM, ABOVE, G, H, GG, GH, HH):
            total[:, column] += scale * part[:, column]
    return total
