"""The solver of Weston-Watkins and Crammer-Singer, which decides on the next step.

Most dual variables are zero at the optimum: 10 to 20 classes per sample of thousands. So two
phases alternate. *Inner passes* visit samples and solve each one's block of active classes
exactly, until little is left to gain there. A *scan* at fixed weights then looks at all classes of
all samples, gives the exact primal, dual and gap, and reports the worst violators, which become
active. The first active classes have the nearest centroids.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from multimargin import _core
from multimargin.parallel._divided_rows import DividedRows
from multimargin.parallel._partition import default_bundles
from multimargin.solvers._best_so_far import ZERO
from multimargin.solvers._engine_choice import classes_needed
from multimargin.solvers._layout import entries, pair_bytes, row_entries
from multimargin.solvers._records import packed, unpacked
from multimargin.solvers._solution import Alpha, Solution, Start, Weights
from multimargin.solvers._stopping import PassResult
from multimargin.solvers.active_set._divided_workspace import DividedWorkspace
from multimargin.solvers.active_set._large_boxes import LargeBoxes
from multimargin.solvers.active_set._looks import Looks
from multimargin.solvers.active_set._pass_plan import Plan, make_plan, mean_cosine
from multimargin.solvers.active_set._phase import Phase
from multimargin.solvers.active_set._precision import NEAR, is_blurred, will_be_blurred
from multimargin.solvers.active_set._rank_workspace import RankWorkspace, Workspace
from multimargin.solvers.active_set._workspace import Lists, LocalWorkspace, Scan
from multimargin.solvers.rows._start import RowStart

# Nearest centroids to start from. 8 is a few per cent faster on 1,139 classes, but first scans find
# more violators then: with 12,582 classes they took half as long again.
CANDIDATES = 12
_CENTROID_BUDGET = 1000  # list entries read per sample; 3 times more changed only the time
# Violators that become active per sample and scan; 64 took as long or up to 1.25 times as long, and
# a fifth more memory.
_FOUND_PER_SCAN = 32
_MOST_FOUND = 512  # ... where samples need many
# ... in the first two scans, whose weights are far off. With 64 there is one scan fewer, but passes
# take 1.2 to 1.4 times as long (12,582 classes).
_FOUND_AT_FIRST = 16
_FOUND_BYTES = 2**29  # of a scan's lists, which have room for so many violators of every sample
# All together no more than fit into this much memory with the pairs that stay: a pair needs 4 bytes
# for each feature of a sparse row.
_PAIR_BYTES = 2**32
_FOUND_AT_LEAST = 8  # ... but so many per sample
# Classes drawn by lot that each sample gets after the first scan, if there is an intercept. Without
# them all classes that share no feature with a sample violate at once when its intercept falls: 7
# scans instead of 5 (12,582 classes).
_DRAWN = 6
# With dense rows pairs are small and candidates cost one product: both numbers are larger from the
# start: 5 scans instead of 6, and 3 instead of 4 for Crammer-Singer (28,630 x 256, 1,000 classes).
_DENSE_CANDIDATES = 24
_FEW_CLASSES = 64  # up to here all classes are active from the start
_ALL_ACTIVE_BYTES = 2**29  # ... as long as their positions take no more than this
_MOST_PASSES = 1000  # between two scans
_STALE_PASSES = 10  # passes without progress after which a batch is taken to overshoot
_SLOW_PASSES = 300  # after which the row engine is tried, where it suits
# Of the intercept, once the dual is near. From the start, 12,582 classes took 7 scans instead of 5;
# with 8, two of three sets took as long, and 2,000 classes that are hard to tell 10 % longer.
_LONGEST_STEP, _MOST_EMPTY = 4.0, 0.02  # the latter a share of the rows
# Used only to plan the end of a time limit.
_MULTIPLY_ADDS_PER_SECOND = {False: 5e9, True: 3e10}  # of a thread in a scan; of dense rows
_LAYOUT_SECONDS = 4e-8  # for one feature of an active pair
# The attributes that a checkpoint holds, without their underscores, by their names there.
_KEPT = {name: name for name in ("passes", "scans", "found", "stalled", "exact", "least_coupling")}
_KEPT["tried_interior_point"] = "tried_rows"


def all_active(n_classes: int, X: Any) -> bool:
    """Say whether all classes are active from the start."""
    return n_classes <= _FEW_CLASSES and n_classes * pair_bytes(X) <= _ALL_ACTIVE_BYTES


class ActiveSetSolver(RowStart):
    """One run on a problem whose optimum needs few classes per sample.

    Passes are arranged by ``plan``; if it is None, by a plan made from the data.
    """

    name = "activeset"
    engine = "active set"
    zero_state = ZERO

    def __init__(self, *args: Any, plan: Plan | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        self._fixed_plan = plan
        self._plan = Plan()
        self._scans = 0
        self._found: int | None = None  # violators, by the last scan
        self._least_coupling = 0.0  # raised when a batch was seen to overshoot
        work = float(entries(problem.X)) * problem.n_classes
        self._dense = isinstance(problem.X, np.ndarray)
        self._scan_seconds = work / (_MULTIPLY_ADDS_PER_SECOND[self._dense] * self._threads)
        # Whether scans add up scores in double precision. With few classes they are a small part of
        # the work.
        self._exact = problem.n_classes <= _FEW_CLASSES
        bundles = self._bundles
        if bundles is None:
            bundles = default_bundles(self._comm.size, self._checkpoints is not None)
        self._workspace = self._new_workspace(bundles)
        self._looks = Looks(problem)
        # The constant feature by which samples couple: none where the intercept is held.
        self._shared_bias = 0.0 if self._stopping.by_gap else problem.bias
        self._classes_needed = classes_needed(problem, self._shared_bias)
        self._mean_cosine: float | None = None
        self._large_boxes = LargeBoxes(problem, self._stopping, self._workspace)

    def _new_workspace(self, bundles: int | None) -> Workspace:
        # Without a duality gap, what an intercept that is held lacks could not be told.
        options = (self._threads, self._seed, self._isa, self._stopping.by_gap)
        if bundles is None:
            return LocalWorkspace(self._problem, *options)
        limited = self._limits.time_limit is not None or self._request is not None
        kind = DividedWorkspace if isinstance(self._problem.X, DividedRows) else RankWorkspace
        if kind is DividedWorkspace and self._may_start_anew():
            raise ValueError(f"divided samples need solver='passes' up to {_FEW_CLASSES} classes")
        return kind(self._problem, self._comm, bundles, *options, limited=limited)

    def _cosine(self) -> float:
        if self._mean_cosine is None:
            self._mean_cosine = mean_cosine(self._problem.X, self._shared_bias, self._seed)
        return self._mean_cosine

    def _run(self, start: Start | None) -> Solution:
        assert start is None or isinstance(start, Alpha)
        stopping = self._stopping
        phase = self._resumed()
        if phase is None:
            self._begin(start)
            phase = Phase(None, stopping.floor(None))
        ended_by = ""
        while True:
            if start is None or self._history:
                ended_by = self._work_inside(phase)
                if not ended_by:
                    self._take_off_losses(phase)
            if start is None and not self._passes:
                break  # nothing has moved
            if not ended_by and start is None and self._may_look():
                look = self._look()
                if look.complete and self._time_to_merge(look):
                    phase = self._after(look)
                    continue
                ended_by = "time_limit"
            self._workspace.recompute()
            scan = self._scan(last=bool(ended_by))
            if scan is None:
                ended_by, self._present = "time_limit", None
                break
            pairs = self._workspace.active_pairs
            asked = self._scan_done(scan.primal, scan.dual, scan.violation, pairs)
            if stopping.reached(scan):
                ended_by = ""
                break
            ended_by = asked if asked in ("a callback", "precision") else ended_by or asked
            if not ended_by and not self._time_to_merge(scan):
                ended_by = "time_limit"
            if ended_by:
                break
            phase = self._after(scan)
        return self._solution(ended_by)

    def _after(self, look: Scan) -> Phase:
        """Let the violators that were found become active; return the phase that comes next."""
        stopping = self._stopping
        floor = stopping.floor(look) * self._large_boxes.floor_times
        target = max(stopping.target(look, self._workspace.scan_share), floor)
        self._large_boxes.scanned(look)
        if not (self._passes >= _SLOW_PASSES and self._start_anew()):
            first = len(self._history) == 1 and self._problem.bias != 0
            self._workspace.merge_found(min(_DRAWN, self._problem.n_classes) if first else 0)
        self._arrange()
        return Phase(target, floor)

    def _may_look(self) -> bool:
        return not self._scans and not self._workspace.divided and self._looks.worth_it

    def _look(self) -> Scan:
        assert isinstance(self._workspace, LocalWorkspace)
        self._workspace.set_time_limit(self._seconds_to_overtime())
        found, idle = self._found_per_scan(), self._stopping.idle
        look = self._workspace.look(*found, idle, self._looks.classes)
        self._looks.note(look)
        return look

    def _kept_alpha(self) -> Alpha | None:
        lists, problem = self._workspace.lists(), self._problem
        if lists is None:
            return None
        value = lists.alpha if lists.balanced is None else lists.balanced
        kept = (lists.slot_begin, lists.cls, value, problem.box)
        return Alpha(problem.formulation, *kept, constant=lists.constant)

    def _snapshot(self) -> Any:
        return self._workspace.snapshot()

    def _restore(self, snapshot: Any) -> None:
        if snapshot is ZERO:
            problem = self._problem
            slot_begin = np.arange(len(problem.y) + 1, dtype=np.int64)
            snapshot = Lists(slot_begin, problem.y, np.zeros_like(problem.box))
        self._workspace.restore(snapshot)

    def _shrink(self, factor: float) -> bool:
        self._workspace.scale(factor)
        scan = self._scan(last=True)
        if scan is not None:
            self._certified(scan.primal, scan.dual, scan.violation, self._workspace.active_pairs)
        return scan is not None

    def _weights(self) -> Weights:
        return self._workspace.weights()

    def _begin(self, start: Alpha | None) -> None:
        problem = self._problem
        n, k = len(problem.y), problem.n_classes
        if start is not None:
            start = start.without_zeros(problem)
            # For another C the variables move, the intercept less. With the one that they make,
            # four rising C took 8.3 s instead of 5.7, and cs 3.8 instead of 1.9 (1,139 classes).
            scaled = start.scaled_to(problem)
            self._workspace.begin(Lists(start.slot_begin, start.cls, scaled, start.constant))
        elif all_active(k, problem.X):
            others = np.arange(k, dtype=np.int32)[None, :].repeat(n, axis=0)
            others[:, 0], others[np.arange(n), problem.y] = problem.y, 0
            slot_begin = np.arange(0, n * k + 1, k, dtype=np.int64)
            none = np.zeros(n * k, dtype=problem.X.dtype)
            self._workspace.begin(Lists(slot_begin, others.reshape(-1), none))
        else:
            least = _DENSE_CANDIDATES if self._dense else CANDIDATES
            most = min(self._classes_needed, 4 * CANDIDATES)
            if self._limits.time_limit is not None:
                # Passes and scans need most of the time.
                each = self._layout_seconds(n)
                most = min(most, int(0.25 * self._limits.time_limit / max(each, 1e-12)))
            candidates = max(least, most)
            self._workspace.nearest_centroids(min(candidates, k - 1), _CENTROID_BUDGET)
        self._arrange()

    def _may_start_anew(self) -> bool:
        few = self._problem.n_classes <= _FEW_CLASSES
        return few and self._may_try_rows()

    def _start_anew(self) -> bool:
        """Go on from the dual variables of the row engine, if they are better."""
        if not self._may_start_anew():
            return False
        found, duals = self._row_variables()
        if not duals.sum() > self._history[-1].dual:
            return False
        alpha = Alpha.of_dense(self._problem, found)
        self._workspace.begin(Lists(alpha.slot_begin, alpha.cls, alpha.value))
        return True

    def _arrange(self) -> None:
        """Choose how passes over the present active set are arranged."""
        plan = self._fixed_plan or self._planned()
        self._plan = replace(plan, coupling=max(plan.coupling, self._least_coupling))
        self._workspace.arrange()

    def _planned(self) -> Plan:
        problem, load = self._problem, self._workspace.load()
        # A meeting has the samples of two bundles.
        share = min(1.0, 2 / self._workspace.bundles)
        return make_plan(
            self._cosine,
            load.touched,
            max(1, round(share * len(problem.y))),
            load.work,
            dense=self._dense,
        )

    def _work_inside(self, phase: Phase) -> str:
        """Pass over the active set until the measure is down to the phase's target.

        Most passes visit only samples that are due; before it is believed, the measure is taken of
        all samples. Return the reason if the work ended before that.
        """
        while True:
            if limit := self._limit_reached():
                return limit
            result = self._pass(phase.everything, phase.target)
            self._pass_done()
            if not result.complete:
                return "time_limit"
            if self._judge(phase, result):
                return ""
            if self._checkpoint_due():
                self._write_checkpoint(phase)

    def _judge(self, phase: Phase, result: PassResult) -> bool:
        """Return whether a scan comes next; prepare the next pass otherwise."""
        measure = self._stopping.measure(result)
        if phase.first or phase.target is None:
            target = phase.set_target(
                measure, self._workspace.first_share, self._workspace.phase_share
            )
        elif phase.everything and measure <= phase.target:
            return True
        else:
            target = phase.target
        phase.note(result.gap)
        if self._passes >= _SLOW_PASSES and self._may_start_anew():
            return True
        if phase.stale >= _STALE_PASSES and self._plan.may_overshoot:
            self._plan = self._plan.more_cautious()
            self._least_coupling = self._plan.coupling
            phase.start_over(result.gap)
        elif phase.stale >= 20 * _STALE_PASSES or phase.passes >= _MOST_PASSES:
            return True  # no arrangement is safer: let a scan say how far this is
        confirm = not phase.everything and measure <= self._stopping.confirm * target
        phase.everything = confirm or not self._shrinking
        self._focus(phase)
        return False

    def _focus(self, phase: Phase) -> None:
        """Visit the samples with most of the gap now and then, where these are few."""
        phase.since += 1
        if self._large_boxes.there and phase.since >= phase.wait:
            self._limit(self._workspace)
            phase.focused(self._large_boxes.focus(self._rule(False, 0.0)))
            self._engine_rests()

    def _take_off_losses(self, phase: Phase) -> None:
        for _ in range(self._large_boxes.passes_before_scan):
            if self._limit_reached():
                return
            # An intercept that is held would answer to variables that go too far.
            rule = self._rule(True, phase.target, self._large_boxes.spare)
            self._workspace.run_pass(rule, 0.0)
            self._pass_done()

    def _pass(self, everything: bool, target: float | None) -> PassResult:
        self._limit(self._workspace)
        return self._workspace.run_pass(self._rule(everything, target), self._intercept_reach())

    def _rule(self, everything: bool, target: float | None, spare: float = -1.0) -> Any:
        stopping, n = self._stopping, len(self._problem.y)
        quiet_gap, quiet_violation = stopping.quiet(target or 0.0, n)
        if not self._shrinking:
            quiet_gap = quiet_violation = -1.0
        return _core.VisitRule(
            batch=self._plan.batch,
            coupling=self._plan.coupling,
            everything=everything,
            leave_below=0.1 * quiet_gap,  # a sample with less is not worth its own arithmetic
            idle=stopping.idle,
            quiet_gap=quiet_gap,
            quiet_violation=quiet_violation,
            spare=spare,
        )

    def _intercept_reach(self) -> float:
        """Return how far the intercept may go before a pass, in steps of Newton's method."""
        # In the first phase it stays zero, unless classes are few: those that would hold it back
        # are not active yet. Nor are they all while most of the gap is outside the active set. What
        # is not regularised goes too far easily.
        if not self._history:
            return float(self._problem.n_classes <= _FEW_CLASSES)
        last = self._history[-1]
        far = last.dual < NEAR * last.primal or self._problem.free_intercept
        # Many rows without entries all answer alike: a tenth of such rows took no end.
        alike = np.mean(row_entries(self._problem.X) == 0) > _MOST_EMPTY
        return 1.0 if far or alike else _LONGEST_STEP

    def _scan(self, last: bool) -> Scan | None:
        """Return the certificate of the present weights; None if there was no time for it.

        After the last one nothing is merged, so that violators need not be found.
        """
        began = time.monotonic()
        self._workspace.set_time_limit(self._seconds_to_overtime())
        idle = np.inf if last else self._stopping.idle
        found = (1, len(self._problem.y)) if last else self._found_per_scan()
        dtype = self._problem.X.dtype
        scan = self._workspace.scan(*found, idle, self._exact)
        if scan.complete and not self._exact and is_blurred(scan, self._stopping, dtype):
            self._exact = True  # further scans will not see more without it
            again = self._workspace.scan(*found, idle, True)
            scan = again if again.complete else scan
        self._exact = self._exact or will_be_blurred(scan, self._stopping)
        self._scans += 1
        self._found = scan.found
        self._scan_seconds = time.monotonic() - began
        return scan if scan.complete else None

    def _found_per_scan(self) -> tuple[int, int]:
        """Return how many violators a sample gets at most, and how many pairs there may be."""
        problem, n = self._problem, len(self._problem.y)
        # With a small box a sample needs many classes to reach its margin: about 1 / (C k). And
        # where hardly any sample has violators left, these have many: 7 scans, not 12 (C = 10).
        few_have = self._found is not None and self._found <= n // 8
        needed = problem.n_classes if few_have else self._classes_needed
        early = self._scans < 2 and not self._dense
        usual = _FOUND_AT_FIRST if early else _FOUND_PER_SCAN
        wanted = min(max(usual, needed), _MOST_FOUND, problem.n_classes - 1)
        lists = max(_FOUND_AT_LEAST, _FOUND_BYTES // (8 * n))
        affordable = _PAIR_BYTES * n // max(4, pair_bytes(problem.X))
        return min(wanted, lists), max(4 * _FOUND_AT_LEAST * n, affordable)

    def _write_checkpoint(self, phase: Phase) -> None:
        workspace, best = self._workspace, self._best_so_far
        assert self._checkpoints is not None and isinstance(workspace, RankWorkspace)
        position, parts = workspace.state()
        if self._comm.rank == 0:
            parts["history"] = {"rows": packed(self._history)}
        for name, state in best.states.items():
            parts |= workspace.snapshot_parts(name, state)
        common: dict[str, Any] = {"position": position, "phase": phase.to_json()}
        common |= {"plan": asdict(self._plan)} | {
            name: getattr(self, f"_{own}") for name, own in _KEPT.items()
        }
        common |= {"best": best.places(self._history), "seconds": self._seconds()}
        self._checkpoints.write(common, parts)

    def _resumed(self) -> Phase | None:
        """Go on from the last checkpoint, if there is one; return the phase it was written in."""
        found, workspace = self._last_checkpoint(), self._workspace
        if found is None:
            return None
        assert isinstance(workspace, RankWorkspace)
        common = {"found": None} | found.common  # which earlier versions did not keep
        workspace.resume(common["position"], found)
        self._history = unpacked(found.part("history")["rows"])
        self._plan = Plan(common["plan"]["batch"], common["plan"]["coupling"])
        for name, own in _KEPT.items():
            setattr(self, f"_{own}", common[name])
        self._began = time.monotonic() - common["seconds"]
        self._best_so_far.recall(
            self._history, common["best"], lambda name: workspace.snapshot_from(name, found)
        )
        return Phase.from_json(common["phase"])

    def _time_to_merge(self, scan: Scan) -> bool:
        """Say whether the time limit allows to lay out the violators and to scan once more."""
        needed = self._layout_seconds(self._workspace.active_pairs + scan.found)
        return not self._agreed("time_limit" if self._seconds_left() < needed else "")

    def _layout_seconds(self, pairs: int) -> float:
        touched = pairs * (pair_bytes(self._problem.X) // 4) / len(self._problem.y)
        return float(touched * _LAYOUT_SECONDS / self._threads)
