"""Costs between labels: the margin that a sample asks of another class, in place of 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """Costs D(y, c) of own and other class, counted from zero; D(y, y) = 0.

    The kinds are those of ``src/core/common/label_costs.hpp``: "dense", "exceptions" or "tree".
    `arrays` are what the compiled core borrows, and what tells two problems apart.
    """

    kind: str
    arrays: tuple[NDArray[Any], ...]

    @cached_property
    def core(self) -> _core.LabelCosts:
        makers: dict[str, Any] = {
            "dense": _core.dense_costs,
            "exceptions": _core.cost_exceptions,
            "tree": _core.tree_costs,
        }
        made: _core.LabelCosts = makers[self.kind](*self.arrays)
        return made

    def between(self, own: Any, other: Any) -> Floats:
        """Return the costs of pairs of classes; the arrays are broadcast."""
        own, other = np.broadcast_arrays(own, other)
        flat = [np.ascontiguousarray(each.reshape(-1), dtype=np.int32) for each in (own, other)]
        costs: Floats = self.core.between(*flat)
        return costs.reshape(own.shape)

    @cached_property
    def largest(self) -> Floats:
        """Of each own class, the largest cost of another."""
        return np.asarray(self.core.largest())

    @cached_property
    def total(self) -> Floats:
        """Of each own class, the sum over all others."""
        return np.asarray(self.core.total())
