"""The solver: which step comes next. The steps themselves are compiled.

Most dual variables are zero at the optimum: 10 to 20 classes per sample of thousands. So two
phases alternate. *Inner passes* visit samples and solve each one's block of active classes
exactly, until little is left to gain there. A *scan* at fixed weights then looks at all classes of
all samples, gives the exact primal, dual and gap, and reports the worst violators, which become
active. The first active classes are those with the nearest centroids.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin._plan import Plan, make_plan, mean_cosine
from multimargin._problem import Problem
from multimargin._progress import Observers, ScanRecord, Weights
from multimargin._schedule import bundle_classes, season
from multimargin._stopping import Stopping, relative_gap
from multimargin.formulations import FORMULATIONS

# Nearest centroids to start from. 8 is a few per cent faster on 1,139 classes, but its first scans
# find more violators: on one of two machines they took half as long again with 12,582 classes.
_CANDIDATES = 12
_CENTROID_BUDGET = 1000  # list entries read per sample; 3 times more changed only the time
_FOUND_PER_SCAN = 64  # violators taken up per sample and scan
_FOUND_AT_FIRST = 16  # in the first two scans, whose weights are far off
_FEW_CLASSES = 64  # up to here all classes are active from the start
_ALL_ACTIVE_BYTES = 2**29  # ... as long as their positions take no more than this
_FIRST_SHARE = 0.01  # of the first pass's gap: what may be left before the first scan
_PHASE_SHARE = 0.03  # of the first gap after a scan; 0.1, 0.3 and 1 cost more scans than they saved
_STALE_PASSES = 10  # passes without progress after which a batch is taken to overshoot
_STALLED_SCANS = 3  # scans without progress after which the arithmetic's limit is reached
_MULTIPLY_ADDS = 5e9  # per second and thread in a scan; used only to plan the end of a time limit


@dataclass(frozen=True)
class Alpha:
    """Dual variables of a solution, to start from: ragged rows, own class first."""

    pair: NDArray[np.int64]
    cls: NDArray[np.int32]
    value: NDArray[Any]
    box: NDArray[Any]

    def scaled_to(self, problem: Problem) -> NDArray[Any]:
        """Values for another box: what was at a bound stays there, and all are feasible."""
        ratio = np.repeat(problem.box / self.box, np.diff(self.pair))
        ceiling = np.repeat(problem.box, np.diff(self.pair))
        scaled: NDArray[Any] = np.minimum(self.value * ratio, ceiling).astype(problem.X.dtype)
        if not FORMULATIONS[problem.formulation].separable:
            # The others of a sample share the box; slot 0, which holds their sum, is not used.
            scaled[self.pair[:-1]] = 0
            total = np.add.reduceat(scaled, self.pair[:-1], dtype=np.float64)
            fitting = np.minimum(1.0, problem.box / np.maximum(total, problem.box))
            scaled *= np.repeat(fitting.astype(scaled.dtype), np.diff(self.pair))
        return scaled

    def fits(self, problem: Problem) -> bool:
        first = self.pair[:-1]
        return (
            len(first) == len(problem.y)
            and bool(np.array_equal(self.cls[first], problem.y))
            and bool(np.all(self.cls < problem.n_classes))
        )


@dataclass
class Solution:
    """What a fit produced."""

    weights: Weights
    alpha: Alpha
    primal: float
    dual: float
    gap: float
    violation: float
    passes: int
    converged: bool
    ended_by: str
    history: list[ScanRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    max_passes: int
    time_limit: float | None = None


class Solver:
    """One run on one problem."""

    def __init__(
        self,
        problem: Problem,
        stopping: Stopping,
        limits: Limits,
        *,
        threads: int = 1,
        seed: int = 0,
        observers: Observers | None = None,
        plan: Plan | None = None,
        isa: int | None = None,
    ) -> None:
        self._began = time.monotonic()
        self._problem = problem
        self._stopping = stopping
        self._limits = limits
        self._threads = threads
        self._observers = observers or Observers([])
        self._separable = FORMULATIONS[problem.formulation].separable
        if plan is not None and plan.bundles > 1 and not self._separable:
            raise ValueError(
                f"the league cannot be exact for formulation {problem.formulation!r}, whose dual "
                f"variables share a budget across bundles: plan.bundles must be 1, got "
                f"{plan.bundles}. Pass over batches of samples instead"
            )
        self._fixed_plan = plan
        self._rng = np.random.default_rng(seed)
        self._engine = problem.engine(threads, seed, isa)
        self._seed = seed
        self._passes = 0
        self._scans = 0
        self._least_coupling = 0.0  # raised when a batch was seen to overshoot
        self._classes_needed = _classes_needed(problem)
        self._scan_seconds = self._expected_scan_seconds()
        self._plan = Plan()

    @cached_property
    def _cosine(self) -> float:
        return mean_cosine(self._problem.X, self._problem.bias, self._seed)

    # ------------------------------------------------------------ the whole

    def run(self, start: Alpha | None = None) -> Solution:
        """Solve, from ``start`` if it is given and fits."""
        try:
            return self._run(start)
        finally:
            self._observers.close()

    def _run(self, start: Alpha | None) -> Solution:
        stopping, engine = self._stopping, self._engine
        history: list[ScanRecord] = []
        warm = start is not None and start.fits(self._problem)
        self._begin(start if warm else None)
        target: float | None = None  # unknown before the first scan
        floor = stopping.floor(None)
        ended_by = ""
        stalled = 0
        while True:
            if not (warm and not history):
                ended_by = self._work_inside(target, floor)
            engine.recompute()  # weights from alpha: rounding drift cannot hide in the certificate
            scan, record = self._scan()
            history.append(record)
            asked = self._observers.on_scan(record, engine.weights)
            if stopping.reached(scan):
                ended_by = ""
                break
            if asked:
                ended_by = "a callback"
            stalled = stalled + 1 if _no_progress(history, self._problem.X.dtype) else 0
            if stalled >= _STALLED_SCANS:
                ended_by = "precision"
            ended_by = ended_by or self._limit_reached()
            if ended_by:
                break
            target, floor = stopping.target(scan), stopping.floor(scan)
            engine.merge_found()
            self._arrange()
        pair, cls, value = engine.alpha()
        return Solution(
            weights=engine.weights(),
            alpha=Alpha(pair, cls, value, self._problem.box),
            primal=scan.primal,
            dual=scan.dual,
            gap=relative_gap(scan),
            violation=scan.violation,
            passes=self._passes,
            converged=not ended_by,
            ended_by=ended_by,
            history=history,
        )

    # ------------------------------------------------------------ its parts

    def _begin(self, start: Alpha | None) -> None:
        problem, engine = self._problem, self._engine
        n, k = len(problem.y), problem.n_classes
        if start is not None:
            engine.assign(start.pair, start.cls, start.scaled_to(problem))
        elif k <= _FEW_CLASSES and 4 * k * problem.X.nnz <= _ALL_ACTIVE_BYTES:
            others = np.arange(k, dtype=np.int32)[None, :].repeat(n, axis=0)
            others[:, 0], others[np.arange(n), problem.y] = problem.y, 0
            pair = np.arange(0, n * k + 1, k, dtype=np.int64)
            engine.assign(pair, others.reshape(-1), np.zeros(n * k, dtype=problem.X.dtype))
        else:
            candidates = max(_CANDIDATES, min(self._classes_needed, 4 * _CANDIDATES))
            engine.start_from_centroids(min(candidates, k - 1), _CENTROID_BUDGET)
        self._arrange()

    def _arrange(self) -> None:
        """Choose how passes over the present active set are arranged."""
        problem, engine = self._problem, self._engine
        pair, cls, _ = engine.alpha()
        plan = self._fixed_plan
        if plan is None:
            work = int(np.diff(pair) @ np.diff(problem.X.indptr).astype(np.int64))
            plan = make_plan(
                lambda: self._cosine,
                cls,
                len(problem.y),
                problem.n_classes,
                work,
                may_divide=self._separable,
            )
        plan = replace(plan, coupling=max(plan.coupling, self._least_coupling))
        if plan.bundles > 1:
            own = np.repeat(problem.y, np.diff(pair))
            load = np.bincount(cls, minlength=problem.n_classes) + 1.0
            engine.arrange_league(bundle_classes(own, cls, load, plan.bundles), plan.bundles)
        self._plan = plan

    def _work_inside(self, target: float | None, floor: float) -> str:
        """Pass over the active set until the measure is down to ``target``.

        Most passes visit only what is due; before it is believed, the measure is taken of all
        samples. Returns what ended the work before that, or nothing.
        """
        everything = first = True
        best, stale = np.inf, 0
        while True:
            if limit := self._limit_reached():
                return limit
            result = self._pass(everything, target)
            self._passes += 1
            self._observers.on_pass(self._passes)
            if not result.complete:
                return "time_limit"
            measure = self._stopping.measure(result)
            if first or target is None:
                # Where most of the gap lies outside the active set, the scan's target is reached
                # at once; but passes are cheaper than scans, so get on with what is inside.
                share = _FIRST_SHARE if target is None else _PHASE_SHARE
                target = max(floor, min(share * measure, np.inf if target is None else target))
                first = False
            elif everything and measure <= target:
                return ""
            if result.gap < 0.95 * best:
                best, stale = result.gap, 0
            else:
                stale += 1
            if stale >= _STALE_PASSES and self._plan.may_overshoot:
                self._plan = self._plan.more_cautious()
                self._least_coupling = self._plan.coupling
                best, stale = result.gap, 0
            elif stale >= 20 * _STALE_PASSES:
                return ""  # no arrangement is safer: let a scan say how far this is
            everything = not everything and measure <= self._stopping.confirm * target

    def _pass(self, everything: bool, target: float | None) -> _core.PassReport:
        stopping, n = self._stopping, len(self._problem.y)
        quiet_gap, quiet_violation = stopping.quiet(target or 0.0, n)
        # A sample with a tenth of that is not worth its own arithmetic.
        leave_below = 0.1 * quiet_gap
        plan = self._plan
        left = self._seconds_left()
        self._engine.set_time_limit(-1.0 if left == float("inf") else left)
        if plan.bundles > 1:
            # A sample is seen once per bundle that it meets: each part has its share of the gap.
            share = 1.0 / min(4, plan.bundles)
            return self._engine.pass_league(
                season(plan.bundles, self._rng),
                everything,
                leave_below * share,
                stopping.idle,
                quiet_gap * share,
                quiet_violation,
            )
        return self._engine.pass_batches(
            plan.batch,
            everything,
            leave_below,
            stopping.idle,
            plan.coupling,
            quiet_gap,
            quiet_violation,
        )

    def _scan(self) -> tuple[_core.ScanReport, ScanRecord]:
        began = time.monotonic()
        self._engine.set_time_limit(-1.0)  # without its end there is no certificate
        wanted = _FOUND_AT_FIRST if self._scans < 2 else _FOUND_PER_SCAN
        # With a small box a sample needs many classes to reach its margin: about 1 / (C k).
        wanted = max(wanted, min(self._classes_needed, 8 * _FOUND_PER_SCAN))
        scan = self._engine.scan(min(wanted, self._problem.n_classes - 1), self._stopping.idle)
        self._scans += 1
        now = time.monotonic()
        self._scan_seconds = now - began
        return scan, ScanRecord(
            time=now - self._began,
            primal=scan.primal,
            dual=scan.dual,
            violation=scan.violation,
            active=self._engine.active_pairs,
            passes=self._passes,
        )

    # ------------------------------------------------------------ time

    def _expected_scan_seconds(self) -> float:
        work = float(self._problem.X.nnz) * self._problem.n_classes
        return work / (_MULTIPLY_ADDS * self._threads)

    def _limit_reached(self) -> str:
        if self._passes >= self._limits.max_passes:
            return "max_iter"
        return "time_limit" if self._seconds_left() <= 0 else ""

    def _seconds_left(self) -> float:
        """Until the last scan has to begin; infinite without a time limit."""
        if self._limits.time_limit is None:
            return float("inf")
        end = self._began + self._limits.time_limit - self._scan_seconds
        return max(0.0, end - time.monotonic())


def _classes_needed(problem: Problem) -> int:
    """Classes that a typical sample must lean on: its alphas, at most the box, add up to 1/k.

    Where the sum of the alphas is bounded, one class can take it all.
    """
    if not FORMULATIONS[problem.formulation].separable:
        return 1
    squares = float(np.dot(problem.X.data, problem.X.data)) / problem.X.shape[0] + problem.bias**2
    return int(min(1e9, 2.0 / max(1e-9, squares * float(np.median(problem.box)))))


def _no_progress(history: list[ScanRecord], dtype: Any) -> bool:
    """Whether the last scan found neither a better dual, beyond rounding, nor a smaller gap."""
    if len(history) < 2:
        return False
    last, before = history[-1], history[-2]
    better = last.dual - before.dual > 8 * float(np.finfo(dtype).eps) * abs(last.dual)
    smaller = last.gap < 0.99 * before.gap or last.violation < 0.99 * before.violation
    return not better and not smaller
