"""The data of a fit, checked and in the form that the compiled core borrows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.formulations import FORMULATIONS, Formulation, OwnClass
from multimargin.io._checksums import array_fingerprint, csr_arrays
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
    # Where samples may have no class or several: a CSR matrix of ones, (n_samples, n_classes). `y`
    # is zeros then. Each class is a binary problem of its own, also where there are two.
    sets: Any = None

    @property
    def facts(self) -> type[Formulation]:
        return FORMULATIONS[self.formulation]

    @property
    def weight_rows(self) -> int:
        """Weight vectors to be found: one per class, or one for two classes."""
        return self.n_classes if self.sets is not None else self.facts.weight_rows(self.n_classes)

    @property
    def dense_alpha_bytes(self) -> int:
        return int(len(self.y) * self.weight_rows * self.X.dtype.itemsize)

    @property
    def own_row(self) -> NDArray[np.int32]:
        """The weight vector of each sample's class; -1 for the first of two that have one."""
        return self.y if self.weight_rows == self.n_classes else self.y - 1

    def own_class(self, first: int, last: int, scores: Any = None) -> OwnClass:
        """Return the samples' own classes among the weight vectors `first` to `last`."""
        if self.sets is None:
            return OwnClass.among(self.own_row, first, last, scores)
        rows, columns = self.sets[:, first:last].nonzero()
        return OwnClass(rows, columns, scores)

    def binary(self, place: int) -> Problem:
        """Return the problem of one class, which some samples have and others have not."""
        y = np.asarray(self.sets[:, [place]].toarray(), dtype=np.int32).reshape(-1)
        return replace(self, y=y, n_classes=2, sets=None)

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
            of_one = self.facts.zero_loss(self.n_classes) if self.sets is None else self.n_classes
            return of_one * float(np.sum(box, dtype=np.float64))
        each = self.costs.total if self.facts.separable else self.costs.largest
        return float(np.sum(box * each[self.y[some]], dtype=np.float64))

    @property
    def samples(self) -> Samples:
        samples: Samples = _core.samples(
            rows=core_rows(self.X),
            y=self.y if self.sets is None else self.sets.indices,
            box=self.box,
            n_classes=self.n_classes,
            bias=self.bias,
            costs=None if self.costs is None else self.costs.core,
            label_begin=None if self.sets is None else self.sets.indptr.astype(np.int64),
        )
        return samples


def fingerprint(problem: Problem) -> str:
    """Return 32 hexadecimal digits that name a problem's data, C included: it is in the box."""
    arrays = [*arrays_of(problem.X), problem.y, problem.box]
    numbers = [*map(int, (*problem.X.shape, problem.n_classes)), float(problem.bias)]
    if problem.costs is not None:
        arrays += problem.costs.arrays
    if problem.sets is not None:
        arrays += csr_arrays(problem.sets)
    return array_fingerprint(arrays, numbers)
