"""The solver of Weston-Watkins and Crammer-Singer: which step comes next. Steps are compiled.

Most dual variables are zero at the optimum: 10 to 20 classes per sample of thousands. So two
phases alternate. *Inner passes* visit samples and solve each one's block of active classes
exactly, until little is left to gain there. A *scan* at fixed weights then looks at all classes of
all samples, gives the exact primal, dual and gap, and reports the worst violators, which become
active. The first active classes are those with the nearest centroids.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from multimargin import _core
from multimargin._base_solver import BaseSolver
from multimargin._plan import Plan, make_plan, mean_cosine
from multimargin._problem import Problem
from multimargin._schedule import bundle_classes, season
from multimargin._solution import Alpha, Solution, Start, Weights, csr_weights
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
_SLOW_PASSES = 300  # after which an interior point is tried, where it suits
_MULTIPLY_ADDS = 5e9  # per second and thread in a scan; used only to plan the end of a time limit


class ActiveSetSolver(BaseSolver):
    """One run on a problem whose optimum needs few classes per sample.

    Parameters
    ----------
    plan : Plan, default=None
        How passes are arranged; chosen from the data if not given.
    """

    def __init__(self, *args: Any, plan: Plan | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        self._separable = FORMULATIONS[problem.formulation].separable
        if plan is not None and plan.bundles > 1 and not self._separable:
            raise ValueError(
                f"the league cannot be exact for formulation {problem.formulation!r}, whose dual "
                f"variables share a budget across bundles: plan.bundles must be 1, got "
                f"{plan.bundles}. Pass over batches of samples instead"
            )
        self._fixed_plan = plan
        self._rng = np.random.default_rng(self._seed)
        self._engine = problem.engine(self._threads, self._seed, self._isa)
        self._scans = 0
        self._least_coupling = 0.0  # raised when a batch was seen to overshoot
        self._classes_needed = _classes_needed(problem)
        self._scan_seconds = self._expected_scan_seconds()
        self._plan = Plan()

    @cached_property
    def _cosine(self) -> float:
        return mean_cosine(self._problem.X, self._problem.bias, self._seed)

    # ------------------------------------------------------------ the whole

    def _run(self, start: Start | None) -> Solution:
        stopping, engine = self._stopping, self._engine
        assert start is None or isinstance(start, Alpha)
        self._begin(start)
        target: float | None = None  # unknown before the first scan
        floor = stopping.floor(None)
        ended_by = ""
        while True:
            if start is None or self._history:
                ended_by = self._work_inside(target, floor)
            engine.recompute()  # weights from alpha: rounding drift cannot hide in the certificate
            scan = self._scan()
            asked = self._scan_done(scan.primal, scan.dual, scan.violation, engine.active_pairs)
            if stopping.reached(scan):
                ended_by = ""
                break
            ended_by = asked if asked in ("a callback", "precision") else ended_by or asked
            if ended_by:
                break
            target, floor = stopping.target(scan), stopping.floor(scan)
            if not (self._passes >= _SLOW_PASSES and self._start_anew()):
                engine.merge_found()
            self._arrange()
        if ended_by:
            self._back_to_best()
        problem = self._problem
        return self._solution(ended_by, Alpha(problem.formulation, *engine.alpha(), problem.box))

    def _snapshot(self) -> Any:
        return self._engine.alpha()

    def _restore(self, snapshot: Any) -> None:
        self._engine.assign(*snapshot)

    def _weights(self) -> Weights:
        return csr_weights(self._engine.weights(), self._problem.X.shape[1])

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

    def _may_start_anew(self) -> bool:
        few = self._problem.n_classes <= _FEW_CLASSES
        return few and self._may_use_interior_point()

    def _start_anew(self) -> bool:
        """Go on from what an interior-point method finds, if that is better."""
        problem = self._problem
        found = self._interior_point() if self._may_start_anew() else None
        if found is None or not found[1].sum() > self._history[-1].dual:
            return False
        alpha = found[0]
        own = np.arange(problem.n_classes)[None, :] == problem.y[:, None]
        active = (alpha > 0) | own
        # Own class first, then the others.
        order = np.argsort(~own, axis=1, kind="stable").astype(np.int32)
        rows = np.arange(len(problem.y))[:, None]
        kept = active[rows, order]
        pair = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        self._engine.assign(pair, order[kept], alpha[rows, order][kept])
        return True

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
            self._pass_done()
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
            if self._passes >= _SLOW_PASSES and self._may_start_anew():
                return ""
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
        self._limit(self._engine)
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

    def _scan(self) -> _core.ScanReport:
        began = time.monotonic()
        self._engine.set_time_limit(-1.0)  # without its end there is no certificate
        wanted = _FOUND_AT_FIRST if self._scans < 2 else _FOUND_PER_SCAN
        # With a small box a sample needs many classes to reach its margin: about 1 / (C k).
        wanted = max(wanted, min(self._classes_needed, 8 * _FOUND_PER_SCAN))
        scan = self._engine.scan(min(wanted, self._problem.n_classes - 1), self._stopping.idle)
        self._scans += 1
        self._scan_seconds = time.monotonic() - began
        return scan

    def _expected_scan_seconds(self) -> float:
        work = float(self._problem.X.nnz) * self._problem.n_classes
        return work / (_MULTIPLY_ADDS * self._threads)


def _classes_needed(problem: Problem) -> int:
    """Classes that a typical sample must lean on: its alphas, at most the box, add up to 1/k.

    Where the sum of the alphas is bounded, one class can take it all.
    """
    if not FORMULATIONS[problem.formulation].separable:
        return 1
    squares = float(np.dot(problem.X.data, problem.X.data)) / problem.X.shape[0] + problem.bias**2
    return int(min(1e9, 2.0 / max(1e-9, squares * float(np.median(problem.box)))))
