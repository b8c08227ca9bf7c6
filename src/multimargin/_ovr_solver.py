"""One-vs-rest: every class against all others, each to its own tolerance.

The compiled solver takes classes a cache line at a time; here they are handed to it in groups, so
that progress can be shown and a run can end between two of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin._base_solver import BaseSolver
from multimargin._solution import DenseAlpha, Solution, Start, Weights, csr_weights
from multimargin._stopping import GapStopping

# Lines handed over at a time, but no more than 16 times in all; the same for any number of
# threads, since the history shows it.
_LINES, _GROUPS = 64, 16
# With a time limit all classes come this far first: one that was never trained scores 0, and so
# above all that have learnt to say no.
_ROUGH = 0.2
_MOST_ALPHA_BYTES = 2**31  # kept for that; above, a time limit leaves the last classes untrained
_SLOW_PASSES = 300  # after which an interior point is tried, where it suits


class OvrSolver(BaseSolver):
    """One run of the one-vs-rest machine."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        two = problem.n_classes == 2
        self._engine: _core.OneVsRest = problem.core(
            "OneVsRest",
            machines=problem.machines,
            first_class=1 if two else 0,
            loss=problem.loss,
            threads=self._threads,
            seed=self._seed,
            isa=self._isa,
        )

    def _run(self, start: Start | None) -> Solution:
        alpha = self._first_alpha(start)
        tol, ended_by = self._stopping.tol, ""
        in_two = self._limits.time_limit is not None and alpha is not None
        rounds = [max(tol, _ROUGH), tol] if in_two else [tol]
        for target in dict.fromkeys(rounds):
            ended_by = self._round(target, alpha)
            if not ended_by and not self._all_reached(target):
                ended_by = self._finish(target, alpha)
            if ended_by:
                break
        if self._stopping.reached(self._history[-1]):
            ended_by = ""  # all together, if not each by itself
        elif not ended_by:
            precision = any(r.precision for r in self._engine.reports())
            ended_by = "precision" if precision else "max_iter"
        problem = self._problem
        kept = (
            DenseAlpha(problem.formulation, problem.loss, problem.y, alpha, problem.box)
            if alpha is not None
            else None
        )
        return self._solution(ended_by, kept)

    def _first_alpha(self, start: Start | None) -> NDArray[Any] | None:
        problem = self._problem
        if isinstance(start, DenseAlpha):
            return start.scaled_to(problem)
        size = len(problem.y) * problem.machines * problem.X.dtype.itemsize
        limited = self._limits.time_limit is not None and size <= _MOST_ALPHA_BYTES
        if self._keep_alpha or limited or self._may_use_interior_point():
            return np.zeros((len(problem.y), problem.machines), dtype=problem.X.dtype)
        return None

    def _finish(self, target: float, alpha: NDArray[Any] | None) -> str:
        """The machines that passes did not finish, by other means if there are any."""
        if limit := self._limit_reached():
            return limit
        if alpha is None or not self._may_use_interior_point():
            return ""
        found = self._interior_point()
        assert found is not None
        for k, report in enumerate(self._engine.reports()):
            if not report.reached and found[1][k] > report.dual:
                alpha[:, k] = found[0][:, k]
        ended_by = self._round(target, alpha, most=0)  # certificates only
        if ended_by or self._all_reached(target):
            return ended_by
        return self._round(target, alpha)

    def _all_reached(self, target: float) -> bool:
        """Whether all machines together, if not each by itself, are within ``target``."""
        return type(self._stopping)(target).reached(self._history[-1])

    def _round(self, target: float, alpha: NDArray[Any] | None, most: int | None = None) -> str:
        """All classes to the tolerance ``target``, by ``most`` passes; returns what ended it."""
        lanes, machines = self._engine.lanes, self._problem.machines
        lines = -(-machines // lanes)
        step = lanes * max(_LINES, -(-lines // _GROUPS))
        by_gap = isinstance(self._stopping, GapStopping)
        before = self._passes
        if most is None:
            most = max(0, self._limits.max_passes - before)
            if self._may_use_interior_point():
                most = min(most, _SLOW_PASSES)
        for begin in range(0, machines, step):
            self._limit(self._engine)
            end = min(machines, begin + step)
            complete = self._engine.solve(begin, end, target, by_gap, most, alpha)
            reports = self._engine.reports()
            passes = before + max(r.passes for r in reports[begin:end])
            if passes > self._passes:
                self._pass_done(passes - self._passes)
            asked = self._scan_done(
                sum(r.primal for r in reports),
                sum(r.dual for r in reports),
                max(r.violation for r in reports),
                len(self._problem.y) * machines,
            )
            if not complete:
                return "time_limit"
            # The machines' own passes are counted, and their own precision is looked after.
            if asked in ("a callback", "time_limit"):
                return asked
        return ""

    def _weights(self) -> Weights:
        return csr_weights(self._engine.weights(), self._problem.X.shape[1])
