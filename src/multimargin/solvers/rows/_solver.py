"""The solver of any loss with few classes, or whose solution is dense.

A pass solves one sample after the other, all its classes at once. Where passes crawl (dense
features, large C) Newton steps take over; with few features each is as good as solving a linear
system, whatever their scale.

Every rank does all of the work, with the same result, and has a share of the weights in the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint
from multimargin.io._memory import available
from multimargin.parallel._partition import divided
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._layout import entries
from multimargin.solvers._solution import DenseAlpha, Solution, Start, Weights
from multimargin.solvers.llw._hard_margin import HardMargin
from multimargin.solvers.rows._dense import DenseSolver
from multimargin.solvers.rows._newton import Newton

_FIRST_PASSES = 2  # where all variables are at their bound, nothing is left after them
_PHASE = 4  # passes between the first certificates
_LONGEST_PHASE = 32
# Newton steps for a tenth of the gap, and the passes in the time of one, its matrices apart.
_NEWTON_STEPS, _NEWTON_PASSES = 3.0, 3.0
_NEWTON_PASSES_SPARSE = 30.0  # without a matrix per class, conjugate gradients take longer
_DECADE = math.log(10)
_RISEN = 1.2  # times the gap of a phase's first pass: the intercept is held no longer
_STAGE = 0.1  # of the gap: what passes between two certificates are to leave
_WORTH_A_LOOK = 0.02  # of the gap, by which Newton steps have lowered the primal
_MULTIPLY_ADDS = 1e9  # per second, to plan the end of a time limit
_MOST_SNAPSHOT_BYTES = 2**30
# Multiply-adds of a pass, and of the matrices of a Newton step: solved to rounding up to these.
_SMALL, _SMALL_MATRICES = 1e5, 2e7
_MOST_POLISHING = 100  # Newton steps
_KEPT = ("passes", "stalled", "phase", "newton_failed")  # in checkpoints


class RowSolver(DenseSolver):
    """One run by passes and Newton steps over all samples with all their classes."""

    name = "rows"
    engine = "rows"
    depends_on_bundles = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        self._work = float(entries(problem.X) + len(problem.y)) * max(4, problem.weight_rows)
        self._scan_seconds = 2 * self._work / _MULTIPLY_ADDS
        self._newton: Newton | None = None
        self._newton_failed = False
        self._phase = _PHASE
        self._hard = HardMargin(problem) if np.isinf(problem.box[0]) else None
        loss = (problem.formulation, problem.loss, problem.weight_rows)
        how = (self._threads, self._seed, self._isa)
        self._engine = _core.row_engine(problem.samples, *loss, *how)
        self._holds = self._engine.may_hold and not self._by_violation  # the intercept, in passes

    def _run(self, start: Start | None) -> Solution:
        ended_by = self._first(start)
        while not self._reached() and not ended_by:
            limit = self._work_on()
            ended_by = self._look() or limit
            at_point = self._newton is None or self._newton.point_is_due
            if not ended_by and at_point and self._checkpoint_due():
                self._write_checkpoint()
        if not ended_by and start is None and self._is_small():
            self._polish()
        return self._end(ended_by)

    def _first(self, start: Start | None) -> str:
        """Come to the first certificate; return why the run has to end here, if it has to."""
        found = self._last_checkpoint()
        if found is not None:
            self._resume(found)
            return self._limit_reached()
        limit = ""
        if start is not None:
            self._engine.assign(self._dense(start))
        else:
            limit = self._passes_until(_FIRST_PASSES)
        return self._look() or limit

    # ------------------------------------------------------------ passes

    def _work_on(self) -> str:
        """Go on until a certificate is due; return the limit that ended it before, if any."""
        if self._newton is not None:
            return self._newton_until()
        limit = self._passes_until(self._phase)
        self._phase = min(self._phase + 1 + self._phase // 3, _LONGEST_PHASE)
        if not limit and self._may_use_newton() and self._crawls():
            self._newton = self._begin_newton()
            return self._newton_until()
        return limit

    def _passes_until(self, most: int) -> str:
        """Pass until the tolerance is likely, but no more often than this."""
        target, everything = self._target(), not self._history
        hold = self._holds and not everything  # the first passes find out where it is
        self._seen: list[float] = []
        self._let_go = False  # the intercept, in these passes
        for _ in range(most):
            if limit := self._limit_reached():
                return limit
            self._limit_engine()
            quiet = 0.5 * target / len(self._problem.y) if self._shrinking else -math.inf
            quiet = -math.inf if self._by_violation else quiet
            result = self._engine.run_pass(
                everything, 0.1 * quiet, quiet, self._stopping.idle, hold
            )
            self._pass_done()
            if not result.complete:
                return "time_limit"
            self._seen.append(self._measure(result))
            settled = self._seen[-1] <= target
            if hold and self._seen[-1] > _RISEN * self._seen[0]:
                self._holds, hold, self._seen, self._let_go = False, False, [], True
            if settled and everything:
                return ""
            everything = settled or not self._shrinking
        return self._limit_reached()

    def _target(self) -> float:
        """Return the measure of a pass at which a certificate is due."""
        if self._hard is not None and self._stopping.by_gap:
            return 0.25 * self._stopping.tol  # the primal is the norm over (1 - margin)^2
        if not self._stopping.by_gap:
            return self._stopping.tol
        if not self._history:
            return -math.inf
        last = self._history[-1]
        return max(self._stopping.tol * last.primal, _STAGE * (last.primal - last.dual))

    def _crawls(self) -> bool:
        """Say whether passes would need more time than Newton steps, at the rate of the last."""
        seen, target = self._seen, self._target()
        # The first passes that move an intercept with the samples may raise the gap: 8 s of Newton
        # steps followed, where 0.3 s of passes were enough (3,600 samples, 100 classes).
        if self._let_go or len(seen) < 2 or seen[-1] <= target:
            return False
        if not 0 < seen[-1] < seen[0]:
            return True
        rate = math.log(seen[0] / seen[-1]) / (len(seen) - 1)
        return min(math.log(seen[-1] / target), _DECADE) / rate > self._newton_passes()

    def _may_use_newton(self) -> bool:
        fits = self._engine.newton_bytes <= available() / 2
        return self.accelerated and not self._newton_failed and fits

    def _newton_passes(self) -> float:
        """Return how many passes take as long as Newton steps for a tenth of the gap."""
        matrices = self._engine.matrix_work
        if matrices == 0:
            return _NEWTON_STEPS * _NEWTON_PASSES_SPARSE
        # Made in every other step, and four times as fast as the two products of a pass.
        return _NEWTON_STEPS * (_NEWTON_PASSES + float(matrices) / (16 * self._work))

    # ------------------------------------------------------------ Newton steps

    def _begin_newton(self) -> Newton:
        # Variables that are far from their bound, since C is large, are to move by their own size.
        alpha = self.dual_variables()
        held = alpha[alpha > 0]
        size = float(held.mean()) if held.size else math.inf
        box = float(np.mean(self._problem.box, dtype=np.float64))
        return Newton(self._engine, 1.0 if self._hard is not None else min(1.0, size / box))

    def _newton_until(self) -> str:
        """Take Newton steps until a certificate is due."""
        newton = self._newton
        assert newton is not None
        before = self._history[-1].primal
        while True:
            if limit := self._limit_reached():
                return limit
            self._limit_engine()
            complete = newton.step()
            self._pass_done()
            if not complete:
                return "time_limit"
            if newton.exhausted:
                return self._leave_newton()
            if self._hard is not None:  # the weights of a solved step may obey the constraints
                if newton.point_is_due:
                    return ""
                continue
            if self._stopping.by_gap and newton.gap <= self._stopping.tol:
                return ""
            lowered = before - newton.report.primal
            worth = lowered > _WORTH_A_LOOK * (before - newton.report.dual)
            kept = self._checkpoints is not None and newton.point_is_due
            # Violations are of weights that belong to the dual variables, after the last step.
            if self._stopping.by_gap and (worth or kept):
                return ""
            if not self._stopping.by_gap and newton.gap <= 1e-3 * self._stopping.tol:
                return self._leave_newton()

    def _leave_newton(self) -> str:
        if self._hard is not None:
            self._hard.refuse_by_linear_program()
        self._newton, self._newton_failed = None, True
        self._engine.end_newton()
        return ""

    def _is_small(self) -> bool:
        return self._work <= _SMALL and 0 < self._engine.matrix_work <= _SMALL_MATRICES

    def _polish(self) -> None:
        """Solve a small problem to rounding, which takes a few steps more.

        The weights are those of the dual variables then, so that a run that starts from them ends
        with the same.
        """
        if not self.accelerated or self._by_violation:
            return
        before = self._snapshot()
        if self._newton is None:
            self._newton = self._begin_newton()
        for _ in range(_MOST_POLISHING):
            if self._newton.is_exact or self._newton.exhausted or self._limit_reached():
                break
            self._newton.step()
            self._pass_done()
        self._newton = None
        self._engine.end_newton()
        self._look()
        if not self._reached():
            self._restore(before)
            self._history.pop()
            self._present = self._history[-1]

    # ------------------------------------------------------------ certificates

    def _certificate(self) -> Any:
        # Newton steps go on from the weights that they have found.
        return super()._certificate() if self._newton is None else self._seen_now()

    def _objectives(self, seen: _core.RowCertificate) -> tuple[float, float]:
        rounding = 8 * float(np.finfo(np.float64).eps)
        lost = rounding * (seen.gain + seen.dual_half_norm)
        dual = seen.gain - seen.dual_half_norm - lost
        if self._hard is not None:
            return self._hard.primal(seen), dual
        return (seen.half_norm + seen.loss) * (1 + rounding), dual

    def _limit_engine(self) -> None:
        if self._comm.size == 1:  # else clocks differ, and so would the results
            self._limit(self._engine)

    # ------------------------------------------------------------ for the base

    def _assign(self, alpha: Any) -> None:
        self._newton = None
        self._engine.assign(alpha)

    def _no_progress(self) -> bool:
        # In the middle of a proximal step the dual stays that of the point before.
        return super()._no_progress() if self._newton is None else self._newton.exhausted

    def _snapshot(self) -> Any:
        problem = self._problem
        numbers = (sum(problem.X.shape) + 1) * problem.weight_rows
        if 8 * numbers > _MOST_SNAPSHOT_BYTES:
            return None
        weights = np.empty((problem.X.shape[1] + 1, problem.weight_rows))
        self._engine.copy_weights(weights)
        return self.dual_variables(), weights

    def _restore(self, snapshot: Any) -> None:
        super()._restore(snapshot if snapshot is ZERO else snapshot[0])
        if snapshot is not ZERO:
            self._engine.put_weights(snapshot[1])
            if self._hard is not None:
                self._hard.primal(self._seen_now())

    def dual_variables(self) -> NDArray[np.float64]:
        """Return the best ones so far."""
        alpha = np.empty((len(self._problem.y), self._problem.weight_rows))
        self._engine.alpha(alpha)
        return alpha

    def _weights(self) -> Weights:
        whole = self._weights_of(self._problem.weight_rows)
        if self._comm.size == 1:
            return whole
        cuts = divided(self._problem.weight_rows, self._comm.size)
        mine = slice(cuts[self._comm.rank], cuts[self._comm.rank + 1])
        classes = np.arange(mine.start, mine.stop, dtype=np.int32)
        return Weights(whole.coef[mine].copy(), whole.constant[mine].copy(), classes)

    def _dense(self, start: Start) -> NDArray[np.float64]:
        problem = self._problem
        scaled = start.scaled_to(problem).astype(np.float64)
        if isinstance(start, DenseAlpha):
            return scaled
        alpha = np.zeros((len(problem.y), problem.n_classes))
        rows = np.repeat(np.arange(len(problem.y)), np.diff(start.slot_begin))
        alpha[rows, start.cls] = scaled
        alpha[np.arange(len(alpha)), problem.y] = 0
        return alpha

    # ------------------------------------------------------------ checkpoints

    def _write_checkpoint(self) -> None:
        """Write the state after a certificate, and at a point where Newton steps are taken."""
        assert self._checkpoints is not None
        newton = self._newton
        common = {name: getattr(self, f"_{name}") for name in _KEPT}
        common |= {"best": self._best_so_far.places(self._history), "holds": self._holds}
        common["newton"] = None if newton is None else newton.numbers
        kept = {**self._kept_history(), **self._engine.save()}
        for name, (alpha, weights) in self._best_so_far.states.items():
            kept |= {f"{name}-alpha": alpha, f"{name}-weights": weights}
        self._checkpoints.write(common, {"all": kept} if self._comm.rank == 0 else {})

    def _resume(self, found: Checkpoint) -> None:
        """Go on as if nothing had happened since the checkpoint."""
        common = found.common
        kept = {name: np.array(value) for name, value in found.part("all").items()}
        for name in _KEPT:
            setattr(self, f"_{name}", common[name])
        self._holds = common.get("holds", self._holds)  # earlier versions have none
        self._engine.load(kept["alpha"], kept["weights"], kept["scores"], kept["state"])
        if common["newton"] is not None:
            self._newton = Newton.resumed(self._engine, common["newton"])
        self._recall_history(kept)
        self._present = self._history[-1]

        def state(name: str) -> Any:
            both = f"{name}-alpha", f"{name}-weights"
            return tuple(kept[part] for part in both) if both[0] in kept else None

        self._best_so_far.recall(self._history, common["best"], state)
