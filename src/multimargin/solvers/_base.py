"""The base of all solvers: limits, history, observers, and the best certificate so far."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint, Checkpoints, Part
from multimargin.io._interrupts import present_request
from multimargin.parallel._collectives import broadcast_value
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.solvers._best_so_far import ZERO, BestSoFar
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Observers, ScanRecord, packed, unpacked
from multimargin.solvers._solution import Limits, Solution, Start, Weights
from multimargin.solvers._stopping import Stopping

# By how much, relatively, sums over all samples and budgets that variables share may be off.
_DUALITY_ROUNDING = {"float32": 2e-6, "float64": 1e-10}
# Multiples of weights that were worse than zero: by so much less each time, and so many times.
_SHRINKING, _MOST_SHRINKINGS = 0.125, 6
_STALLED_SCANS = 3  # scans without progress after which the arithmetic's limit is reached


class BaseSolver(ABC):
    """One run on one problem. Subclasses do the work in `_run`.

    Of the ranks in ``comm`` (this process alone if None) each has the whole problem, and in the end
    the weights of a share of the classes. The solution depends on the number of ``bundles`` of
    classes (None: chosen by the solver), not on the number of ranks.
    """

    name: ClassVar[str]  # in formulations and checkpoints
    engine: ClassVar[str]  # for users
    # Whether it can divide the classes over ranks and bundles, and keep checkpoints.
    divides_classes: ClassVar[bool] = True
    takes_reductions = False  # in the constructor: how often a mean is reduced in an epoch
    # Whether Newton steps may take over where passes are slow.
    accelerated = True
    # Whether another number of bundles makes another solution, within the tolerance.
    depends_on_bundles = True
    zero_state: Any = None  # the snapshot of zero weights; None where the core sees to it

    def __init__(
        self,
        problem: Problem,
        stopping: Stopping,
        limits: Limits,
        *,
        threads: int = 1,
        seed: int = 0,
        observers: Observers | None = None,
        keep_alpha: bool = False,  # for another run, also where it takes samples x classes
        isa: int | None = None,  # instruction set of the kernels
        comm: Communicator | None = None,
        bundles: int | None = None,
        checkpoints: Checkpoints | None = None,
        shrinking: bool = True,  # whether passes leave out variables that seem settled
    ) -> None:
        self._began = time.monotonic()
        self._problem, self._stopping, self._limits = problem, stopping, limits
        self._threads, self._seed, self._shrinking = threads, seed, shrinking
        self._bundles, self._checkpoints, self._keep_alpha = bundles, checkpoints, keep_alpha
        self._comm = comm or SerialCommunicator()
        self._observers = observers or Observers([])
        self._request = present_request()  # to end soon
        if isa is None:  # the best that all ranks have: with different ones they would round apart
            isa = int(self._comm.allreduce(np.array([_core.best_isa()]), "min")[0])
        self._isa = isa
        self._passes = 0
        self._history: list[ScanRecord] = []
        self._stalled = 0
        self._scan_seconds = 0.0  # kept free at the end of a time limit
        zero = self._zero_record()
        self._best_so_far = BestSoFar(zero, self.zero_state, zero, self.zero_state)
        self._present: ScanRecord | None = None  # of the present weights, if they have one

    def run(self, start: Start | None = None) -> Solution:
        """Solve, from ``start`` if it is given and fits."""
        try:
            with self._request.running() if self._request else nullcontext():
                return self._run(start if start is not None and start.fits(self._problem) else None)
        finally:
            self._observers.close()

    @abstractmethod
    def _run(self, start: Start | None) -> Solution: ...

    @abstractmethod
    def _weights(self) -> Weights: ...

    def _pass_done(self, count: int = 1, done: float | None = None) -> None:
        self._passes += count
        self._engine_rests()
        self._observers.on_pass(self._passes, done)

    def _scan_done(self, primal: float, dual: float, violation: float, active: int) -> str:
        """Note the result of a scan; return why the run has to end here, if it has to."""
        record = self._certified(primal, dual, violation, active)
        self._history.append(record)
        asked = self._observers.on_scan(record, self._weights)
        self._stalled = self._stalled + 1 if self._no_progress() else 0
        if asked:
            return self._agreed("a callback")
        return self._agreed("precision" if self._stalled >= _STALLED_SCANS else self._own_limit())

    def _agreed(self, ended_by: str) -> str:
        """Return rank 0's answer on all ranks: its clock and its callbacks count."""
        return str(broadcast_value(self._comm, ended_by)) if self._comm.size > 1 else ended_by

    def _certified(self, primal: float, dual: float, violation: float, active: int) -> ScanRecord:
        self._check_duality(primal, dual)
        record = self._present = ScanRecord(
            self._seconds(), primal, min(dual, primal), violation, active, self._passes
        )
        self._best_so_far.take(record, self._snapshot)
        return record

    def _check_duality(self, primal: float, dual: float) -> None:
        """Raise where the dual is above the primal: then nothing of the run can be true."""
        rounding = _DUALITY_ROUNDING[self._problem.X.dtype.name]
        if dual - primal > rounding * max(abs(primal), abs(dual)):
            raise RuntimeError(
                f"internal error: the dual objective {dual!r} is above the primal objective "
                f"{primal!r}, which cannot be. Please report it, with the data and the parameters."
            )

    def _zero_record(self) -> ScanRecord:
        """Return the certificate of zero weights, which every run has before it begins."""
        problem = self._problem
        most = problem.facts.gamma_own(problem.n_classes)
        most = most if problem.costs is None else float(problem.costs.largest.max())
        return ScanRecord(
            time=0.0, primal=problem.zero_loss(), dual=0.0, violation=most, active=0, passes=0
        )

    def _snapshot(self) -> Any:
        """Return the present state for `_restore`; None where that is too much to keep."""
        return None

    def _restore(self, snapshot: Any) -> None:
        raise NotImplementedError

    @abstractmethod
    def _kept_alpha(self) -> Start | None:
        """Return the present dual variables, where this process has them all."""

    def _back_to(self, record: ScanRecord | None, state: Any) -> ScanRecord:
        """Come back to a record if its state was kept; return the record that it is at."""
        if record is not self._present and state is not None:
            self._restore(state)
            self._present = record
        assert self._present is not None
        return self._present

    def _shrink(self, factor: float) -> bool:
        """Multiply the dual variables and certify that; return whether there was time for it."""
        raise NotImplementedError

    def _leave_zero(self) -> None:
        """Find better weights than zero between these and the present ones.

        The primal is convex on that way, and falls at its beginning.
        """
        best = self._best_so_far
        tries = _MOST_SHRINKINGS if self._present is not None else 0
        while best.primal_state is ZERO and tries > 0 and self._shrink(_SHRINKING):
            tries -= 1

    def _best_ending(self) -> tuple[Weights, Start | None]:
        """Return the weights of the least primal and the dual variables of the largest dual."""
        best = self._best_so_far
        self._leave_zero()
        primal = self._back_to(best.primal, best.primal_state)
        weights = self._weights()
        dual = self._back_to(best.dual, best.dual_state)
        ending = replace(primal, dual=dual.dual, time=self._seconds(), passes=self._passes)
        if not (self._history and primal is dual is self._history[-1]):
            self._history.append(ending)
        return weights, self._kept_alpha()

    def _no_progress(self) -> bool:
        """Say whether the last scan has no better dual, beyond rounding, and no smaller gap."""
        if len(self._history) < 2:
            return False
        last, before = self._history[-1], self._history[-2]
        noise = 8 * float(np.finfo(self._problem.X.dtype).eps) * abs(last.dual)
        smaller = last.gap < 0.99 * before.gap or last.violation < 0.99 * before.violation
        return not last.dual - before.dual > noise and not smaller

    def _reached(self) -> bool:
        return self._stopping.reached(self._history[-1])

    def _seconds(self) -> float:
        """Return the seconds since the run began, those before a checkpoint included."""
        return time.monotonic() - self._began

    def _limit_reached(self) -> str:
        return self._agreed(self._own_limit())

    def _own_limit(self) -> str:
        if self._passes >= self._limits.max_passes:
            return "max_iter"
        return "time_limit" if self._seconds_left() <= 0 else ""

    def _seconds_left(self) -> float:
        """Return the seconds until the last scan has to begin; infinite without a limit."""
        if self._request is not None and self._request.asked:
            return 0.0
        if self._limits.time_limit is None:
            return float("inf")
        # Before the first pass there is nothing to scan: the certificate of zero weights is known.
        scan = self._scan_seconds if self._passes or self._history else 0.0
        end = self._began + self._limits.time_limit - scan
        return max(0.0, end - time.monotonic())

    def _seconds_to_overtime(self) -> float:
        """Return the seconds until the scan after a time limit is given up; -1: never."""
        # Without it there is no certificate of the last passes, so it may take somewhat longer.
        limit = self._limits.time_limit
        if limit is None:
            return -1.0
        overtime = min(0.4 * limit, 1.0 + 0.1 * limit)
        return max(0.0, self._began + limit + overtime - time.monotonic())

    def _limit(self, engine: Any) -> None:
        """Limit the time of a pass that comes next."""
        if self._request is not None:
            self._request.passes_in(engine)
        left = self._seconds_left()
        engine.set_time_limit(-1.0 if left == float("inf") else left)

    def _engine_rests(self) -> None:
        if self._request is not None:
            self._request.passes_in(None)

    def _last_checkpoint(self) -> Checkpoint | None:
        return None if self._checkpoints is None else self._checkpoints.read()

    def _checkpoint_due(self) -> bool:
        return self._checkpoints is not None and self._checkpoints.due()

    def _kept_history(self) -> Part:
        """Return the history and the seconds of the run so far, for a checkpoint."""
        return {"history": packed(self._history), "seconds": np.array([self._seconds()])}

    def _recall_history(self, kept: Part) -> None:
        self._history = unpacked(np.array(kept["history"]))
        self._began -= float(kept["seconds"][0])

    def _solution(self, ended_by: str) -> Solution:
        """Return the solution of a run that reached its tolerance, or ``ended_by`` otherwise."""
        if ended_by == "time_limit" and self._request is not None and self._request.asked:
            ended_by = "interrupt"
        if ended_by:
            weights, alpha = self._best_ending()
        else:
            weights, alpha = self._weights(), self._kept_alpha()
        last = self._history[-1]
        if self._stopping.reached(last):
            ended_by = ""  # the two best together, if no point by itself
        if alpha is not None and self._keep_alpha:
            alpha = alpha.measured(weights, self._problem)
        return Solution(
            weights=weights,
            alpha=alpha,
            passes=self._passes,
            ended_by=ended_by,
            history=self._history,
            is_zero=bool(ended_by) and self._best_so_far.primal_state is ZERO,
        )
