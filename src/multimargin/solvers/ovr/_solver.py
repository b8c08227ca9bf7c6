"""One-vs-rest: every class against all others, each to its own tolerance.

The compiled solver takes classes a cache line at a time; here they are handed to it in groups, so
that progress can be shown and a run can end between two of them. Ranks divide the lines of every
group between them. Since lines share nothing but the data, a class is the same whoever trains
it, and only the certificates travel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint
from multimargin.solvers._solution import DenseAlpha, Solution, Start, Weights
from multimargin.solvers.ovr._rank_classes import Lines
from multimargin.solvers.rows._start import RowStart

# With a time limit all classes come this far first: one that was never trained scores 0, and so
# above all that have learnt to say no.
_ROUGH = 0.2
_MOST_ALPHA_BYTES = 2**31  # kept for that; above, a time limit leaves the last classes untrained
_SLOW_PASSES = 300  # after which the row engine is tried, where it suits
_LINES_AT_ONCE = 4  # per thread, between two looks at whether a checkpoint is due

# The steps on the way to one target: passes; certificates of the row engine for classes that
# passes did not finish; passes again.
_PASSES, _CERTIFICATES, _LAST_PASSES = 0, 1, 2


class OvrSolver(RowStart):
    name = "ovr"
    engine = "lines"
    depends_on_bundles = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        self._engine = _core.one_vs_rest(
            problem.samples,
            problems=problem.weight_rows,
            first_class=problem.n_classes - problem.weight_rows,
            loss=problem.loss,
            threads=self._threads,
            seed=self._seed,
            isa=self._isa,
        )
        self._lines = Lines(self._engine, problem, self._comm)
        # Where the run is: which target, which step on the way to it, how many groups are done.
        self._target_at, self._step, self._group = 0, _PASSES, 0
        self._rounds = 1  # over all classes, the present one included
        self._passes_before = 0  # the present round
        self._targets: list[float] = []
        self._alpha: NDArray[Any] | None = None  # of the classes held, when the run has ended

    def _run(self, start: Start | None) -> Solution:
        found = self._last_checkpoint()
        alpha = self._first_alpha(start) if found is None else self._resumed(found)
        ended_by = ""
        while not ended_by and self._target_at < len(self._targets):
            target = self._targets[self._target_at]
            ended_by = self._round(target, alpha) or self._next_step(target, alpha)
        if self._reached():
            ended_by = ""  # all together, if not each by itself
        elif not ended_by:
            ended_by = "precision" if self._lines.at_precision.any() else "max_iter"
        if alpha is not None:
            # Classes that were not reached are zero, whatever a start says.
            alpha[:, self._lines.untouched()] = 0
        self._alpha = alpha
        return self._solution(ended_by)

    def _kept_alpha(self) -> DenseAlpha | None:
        if self._alpha is None or self._comm.size > 1:
            return None
        return DenseAlpha.of(self._problem, self._alpha)

    def _first_alpha(self, start: Start | None) -> NDArray[Any] | None:
        """Return the first dual variables of the classes held; None where they are not kept."""
        problem, tol, timed = self._problem, self._stopping.tol, self._limits.time_limit is not None
        alpha = None
        if isinstance(start, DenseAlpha):
            alpha = start.scaled_to(problem)
            if self._comm.size > 1:
                alpha = np.ascontiguousarray(alpha[:, self._lines.classes])
        elif (
            self._keep_alpha
            or (timed and problem.dense_alpha_bytes <= _MOST_ALPHA_BYTES)
            or self._may_try_rows()
        ):
            alpha = self._no_alpha()
        in_two = timed and alpha is not None
        self._targets = list(dict.fromkeys([max(tol, _ROUGH), tol] if in_two else [tol]))
        return alpha

    def _no_alpha(self) -> NDArray[Any]:
        shape = (len(self._problem.y), len(self._lines.classes))
        return np.zeros(shape, dtype=self._problem.X.dtype)

    def _next_step(self, target: float, alpha: NDArray[Any] | None) -> str:
        """Prepare the next round; return why the run ends instead, if it does."""
        step = self._step
        reached = type(self._stopping)(target).reached(self._history[-1])
        if not reached and step == _PASSES and (limit := self._limit_reached()):
            return limit
        if reached or step == _LAST_PASSES:
            self._target_at, self._step = self._target_at + 1, _PASSES
        elif step == _CERTIFICATES:
            self._step = _LAST_PASSES
        elif alpha is not None and self._may_try_rows():
            found, duals = self._row_variables(np.flatnonzero(self._lines.reached == 0))
            for column, k in enumerate(self._lines.classes):
                if not self._lines.reached[k] and duals[k] > self._lines.dual[k]:
                    alpha[:, column] = found[:, k]
            self._step = _CERTIFICATES
        else:
            self._target_at += 1
        self._rounds, self._group, self._passes_before = self._rounds + 1, 0, self._passes
        return ""

    def _most_passes(self) -> int:
        if self._step == _CERTIFICATES:
            return 0
        most = max(0, self._limits.max_passes - self._passes_before)
        # Those after the row engine have tried it.
        return min(most, _SLOW_PASSES) if self._may_try_rows() else most

    def _round(self, target: float, alpha: NDArray[Any] | None) -> str:
        """Bring the classes that are left to ``target``; return why the run ends, if it does."""
        most = self._most_passes()
        for group in range(self._group, len(self._lines.groups)):
            complete = self._solve_group(group, target, most, alpha)
            classes = self._lines.exchange(group)
            passes = self._passes_before + int(self._lines.passes[classes].max())
            self._pass_done(max(0, passes - self._passes), self._work_done(group))
            asked = self._scan_done(
                sum(self._lines.primal.tolist()),
                sum(self._lines.dual.tolist()),
                float(self._lines.violation.max()),
                len(self._problem.y) * self._problem.weight_rows,
            )
            if not complete:
                return "time_limit"
            # Each class counts its own passes and looks after its own precision.
            if asked in ("a callback", "time_limit"):
                return asked
            self._group = group + 1
            self._perhaps_checkpoint(alpha)
        return ""

    def _work_done(self, group: int) -> float | None:
        """Return the share of the work behind after a group; None where few classes are left."""
        if self._step != _PASSES:
            return None
        return (self._target_at + (group + 1) / len(self._lines.groups)) / len(self._targets)

    def _solve_group(
        self, group: int, target: float, most: int, alpha: NDArray[Any] | None
    ) -> bool:
        """Solve this rank's lines of a group; return whether all ranks finished theirs."""
        left = [k for k in self._lines.of_group(group) if self._lines.round_of[k] < self._rounds]
        at_once = _LINES_AT_ONCE * self._threads if self._checkpoints is not None else len(left)
        chunks = [left[k : k + at_once] for k in range(0, len(left), max(1, at_once))]
        count = int(self._comm.allreduce(np.array([len(chunks)]), "max")[0])
        by_gap = self._stopping.by_gap
        for k in range(count):
            complete = True
            for begin, end in self._lines.stretches(chunks[k] if k < len(chunks) else []):
                self._limit(self._engine)
                column = self._lines.column_of(begin)
                complete &= self._engine.solve(
                    begin, end, target, by_gap, most, alpha, column, self._shrinking
                )
                self._lines.solved(begin, end, self._rounds)
            if not self._comm.allreduce(np.array([int(complete)]), "min")[0]:
                return False
            if k + 1 < count:
                self._perhaps_checkpoint(alpha)
        return True

    def _weights(self) -> Weights:
        return self._lines.weights()

    def _perhaps_checkpoint(self, alpha: NDArray[Any] | None) -> None:
        if not self._checkpoint_due():
            return
        assert self._checkpoints is not None
        parts = self._lines.save(alpha)
        if self._comm.rank == 0:
            parts["all"] = dict(self._kept_history())
        common = {
            "at": [self._target_at, self._step, self._group],
            "targets": self._targets,
            "has_alpha": alpha is not None,
            "rounds": self._rounds,
            "passes": [self._passes_before, self._passes],
            "tried_interior_point": self._tried_rows,
        }
        self._checkpoints.write(common, parts)

    def _resumed(self, found: Checkpoint) -> NDArray[Any] | None:
        """Go on as if nothing had happened since the checkpoint; return its dual variables.

        Limits may have changed; targets stay as the run began with them.
        """
        common = found.common
        self._target_at, self._step, self._group = common["at"]
        self._targets, self._rounds = common["targets"], common["rounds"]
        self._passes_before, self._passes = common["passes"]
        self._tried_rows = common["tried_interior_point"]
        self._recall_history(found.part("all"))
        alpha = self._no_alpha() if common["has_alpha"] else None
        self._lines.load(found, alpha)
        self._group = self._lines.reopen(self._group, self._rounds, self._most_passes())
        return alpha
