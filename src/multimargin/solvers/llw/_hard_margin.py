"""Lee-Lin-Wahba with C = infinity: the certificate, and proofs that there is no solution.

    min 1/2 sum_c |w_c|^2   so that   1 + w_c.x_i <= 0  for all c != y_i,   sum_c w_c = 0

W(alpha) breaks the constraints by at most v, its largest margin. W / (1 - v) obeys all of them if
v < 1, so half its squared norm bounds the optimum from above as the dual does from below.

For any p >= 0 and any W that obeys the constraints, sum p <= <W(p), W> <= |W(p)| |W|: the norm of
every solution is at least sum p / |W(p)|. Where there is no solution the dual variables grow for
ever along such a p with W(p) = 0; their growth between two looks shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from multimargin.parallel._communicator import Communicator
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Solution, squared_norms
from multimargin.solvers._stopping import Stopping

if TYPE_CHECKING:
    from multimargin.solvers.llw._rank_classes import Share

# A solution's norm is at most sqrt(n) K over the least singular value of X. Where |x| over that
# would have to exceed the first of these, there is no solution that double precision could hold;
# beyond the second nothing is expected any more from passes that have not found one.
_IMPOSSIBLE = 1e9
_HOPELESS = 1e5
_MOST_CONSTRAINTS = 20_000  # of a linear program
_MOST_SCALINGS = 8  # of a rounded hard margin; one or two are enough


class HardMargin:
    """The certificate of one run. Dual variables are of all classes, or of a rank's share."""

    def __init__(self, problem: Problem, share: Share | None = None) -> None:
        self._problem, self._share = problem, share
        self._margin = 0.0
        # The pass at which the next comparison is due, and the variables it compares with.
        self.memory: tuple[int, NDArray[Any] | None] = (16, None)
        X: Any = problem.X
        squares = (X * X if isinstance(X, np.ndarray) else X.multiply(X)).sum(axis=1)
        norms = np.asarray(squares).reshape(-1) + problem.bias**2
        empty = np.flatnonzero(norms == 0)
        if len(empty):
            raise ValueError(
                f"C=inf is infeasible: sample {empty[0]} has no non-zero feature, so its scores "
                "are 0 with any weights. Leave such samples out, or use a finite C."
            )
        n, k = len(problem.y), problem.n_classes
        self._unit = k * np.sqrt(n / norms.max())  # of a solution's norm

    def primal(self, seen: Any) -> float:
        """Return the objective of weights scaled to obey the constraints; infinite if none do."""
        self._margin = seen.margin
        return seen.half_norm / (1 - seen.margin) ** 2 if seen.margin < 1 else float("inf")

    def scale(self, coef: NDArray[Any], constant: NDArray[Any]) -> None:
        """Make weights obey the constraints, where the certificate can."""
        if 0 < self._margin < 1:
            coef /= 1 - self._margin
            constant /= 1 - self._margin

    def goes_on(self, alpha: NDArray[Any], limit: float = _IMPOSSIBLE) -> bool:
        """Return True; raise ValueError if these dual variables prove that nothing can obey."""
        least = self._least_norm(alpha)
        if least > limit * self._unit:
            raise ValueError(
                "C=inf is infeasible, or as good as: weights that keep all training samples at "
                f"their margin would have a norm of at least {least:.2g}, if there are any. "
                "Samples of different classes may be equal or dependent, or the classes overlap. "
                "Use a finite C, or scale the features."
            )
        return True

    def refuse_by_linear_program(self) -> None:
        """Raise ValueError if a linear program, for few constraints, finds no weights that obey."""
        problem = self._problem
        n, k = len(problem.y), problem.n_classes
        if n * k > _MOST_CONSTRAINTS:
            return
        X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
        if problem.bias:
            X = np.hstack([X, np.full((n, 1), problem.bias)])
        others = np.arange(k)[None, :] != problem.y[:, None]
        rows = [sp.csr_matrix(X[others[:, c]]) for c in range(k)]
        program: Any = linprog  # its types do not know sparse matrices
        found = program(
            np.zeros(k * X.shape[1]),
            A_ub=sp.block_diag(rows, format="csr"),
            b_ub=-np.ones(int(others.sum())),
            A_eq=sp.hstack([sp.identity(X.shape[1])] * k, format="csr"),
            b_eq=np.zeros(X.shape[1]),
            bounds=(None, None),
            method="highs",
            options={"time_limit": 30.0},
        )
        if found.status == 2:
            raise ValueError(
                "C=inf is infeasible: a linear program shows that no weights keep all training "
                "samples at their margin. Use a finite C."
            )

    def compare(self, alpha: Callable[[], NDArray[Any]], passes: int) -> None:
        """Look, now and then, at how the dual variables grow."""
        due, before = self.memory
        if passes < due:
            return
        now = alpha()
        self.goes_on(now, _HOPELESS)
        if before is not None:
            self.goes_on(np.maximum(now - before, 0), _HOPELESS)
        self.memory = (2 * passes, now)

    def _least_norm(self, p: NDArray[Any]) -> float:
        problem, share = self._problem, self._share
        bundles = [p] if share is None else list(share.split(p).values())

        def add_up(rows: list[Any], length: int) -> NDArray[np.float64]:
            return rows[0] if share is None else share.add_up(rows, length)

        sums = add_up([q.sum(axis=1, dtype=np.float64) for q in bundles], len(problem.y))
        parts = []
        for q in bundles:
            centred = q - (sums / problem.n_classes)[:, None]
            squares = float(np.sum(np.square(problem.X.T @ centred)))
            squares += problem.bias**2 * float(np.sum(np.square(centred.sum(axis=0))))
            parts.append(np.array([squares]))
        squares = float(add_up(parts, 1)[0])
        total = float(sums.sum())
        if total == 0:
            return 0.0
        return total / np.sqrt(squares) if squares > 0 else float("inf")

    def rounded(self, solution: Solution, stopping: Stopping, comm: Communicator) -> Solution:
        """Round a solution to the model's type, which has fewer digits, and certify that.

        Weights are scaled until they obey the constraints again.
        """
        problem, given = self._problem, solution.weights
        if problem.dtype in (None, problem.X.dtype):
            return solution
        held = np.arange(problem.n_classes) if given.classes is None else given.classes
        scale = 1.0
        for _ in range(_MOST_SCALINGS):
            coef = (scale * given.coef).astype(problem.dtype)
            constant = (scale * given.constant).astype(problem.dtype)
            intercept = (constant * constant.dtype.type(problem.bias)).astype(np.float64)
            margins = 1 + problem.X @ coef.astype(np.float64).T + intercept
            margins[held[None, :] == problem.y[:, None]] = 0.0
            most = float(comm.allreduce(np.array([margins.max(initial=0.0)]), "max")[0])
            if not 0 < most < 1:
                break
            scale *= (1 + 2 * float(np.finfo(problem.dtype).eps)) / (1 - most)
        weights = replace(given, coef=coef, constant=constant)
        squares = np.array([np.sum(squared_norms(weights))])
        half = float(sum(part[0] for (part,) in comm.allgather([squares]))) / 2
        primal = half / (1 - most) ** 2 if most < 1 else math.inf
        last = replace(solution.history[-1], primal=max(primal, solution.dual))
        ended_by = "" if stopping.reached(last) else solution.ended_by or "precision"
        history = [*solution.history[:-1], last]
        return replace(solution, weights=weights, ended_by=ended_by, history=history)
