"""Lee-Lin-Wahba by exact sample blocks, and conjugate gradients where these are slow.

A pass solves one sample after the other, all its classes at once. For small C that is all: most
dual variables are at their bound. For large C nearly all are free, the problem is close to least
squares, and passes converge like Gauss-Seidel. Then conjugate gradients on the free variables,
preconditioned by a symmetric sweep of the same blocks, finish the work of the passes. Their step
is bent to the bounds and taken as far as the dual grows. With few weights in all, an
interior-point method does it in their place.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from multimargin import _core
from multimargin.solvers._base import BaseSolver
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._core_types import LeeLinWahba
from multimargin.solvers._solution import DenseAlpha, Solution, Start, Weights, squared_norms
from multimargin.solvers._stopping import PassResult
from multimargin.solvers.llw._hard_margin import HardMargin

_FIRST_PASSES = 2  # where all variables are at their bound, nothing is left after them
_GOOD_START = 0.1  # relative gap of a start that is not compared with none
_PHASE = 8  # passes between two decisions
_LONGEST_PHASE = 64
_PATIENCE = 40  # passes that may still be needed before conjugate gradients are tried
_ITERATIONS = 30  # of conjugate gradients
_MOST_ITERATIONS = 60
_REDUCTION = 0.01  # of the residual
_LOOK_EVERY = 64  # passes
_MOST_SCALINGS = 8  # of a rounded hard margin; one or two are enough
_MULTIPLY_ADDS = 2e9  # per second and thread, to plan the end of a time limit
_MOST_SNAPSHOT_BYTES = 2**30  # of the dual variables of the best certificate


class LlwSolver(BaseSolver):
    """State, certificate and weights: common to the ways to the optimum."""

    engine = "rows of Lee-Lin-Wahba"
    zero_state = ZERO

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        # Until the first certificate has been timed: three passes over the data, one over W.
        work = 3.0 * problem.X.nnz * problem.n_classes + problem.X.shape[1] * problem.n_classes
        self._scan_seconds = work / (_MULTIPLY_ADDS * self._threads * self._comm.size)
        self._hard: HardMargin | None = None
        self._engine: LeeLinWahba
        self._prepare(threads=self._threads, seed=self._seed, isa=self._isa)

    def _prepare(self, **options: Any) -> None:
        """Make the compiled solver of all classes with these options."""
        problem = self._problem
        self._hard = HardMargin(problem) if np.isinf(problem.box[0]) else None
        self._engine = _core.lee_lin_wahba(problem.samples, **options)

    def _begin(self, start: Start | None) -> bool:
        """Take the start, if there is one; return whether there is."""
        if not isinstance(start, DenseAlpha):
            return False
        self._assign(start.scaled_to(self._problem))
        return True

    def _assign(self, alpha: Any) -> None:
        self._engine.assign(alpha)

    def _look(self) -> str:
        """Certify weights made anew; return why the run has to end here, if it has to."""
        began = time.monotonic()
        self._engine.set_time_limit(-1.0)
        seen = self._certificate()
        primal, dual = self._objectives(seen)
        self._scan_seconds = time.monotonic() - began
        ended_by = self._scan_done(primal, dual, seen.violation, seen.free)
        if self._hard is not None and not self._reached():
            self._hard.compare(self._alpha, self._passes)
        return ended_by

    def _objectives(self, seen: Any) -> tuple[float, float]:
        """Return bounds of primal and dual."""
        # The norm is of rounded weights, the dual variables stand for exact ones.
        norm_error = 2 * float(np.finfo(self._problem.X.dtype).eps) * seen.half_norm
        dual = seen.alpha - seen.half_norm - norm_error
        if self._hard is not None:
            return self._hard.primal(seen), dual
        return seen.half_norm + norm_error + seen.loss, dual

    def _shrink(self, factor: float) -> bool:
        self._assign(self._alpha() * self._problem.X.dtype.type(factor))
        seen = self._seen_now()
        self._certified(*self._objectives(seen), seen.violation, seen.free)
        return True

    def _certificate(self) -> Any:
        self._engine.recompute()  # rounding drift cannot hide in the certificate
        return self._seen_now()

    def _seen_now(self) -> Any:
        return self._engine.certify()

    def _reached(self) -> bool:
        return self._stopping.reached(self._history[-1])

    def _snapshot(self) -> Any:
        size = len(self._problem.y) * self._engine.held * self._problem.X.dtype.itemsize
        return self._alpha() if size <= _MOST_SNAPSHOT_BYTES else None

    def _restore(self, snapshot: Any) -> None:
        self._assign(np.zeros_like(self._alpha()) if snapshot is ZERO else snapshot)
        if self._hard is not None:
            self._hard.primal(self._seen_now())  # the margin that the weights are scaled by

    def _alpha(self) -> np.ndarray[Any, Any]:
        problem = self._problem
        value = np.empty((len(problem.y), self._engine.held), dtype=problem.X.dtype)
        self._engine.alpha(value)
        return value

    def _weights(self) -> Weights:
        problem, held = self._problem, self._engine.held
        coef = np.empty((held, problem.X.shape[1]), dtype=problem.X.dtype)
        constant = np.empty(held, dtype=problem.X.dtype)
        self._engine.weights(coef, constant)
        if self._hard is not None:
            self._hard.scale(coef, constant)
        return Weights(coef, constant)

    def _end(self, ended_by: str) -> Solution:
        solution = self._solution("" if self._reached() else ended_by)
        rounds = self._hard is not None and self._problem.dtype not in (None, self._problem.X.dtype)
        return self._rounded(solution) if rounds else solution

    def _rounded(self, solution: Solution) -> Solution:
        """Round a hard margin to the model's type, which has fewer digits, and certify that.

        Weights are scaled until they obey the constraints again.
        """
        problem, given = self._problem, solution.weights
        held = np.arange(problem.n_classes) if given.classes is None else given.classes
        scale = 1.0
        for _ in range(_MOST_SCALINGS):
            coef = (scale * given.coef).astype(problem.dtype)
            constant = (scale * given.constant).astype(problem.dtype)
            intercept = (constant * constant.dtype.type(problem.bias)).astype(np.float64)
            margins = 1 + problem.X @ coef.astype(np.float64).T + intercept
            margins[held[None, :] == problem.y[:, None]] = 0.0
            most = float(self._comm.allreduce(np.array([margins.max(initial=0.0)]), "max")[0])
            if not 0 < most < 1:
                break
            scale *= (1 + 2 * float(np.finfo(problem.dtype).eps)) / (1 - most)
        weights = replace(given, coef=coef, constant=constant)
        squares = np.array([np.sum(squared_norms(weights))])
        half = float(sum(part[0] for (part,) in self._comm.allgather([squares]))) / 2
        primal = half / (1 - most) ** 2 if most < 1 else math.inf
        last = replace(solution.history[-1], primal=max(primal, solution.dual))
        ended_by = "" if self._stopping.reached(last) else solution.ended_by or "precision"
        history = [*solution.history[:-1], last]
        return replace(solution, weights=weights, ended_by=ended_by, history=history)

    def _kept_alpha(self) -> DenseAlpha | None:
        if not self._keep_alpha or self._comm.size > 1:
            return None
        return DenseAlpha.of(self._problem, self._alpha())

    def _measure(self, result: PassResult) -> float:
        return float(result.violation if self._by_violation else result.gap)

    @property
    def _by_violation(self) -> bool:
        return self._hard is not None or not self._stopping.by_gap

    def _target(self) -> float:
        """Return the measure at which a certificate is likely to reach the tolerance."""
        if self._hard is not None and self._stopping.by_gap:
            # The primal is the norm over (1 - margin)^2.
            return 0.25 * self._stopping.tol
        if self._by_violation:
            return self._stopping.tol
        return self._stopping.tol * self._history[-1].primal

    def _leave_below(self) -> float:
        """Return the gap below which a sample is not worth its own arithmetic."""
        if self._by_violation or not self._history or not self._shrinking:
            return -math.inf
        return 0.05 * self._target() / len(self._problem.y)


class BlockSolver(LlwSolver):
    """One run by sample blocks."""

    name = "block"
    divides_classes = False

    def _run(self, start: Start | None) -> Solution:
        self._phase, self._iterations = _PHASE, _ITERATIONS
        ended_by = "" if self._begin(start) else self._first_passes()
        if isinstance(start, DenseAlpha):
            ended_by = self._judge_start(start)
        ended_by = ended_by or self._look()
        while not self._reached() and not ended_by:
            limit = self._work()
            ended_by = self._look() or limit
        return self._end(ended_by)

    def _judge_start(self, start: DenseAlpha) -> str:
        """Go on from the start, or from zero where a few passes from there get as far.

        A start from other samples and classes can be worse than none: weights are made of the
        variables' deviations from their mean, which are no longer in balance. No record is made
        before the choice, since the primal of a bad start says nothing about the optimum.
        """
        seen = self._engine.certify()
        gap, primal = seen.loss + 2 * seen.half_norm - seen.alpha, seen.loss + seen.half_norm
        if self._hard is not None or gap <= _GOOD_START * primal:
            return ""
        # The dual is a parabola in a common factor of all variables.
        multiple = min(1.0, seen.alpha / (2 * seen.half_norm)) if seen.half_norm > 0 else 1.0
        dual = multiple * (seen.alpha - multiple * seen.half_norm)
        self._engine.assign(np.zeros_like(start.value, dtype=self._problem.X.dtype))
        ended_by = self._first_passes()
        now = self._engine.certify()
        if dual > now.alpha - now.half_norm:
            alpha = start.scaled_to(self._problem)
            alpha *= multiple
            self._engine.assign(alpha)
            if not ended_by:
                return self._first_passes()
            self._look()  # the limits leave no more than the better of the two
        return ended_by

    def _one_pass(self) -> PassResult:
        self._limit(self._engine)
        result = self._engine.pass_rows(self._leave_below(), self._stopping.idle)
        self._pass_done()
        return result

    def _first_passes(self) -> str:
        for _ in range(_FIRST_PASSES):
            if not self._one_pass().complete or self._limit_reached():
                self._look()
                return self._limit_reached() or "time_limit"
        return ""

    def _work(self) -> str:
        """Pass until the tolerance is likely; return the limit that ended it before, if any."""
        target, seen = self._target(), [math.inf]
        for count in range(1, _LOOK_EVERY + 1):
            if limit := self._limit_reached():
                return limit
            result = self._one_pass()
            if not result.complete:
                return "time_limit"
            seen.append(self._measure(result))
            if seen[-1] <= target:
                return ""
            slow = self.accelerated and count % self._phase == 0
            if slow and self._passes_needed(seen, target) > _PATIENCE:
                if not (limit := self._limit_reached()):
                    self._accelerate()
                return limit
        return ""

    def _passes_needed(self, seen: list[float], target: float) -> float:
        """Return the passes to the target at the rate of the last phase."""
        before, now = seen[-min(self._phase, len(seen) - 1)], seen[-1]
        if not 0 < now < before:
            return math.inf
        rate = math.log(before / now) / max(1, self._phase - 1)
        return math.log(now / target) / rate

    def _accelerate(self) -> None:
        goes_on = self._hard.goes_on if self._hard is not None else lambda _: True
        found = self._interior_point(goes_on)
        if found is not None:
            now = self._engine.certify()
            if found[1].sum() > now.alpha - now.half_norm:
                self._engine.assign(found[0])
            if self._hard is not None and not found[2] <= self._stopping.tol:
                self._hard.refuse_by_linear_program()
            return
        self._limit(self._engine)
        left = max(1, (self._limits.max_passes - self._passes) // 2)
        face = self._engine.polish(min(self._iterations, left), _REDUCTION)
        self._pass_done(2 * face.iterations)
        if face.step < 0.5:
            # Many variables ran into their bounds: passes find out which ones.
            self._phase = min(2 * self._phase, _LONGEST_PHASE)
        else:
            self._phase, self._iterations = _PHASE, _MOST_ITERATIONS
