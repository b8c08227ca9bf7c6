"""One problem solved on several ranks, put together again, to compare bit by bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from tests.support.memory_checkpoints import MemoryCheckpoints
from tests.support.rank_threads import run_ranks


@dataclass
class LocalWorkspace:
    """What all ranks found together."""

    coef: Any
    constant: np.ndarray
    solutions: list[Any]
    bytes_sent: list[int]
    solvers: list[Any]

    @property
    def engine_bytes(self):
        """What the compiled solver of each rank holds, where it says so."""
        return [solver._engine.bytes for solver in self.solvers]

    @property
    def scalars(self):
        s = self.solutions[0]
        history = [(r.primal, r.dual, r.violation, r.active, r.passes) for r in s.history]
        return (s.primal, s.dual, s.gap, s.violation, s.passes, s.ended_by, history)

    def same_bits(self, other):
        return (
            self.coef.dtype == other.coef.dtype
            and self.coef.tobytes() == other.coef.tobytes()
            and self.constant.tobytes() == other.constant.tobytes()
            and self.scalars == other.scalars
        )


def problem_of(X, y, formulation, C=1.0, dtype=np.float64, weight=None, bias=1.0, loss="hinge"):
    X = as_core_csr(sp.csr_matrix(X).astype(dtype))
    n_classes = int(y.max()) + 1
    box = np.full(len(y), C) if weight is None else C * weight
    return Problem(X, y.astype(np.int32), box.astype(dtype), n_classes, bias, formulation, loss)


def solve(problem, kind, ranks=1, *, tol=0.05, stopping=None, max_passes=400, shelf=None,
          resume_from=None, checkpoints=None, observers=None, time_limit=None, start=None,
          **options):  # fmt: skip
    """Run ``kind`` on ``ranks`` ranks; ``observers`` are rank 0's.

    ``checkpoints(comm)`` makes a rank's checkpoints; with a shelf they are kept there.
    """
    if shelf is not None:
        checkpoints = lambda comm: MemoryCheckpoints(shelf, comm, resume_from)  # noqa: E731

    def work(comm):
        solver = kind(
            problem, stopping or GapStopping(tol), Limits(max_passes, time_limit), comm=comm,
            checkpoints=checkpoints(comm) if checkpoints else None,
            observers=observers if comm.rank == 0 else None, **options
        )  # fmt: skip
        return solver.run(start), comm.bytes_sent, solver

    found = run_ranks(ranks, work)
    solutions, bytes_sent, solvers = (list(part) for part in zip(*found, strict=True))
    return LocalWorkspace(*_joined(problem, solutions), solutions, bytes_sent, solvers)


def _joined(problem, solutions):
    d = problem.X.shape[1]
    coef = np.full((problem.weight_rows, d), np.nan, dtype=problem.X.dtype)
    constant = np.full(problem.weight_rows, np.nan, dtype=problem.X.dtype)
    taken = np.zeros(problem.weight_rows, dtype=int)
    for s in solutions:
        rows = s.weights.classes
        if rows is None:
            assert len(solutions) == 1
            rows = np.arange(problem.weight_rows)
        assert np.all(np.diff(rows) > 0)
        part = s.weights.coef
        coef[rows] = part.toarray() if sp.issparse(part) else part
        constant[rows] = s.weights.constant
        taken[rows] += 1
    assert np.all(taken == 1), "every class is held by exactly one rank"
    for s in solutions[1:]:
        first = solutions[0]
        assert (s.primal, s.dual, s.gap, s.violation, s.passes, s.ended_by, s.converged) == (
            first.primal,
            first.dual,
            first.gap,
            first.violation,
            first.passes,
            first.ended_by,
            first.converged,
        )
        assert [(r.primal, r.dual, r.violation, r.active, r.passes) for r in s.history] == [
            (r.primal, r.dual, r.violation, r.active, r.passes) for r in first.history
        ]
    return coef, constant
