"""Lee-Lin-Wahba by the paper's alternation: classes by themselves, the mean held in between.

With the mean of the classes' sums held fixed every class is a binary machine, so classes can be
worked on anywhere; only the mean has to be reduced, ``reductions`` times per epoch. A variable that
three epochs left alone is dropped, and one full epoch comes before a stop. The mean moves by about
1/K of the way each time, which is why plain alternation is slow. The extrapolated one holds the
mean ahead of where it is, by a momentum that grows as in Nesterov's method and starts again when
the mean turns, or when the dual fell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin._llw_solver import LlwSolver
from multimargin._solution import Solution, Start


class AlternatingSolver(LlwSolver):
    """One run by alternation."""

    takes_reductions = True
    recalls_dropped = False
    """Whether variables that were dropped take part again after every certificate."""

    def __init__(self, *args: Any, reductions: int = 10, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reductions = reductions

    def _run(self, start: Start | None) -> Solution:
        self._begin(start)
        ended_by, everything, next_look = "", True, 1
        while True:
            complete, measure = self._epoch(everything)
            full = everything
            limit = "" if complete else "time_limit"
            limit = limit or self._limit_reached()
            quiet = bool(self._history) and measure <= self._target()
            confirmed = quiet and everything
            everything = quiet and not everything
            # Within the held mean all may be well long before it is: looks are spaced out.
            if limit or (self._passes >= next_look and (confirmed or not quiet)):
                ended_by = self._look() or limit
                if ended_by == "precision" and not full:
                    # Perhaps it is the dropped variables that are wrong.
                    ended_by, everything, self._stalled = "", True, 0
                next_look = self._passes + 1 + self._passes // 8
                if self._reached() or ended_by:
                    return self._end(ended_by)
                everything = everything or self.recalls_dropped

    def _epoch(self, everything: bool) -> tuple[bool, float]:
        """Every class over all samples, with as many reductions as were asked for."""
        measures = []
        for part in range(self._reductions):
            self._limit(self._engine)
            self._hold_mean()
            result = self._engine.pass_lines(
                part, self._reductions, everything and part == 0, self._stopping.idle
            )
            measures.append(self._measure(result))
            if not result.complete:
                return False, np.inf
        self._pass_done()
        return True, max(measures) if self._by_violation else sum(measures)

    def _hold_mean(self) -> None:
        self._engine.hold_mean(None)


class ExtrapolatedSolver(AlternatingSolver):
    """One run by alternation with the mean held ahead of where it is."""

    recalls_dropped = True  # the mean moves far between two certificates

    def _run(self, start: Start | None) -> Solution:
        self._steps = 0  # since momentum started
        self._held: NDArray[Any] | None = None  # counted from the last look
        self._mean: NDArray[Any] | None = None
        self._best: NDArray[Any] | None = None
        self._best_dual = -np.inf
        return super()._run(start)

    def _hold_mean(self) -> None:
        mean = np.asarray(self._engine.hold_mean(None), dtype=np.float64)
        shift = np.zeros_like(mean)
        if self._mean is not None and self._held is not None:
            move = mean - self._mean
            self._steps += 1
            # Not a dot product: BLAS would use threads of its own.
            if float(np.sum((mean - self._held) * move)) < 0:
                self._steps = 0
            shift = max(0.0, (self._steps - 1) / (self._steps + 2)) * move
            self._engine.hold_mean(shift.astype(self._problem.X.dtype))
        self._mean, self._held = mean, mean + shift

    def _certificate(self) -> _core.FullReport:
        # It makes the weights anew, and the core's means then count from the present one.
        now = np.asarray(self._engine.hold_mean(None), dtype=np.float64)
        seen = super()._certificate()
        if self._mean is not None and self._held is not None:
            self._mean, self._held = self._mean - now, self._held - now
        dual = seen.alpha - seen.half_norm
        if self._best is not None and dual < self._best_dual:
            # Back to the best dual variables known, without momentum.
            self._engine.assign(self._best)
            self._steps, self._mean, self._held = 0, None, None
            self._stalled = -1  # the same point twice is not the end of precision
            return super()._certificate()
        self._best, self._best_dual = self._alpha(), dual
        return seen
