"""The solver of Weston-Watkins with many classes and a small C: see bounded_engine.hpp.

A pass solves one sample after the other, all its classes at once. Nearly all variables come to
their bound in the first passes, so that five are enough for a gap of 1 % (12,582 classes, C = 0.001
and 0.01).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multimargin import _core
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._layout import entries
from multimargin.solvers._solution import Alpha, Solution, Start, Weights, csr_weights
from multimargin.solvers.rows._dense import DenseSolver

# Samples add a third to a sixth of what they measure in a pass to the gap after it.
_WORTH_A_LOOK, _LEAST_WORTH = 3.0, 0.75
_MOST_PASSES = 8  # between two certificates
_MULTIPLY_ADDS = 1e9  # per second, to plan the end of a time limit


class BoundedSolver(DenseSolver):
    """One run by passes over all samples with all their classes."""

    name = "bounded"
    engine = "bounded rows"
    divides_classes = False
    depends_on_bundles = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        options = {"threads": self._threads, "seed": self._seed, "isa": self._isa}
        self._engine = _core.bounded_engine(problem.samples, **options)
        work = float(entries(problem.X) + len(problem.y)) * problem.n_classes
        self._scan_seconds = work / (_MULTIPLY_ADDS * self._threads)

    def _run(self, start: Start | None) -> Solution:
        worth, limit = _WORTH_A_LOOK, ""
        if isinstance(start, Alpha):
            self._engine.assign(start.slot_begin, start.cls, start.scaled_to(self._problem))
        else:
            limit = self._passes_until(worth)
        ended_by = self._look() or limit
        while not self._reached() and not ended_by:
            limit, worth = self._passes_until(worth), max(worth / 2, _LEAST_WORTH)
            ended_by = self._look() or limit
        return self._end(ended_by)

    def _passes_until(self, worth: float) -> str:
        """Pass until the tolerance is likely; return the limit that ended it before, if any."""
        stopping = self._stopping
        for _ in range(_MOST_PASSES):
            if limit := self._limit_reached():
                return limit
            self._limit(self._engine)
            result = self._engine.run_pass(True, 0.0, -np.inf, stopping.idle)
            self._pass_done()
            if not result.complete:
                return "time_limit"
            # The optimum is between half the sum of the variables and all of it.
            optimum = self._history[-1].dual if self._history else 0.75 * self._engine.total
            target = worth * stopping.tol * optimum if stopping.by_gap else stopping.tol
            if stopping.measure(result) <= target:
                break
        return self._limit_reached()

    def _objectives(self, seen: Any) -> tuple[float, float]:
        # Sums in double precision of as many terms as there are samples, features and classes.
        terms = sum(self._problem.X.shape) + self._problem.n_classes
        rounding = terms * float(np.finfo(np.float64).eps)
        primal = (seen.half_norm + seen.loss) * (1 + rounding)
        return primal, seen.gain * (1 - rounding) - seen.dual_half_norm * (1 + rounding)

    def _restore(self, snapshot: Any) -> None:
        assert snapshot is ZERO
        y, box = self._problem.y, self._problem.box
        self._engine.assign(np.arange(len(y) + 1, dtype=np.int64), y, np.zeros_like(box))

    def _shrink(self, factor: float) -> bool:
        return False  # weights of variables at a small bound are better than zero

    def _kept_alpha(self) -> Start | None:
        if not self._keep_alpha:
            return None
        begin, cls, value = self._engine.lists()
        return Alpha(self._problem.formulation, begin, cls, value, self._problem.box)

    def _weights(self) -> Weights:
        problem, engine = self._problem, self._engine
        classes, features = problem.n_classes, problem.X.shape[1]
        if 4 * engine.nonzeros <= classes * features:  # else the indices take too much
            return csr_weights(engine.sparse_weights(), features)
        engine.forget_weights()  # they would take as much as the model
        return self._weights_of(classes)
