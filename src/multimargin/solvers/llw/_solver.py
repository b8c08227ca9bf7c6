"""Lee-Lin-Wahba with classes that are divided: state, certificate and weights."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np

from multimargin.solvers._base import BaseSolver
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._core_types import LeeLinWahba
from multimargin.solvers._layout import entries
from multimargin.solvers._solution import DenseAlpha, Solution, Weights
from multimargin.solvers._stopping import PassResult
from multimargin.solvers.llw._hard_margin import HardMargin

_MULTIPLY_ADDS = 2e9  # per second and thread, to plan the end of a time limit
_MOST_SNAPSHOT_BYTES = 2**30  # of the dual variables of the best certificate


class LlwSolver(BaseSolver):
    """State, certificate and weights: common to both ways."""

    engine = "lines with a common mean"
    zero_state = ZERO

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        # Until the first certificate has been timed: three passes over the data, one over W.
        work = 3.0 * entries(problem.X) * problem.n_classes + problem.X.shape[1] * problem.n_classes
        self._scan_seconds = work / (_MULTIPLY_ADDS * self._threads * self._comm.size)
        self._hard: HardMargin | None = None
        self._engine: LeeLinWahba
        self._prepare(threads=self._threads, seed=self._seed, isa=self._isa)

    @abstractmethod
    def _prepare(self, **options: Any) -> None:
        """Make the compiled solver with these options."""

    @abstractmethod
    def _assign(self, alpha: Any) -> None: ...

    @abstractmethod
    def _certificate(self) -> Any:
        """Return sums over all classes, at weights made anew."""

    @abstractmethod
    def _seen_now(self) -> Any:
        """Return the same at the present weights."""

    def _look(self) -> str:
        """Certify weights made anew; return why the run has to end here, if it has to."""
        began = time.monotonic()
        self._engine.set_time_limit(-1.0)
        seen = self._certificate()
        primal, dual = self._objectives(seen)
        self._scan_seconds = time.monotonic() - began
        ended_by = self._scan_done(primal, dual, seen.violation, seen.free)
        if self._hard is not None and not self._reached():
            self._hard.compare(self._alpha, self._passes)
        return ended_by

    def _objectives(self, seen: Any) -> tuple[float, float]:
        # The norm is of rounded weights, the dual variables stand for exact ones.
        norm_error = 2 * float(np.finfo(self._problem.X.dtype).eps) * seen.half_norm
        dual = seen.alpha - seen.half_norm - norm_error
        if self._hard is not None:
            return self._hard.primal(seen), dual
        return seen.half_norm + norm_error + seen.loss, dual

    def _shrink(self, factor: float) -> bool:
        self._assign(self._alpha() * self._problem.X.dtype.type(factor))
        seen = self._seen_now()
        self._certified(*self._objectives(seen), seen.violation, seen.free)
        return True

    def _reached(self) -> bool:
        return self._stopping.reached(self._history[-1])

    def _snapshot(self) -> Any:
        size = len(self._problem.y) * self._engine.held * self._problem.X.dtype.itemsize
        return self._alpha() if size <= _MOST_SNAPSHOT_BYTES else None

    def _restore(self, snapshot: Any) -> None:
        self._assign(np.zeros_like(self._alpha()) if snapshot is ZERO else snapshot)
        if self._hard is not None:
            self._hard.primal(self._seen_now())  # the margin that the weights are scaled by

    def _alpha(self) -> np.ndarray[Any, Any]:
        problem = self._problem
        value = np.empty((len(problem.y), self._engine.held), dtype=problem.X.dtype)
        self._engine.alpha(value)
        return value

    def _weights(self) -> Weights:
        problem, held = self._problem, self._engine.held
        coef = np.empty((held, problem.X.shape[1]), dtype=problem.X.dtype)
        constant = np.empty(held, dtype=problem.X.dtype)
        self._engine.weights(coef, constant)
        if self._hard is not None:
            self._hard.scale(coef, constant)
        return Weights(coef, constant)

    def _end(self, ended_by: str) -> Solution:
        solution = self._solution("" if self._reached() else ended_by)
        if self._hard is None:
            return solution
        return self._hard.rounded(solution, self._stopping, self._comm)

    def _kept_alpha(self) -> DenseAlpha | None:
        if not self._keep_alpha or self._comm.size > 1:
            return None
        return DenseAlpha.of(self._problem, self._alpha())

    def _measure(self, result: PassResult) -> float:
        return float(result.violation if self._by_violation else result.gap)

    @property
    def _by_violation(self) -> bool:
        return self._hard is not None or not self._stopping.by_gap

    def _target(self) -> float:
        """Return the measure at which a certificate is likely to reach the tolerance."""
        if self._hard is not None and self._stopping.by_gap:
            # The primal is the norm over (1 - margin)^2.
            return 0.25 * self._stopping.tol
        if self._by_violation:
            return self._stopping.tol
        return self._stopping.tol * self._history[-1].primal
