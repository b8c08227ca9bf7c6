"""What solvers have in common whose weights and dual variables are dense: see `DenseSolver`."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.solvers._base import BaseSolver
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._solution import Alpha, DenseAlpha, Solution, Start, Weights
from multimargin.solvers._stopping import PassResult
from multimargin.solvers.llw._hard_margin import HardMargin


class DenseSolver(BaseSolver):
    """Certificates, weights and endings of a run of a compiled engine; also of the hard margin."""

    zero_state = ZERO
    _engine: Any
    _hard: HardMargin | None = None

    def dual_variables(self) -> NDArray[Any]:
        """Return the present dual variables, samples x weight vectors of this engine."""
        raise NotImplementedError

    def _assign(self, alpha: Any) -> None:
        """Set the dual variables, and the weights that they make."""
        raise NotImplementedError

    @abstractmethod
    def _objectives(self, seen: Any) -> tuple[float, float]:
        """Return bounds of primal and dual, from a certificate."""

    def _certificate(self) -> Any:
        """Return sums over all classes, at weights made anew: rounding drift cannot hide there."""
        self._engine.recompute()
        return self._seen_now()

    def _seen_now(self) -> Any:
        """Return the same at the present weights."""
        return self._engine.certify()

    def _look(self) -> str:
        """Certify weights made anew; return why the run has to end here, if it has to."""
        began = time.monotonic()
        self._engine.set_time_limit(-1.0)
        seen = self._certificate()
        primal, dual = self._objectives(seen)
        self._scan_seconds = time.monotonic() - began
        ended_by = self._scan_done(primal, dual, seen.violation, seen.free)
        if self._hard is not None and not self._reached():
            self._hard.compare(self.dual_variables, self._passes)
        return ended_by

    def _shrink(self, factor: float) -> bool:
        self._assign(self.dual_variables() * factor)
        seen = self._seen_now()
        self._certified(*self._objectives(seen), seen.violation, seen.free)
        return True

    def _restore(self, snapshot: Any) -> None:
        self._assign(np.zeros_like(self.dual_variables()) if snapshot is ZERO else snapshot)
        if self._hard is not None:
            self._hard.primal(self._seen_now())  # the margin that the weights are scaled by

    @property
    def _by_violation(self) -> bool:
        return self._hard is not None or not self._stopping.by_gap

    def _measure(self, result: PassResult) -> float:
        return float(result.violation if self._by_violation else result.gap)

    def _weights_of(self, rows: int) -> Weights:
        """Return all weight vectors of the engine, of which there are so many."""
        dtype = self._problem.X.dtype
        coef, constant = np.empty((rows, self._problem.X.shape[1]), dtype), np.empty(rows, dtype)
        self._engine.weights(coef, constant)
        if self._hard is not None:
            self._hard.scale(coef, constant)
        return Weights(coef, constant)

    def _kept_alpha(self) -> Start | None:
        if not self._keep_alpha or self._comm.size > 1:
            return None
        problem, alpha = self._problem, self.dual_variables()
        if problem.facts.sparse_dual:
            return Alpha.of_dense(problem, alpha)
        return DenseAlpha.of(problem, alpha)

    def _end(self, ended_by: str) -> Solution:
        solution = self._solution("" if self._reached() else ended_by)
        if self._hard is None:
            return solution
        return self._hard.rounded(solution, self._stopping, self._comm)
