"""Dual variables of the row engine, for solvers whose passes crawl on a problem that suits it.

Where classes are divided over ranks or bundles, rows are not the first choice. On dense features
with a large C passes take tens of thousands, and the row engine's Newton steps a few dozen: one
rank takes them, and all go on from its dual variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.solvers._base import BaseSolver
from multimargin.solvers._engine_choice import choose_engine
from multimargin.solvers._layout import filled_rows
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.rows._solver import RowSolver


class RowStart(BaseSolver):
    """A solver that may go on from where the row engine ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tried_rows = False

    def _may_try_rows(self) -> bool:
        untried = self.accelerated and not self._tried_rows
        return untried and choose_engine(self._problem).rows

    def _row_variables(
        self, wanted: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return dual variables, samples x weight vectors, and the dual of each weight vector.

        Where samples have sets of labels, of the `wanted` classes, one after the other; others are
        zero.
        """
        self._tried_rows = True
        found = None
        if self._comm.rank == 0:
            problem = self._problem
            if problem.sets is None or wanted is None:
                values, used = self._by_rows(problem)
            else:
                values, used = np.zeros((len(problem.y), problem.n_classes)), 0
                for place in wanted:
                    column, passes_of_class = self._by_rows(problem.binary(place))
                    values[:, place], used = column[:, 0], max(used, passes_of_class)
            # Judged as they will be used: rounded.
            alpha = np.ascontiguousarray(values, dtype=problem.X.dtype)
            duals = _duals(self._problem, alpha.astype(np.float64))
            if not self._problem.bias:  # the variables of empty samples are known, and not kept
                alpha[~filled_rows(self._problem.X)] = 0
            found = [alpha, duals, np.array([self._passes + used])]
        alpha, duals, passes = self._comm.broadcast(found)
        self._pass_done(int(passes[0]) - self._passes)
        return alpha, duals

    def _by_rows(self, problem: Problem) -> tuple[NDArray[Any], int]:
        share = 0.1 if self._stopping.by_gap else 0.001
        left = self._seconds_left()
        limits = Limits(
            max(1, self._limits.max_passes - self._passes), None if np.isinf(left) else left
        )
        stopping = GapStopping(share * self._stopping.tol)
        rows = RowSolver(problem, stopping, limits, seed=self._seed, isa=self._isa)
        passes = rows.run().passes
        return rows.dual_variables(), passes


def _duals(problem: Problem, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    facts, rows = problem.facts, problem.weight_rows
    own = problem.own_class(0, rows)
    total = facts.signed(alpha, own).sum(axis=1, keepdims=True)
    shares = facts.shares(alpha, own, total, rows)
    W: Any = problem.X.T @ shares
    squares = np.sum(np.square(W), axis=0) + np.square(problem.bias * shares.sum(axis=0))
    gains = facts.dual_gains(alpha, own, rows, problem.asked())
    if problem.loss == "squared_hinge":
        gains = gains - np.sum(np.square(alpha) / (4 * problem.box[:, None]), axis=0)
    duals: NDArray[np.float64] = gains - 0.5 * squares
    return duals
