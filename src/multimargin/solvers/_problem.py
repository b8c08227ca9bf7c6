"""The data of a fit, checked and in the form that the compiled core borrows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.formulations import FORMULATIONS, Formulation
from multimargin.io._checksums import array_fingerprint
from multimargin.solvers._core_types import Samples
from multimargin.solvers._label_costs import LabelCosts
from multimargin.solvers._layout import Matrix, arrays_of, core_rows


@dataclass(frozen=True)
class Problem:
    """One training problem.

    The box holds the upper bounds of each sample's dual variables, in the dtype of `X`: C times
    sample and class weight. They are positive; infinite for the hard margin.
    """

    X: Matrix  # float32 or float64, as `as_core_rows` makes it
    y: NDArray[np.int32]  # classes, counted from zero
    box: NDArray[Any]
    n_classes: int
    bias: float  # value of the constant feature; 0 for none
    formulation: str
    loss: str = "hinge"
    dtype: Any = None  # of the model, where it is not the dtype of `X`
    rows: NDArray[np.intp] | None = None  # which of the given samples these are; None: all
    costs: LabelCosts | None = None  # margins asked of other classes; None: 1
    free_intercept: bool = False  # whether it is not regularised; the constant feature is then 1

    @property
    def facts(self) -> type[Formulation]:
        return FORMULATIONS[self.formulation]

    @property
    def weight_rows(self) -> int:
        """Weight vectors to be found: one per class, or one for two classes."""
        return self.facts.weight_rows(self.n_classes)

    @property
    def dense_alpha_bytes(self) -> int:
        return int(len(self.y) * self.weight_rows * self.X.dtype.itemsize)

    @property
    def own_row(self) -> NDArray[np.int32]:
        """The weight vector of each sample's class; -1 for the first of two that have one."""
        return self.y if self.weight_rows == self.n_classes else self.y - 1

    def asked(self, first: int = 0, last: int | None = None) -> Any:
        """The margins asked of classes `first` to `last`, which is not one: samples x classes."""
        if self.costs is None:
            return 1.0
        classes = np.arange(first, self.n_classes if last is None else last)
        return self.costs.between(self.y[:, None], classes)

    def zero_loss(self, some: Any = slice(None)) -> float:
        """The loss of samples, all or some, whose scores are all zero, times their box."""
        box = self.box[some]
        if self.costs is None:
            return self.facts.zero_loss(self.n_classes) * float(np.sum(box, dtype=np.float64))
        each = self.costs.total if self.facts.separable else self.costs.largest
        return float(np.sum(box * each[self.y[some]], dtype=np.float64))

    @property
    def samples(self) -> Samples:
        samples: Samples = _core.samples(
            rows=core_rows(self.X),
            y=self.y,
            box=self.box,
            n_classes=self.n_classes,
            bias=self.bias,
            costs=None if self.costs is None else self.costs.core,
        )
        return samples


def fingerprint(problem: Problem) -> str:
    """Return 32 hexadecimal digits that name a problem's data, C included: it is in the box."""
    arrays = [*arrays_of(problem.X), problem.y, problem.box]
    numbers = [*map(int, (*problem.X.shape, problem.n_classes)), float(problem.bias)]
    if problem.costs is not None:
        arrays += problem.costs.arrays
    return array_fingerprint(arrays, numbers)
