"""What a run starts from and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin._problem import Problem
from multimargin._progress import ScanRecord, Weights
from multimargin.formulations import FORMULATIONS

__all__ = ["Alpha", "DenseAlpha", "Limits", "Solution", "Start", "Weights"]


class Start(Protocol):
    """Dual variables of an earlier solution."""

    def fits(self, problem: Problem) -> bool: ...


@dataclass(frozen=True)
class Alpha:
    """Dual variables of few classes per sample: ragged rows, own class first."""

    formulation: str
    pair: NDArray[np.int64]
    cls: NDArray[np.int32]
    value: NDArray[Any]
    box: NDArray[Any]

    def scaled_to(self, problem: Problem) -> NDArray[Any]:
        """Values for another box: what was at a bound stays there, and all are feasible."""
        ratio = np.repeat(problem.box / self.box, np.diff(self.pair))
        ceiling = np.repeat(problem.box, np.diff(self.pair))
        scaled: NDArray[Any] = np.minimum(self.value * ratio, ceiling).astype(problem.X.dtype)
        if not FORMULATIONS[problem.formulation].separable:
            # The others of a sample share the box; slot 0, which holds their sum, is not used.
            scaled[self.pair[:-1]] = 0
            total = np.add.reduceat(scaled, self.pair[:-1], dtype=np.float64)
            fitting = np.minimum(1.0, problem.box / np.maximum(total, problem.box))
            scaled *= np.repeat(fitting.astype(scaled.dtype), np.diff(self.pair))
        return scaled

    def labels(self) -> NDArray[np.int32]:
        """Classes of the samples."""
        return self.cls[self.pair[:-1]]

    def fits(self, problem: Problem) -> bool:
        first = self.pair[:-1]
        return (
            self.formulation == problem.formulation
            and len(first) == len(problem.y)
            and bool(np.array_equal(self.cls[first], problem.y))
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

    def scaled_to(self, problem: Problem) -> NDArray[Any]:
        """Values for another box; an infinite one, the hard margin, has no scale."""
        finite = np.isfinite(self.box) & np.isfinite(problem.box)
        ratio = np.ones(len(self.box))
        np.divide(problem.box, self.box, out=ratio, where=finite)
        # A squared loss has no upper bound.
        ceiling = problem.box if problem.loss == "hinge" else np.inf * problem.box
        scaled = np.minimum(self.value * ratio[:, None], ceiling[:, None])
        return np.ascontiguousarray(scaled, dtype=problem.X.dtype)

    def labels(self) -> NDArray[np.int32]:
        """Classes of the samples."""
        return self.y

    def fits(self, problem: Problem) -> bool:
        return (
            self.formulation == problem.formulation
            and self.loss == problem.loss
            and bool(np.array_equal(self.y, problem.y))
            and self.value.shape[1] == problem.machines
        )


@dataclass
class Solution:
    """What a fit produced."""

    weights: Weights
    alpha: Start | None
    primal: float
    dual: float
    gap: float
    violation: float
    passes: int
    converged: bool
    ended_by: str
    history: list[ScanRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    max_passes: int
    time_limit: float | None = None


def csr_weights(parts: tuple[Any, Any, Any, NDArray[Any]], features: int) -> Weights:
    """Weights from the compiled core's CSR parts."""
    data, indices, indptr, constant = parts
    coef = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, features))
    return Weights(coef, constant)


def stacked_weights(parts: list[Weights], features: int, dtype: Any) -> Weights:
    """The rows of several weights below each other; there may be none."""
    none = sp.csr_matrix((0, features), dtype=dtype)
    coef: Any = sp.vstack([none, *(part.coef for part in parts)], format="csr")
    return Weights(coef, np.concatenate([np.empty(0, dtype), *(p.constant for p in parts)]))
