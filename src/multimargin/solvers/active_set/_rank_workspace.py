"""The active set divided over ranks: bundles of classes that meet in rounds.

Every rank has all samples, or has them by turns (`_divided_workspace`); classes are divided into
bundles. In a round two bundles meet at every match, where pairs that are active between their
classes are worked on; then one of the two moves on (`_round_robin.schedule`). A rank has some of
the matches: two bundles each, never the model.

A bundle is owned by the rank of its match in the first round. There stay its *columns*, the samples
that are active in each class, and where features lie in the weights; there scans are made. The
*bundle state* moves: the weights, and the sums of its own samples' dual variables.

Results do not depend on the number of ranks: sums are taken in the order of bundles, or of rounds
and matches.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint, Part
from multimargin.parallel._collectives import broadcast_value, sum_parts
from multimargin.parallel._communicator import Communicator, Message
from multimargin.parallel._partition import divided
from multimargin.solvers._layout import row_entries
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights
from multimargin.solvers._solution import csr_weights, stacked_weights
from multimargin.solvers._stopping import PassSummary
from multimargin.solvers.active_set._placement import Exchange, Placement
from multimargin.solvers.active_set._rank_intercept import RankIntercept
from multimargin.solvers.active_set._rank_scan import (
    RankScanner,
    StepClock,
    sum_over_bundles,
    summary_of,
)
from multimargin.solvers.active_set._round_robin import bundle_classes
from multimargin.solvers.active_set._workspace import Lists, Load, LocalWorkspace, Scan

_COLUMNS = ("begin", "sample", "alpha")
_BUNDLE_STATE = ("sizes", "mask", "values")
_MEETING_STATE = ("alpha", "resting", "pauses", "waits", "height")


# By bundle that this rank owns: its dual variables, class by class. And the weights of the constant
# feature of all classes; None: made by alpha.
Snapshot: TypeAlias = tuple[dict[int, tuple[NDArray[Any], ...]], NDArray[Any] | None]


class RankWorkspace:
    """One rank's part of the active set, with the steps of `LocalWorkspace`.

    There are no more bundles than classes. If ``limited``, ranks agree after every round on whether
    there is time for the next one.
    """

    divided = True
    # Passes over ranks are dearer, compared with scans, than in one process. With 32 bundles on 16
    # ranks (12,582 classes): 74 passes and 12.0 s against 103 and 18.9 s with 0.01 and 0.03.
    first_share, phase_share, scan_share = 0.1, 0.3, 0.1

    def __init__(
        self,
        problem: Problem,
        comm: Communicator,
        bundles: int,
        threads: int,
        seed: int,
        isa: int | None = None,
        hold_intercept: bool = True,
        *,
        limited: bool = False,
    ) -> None:
        self._problem, self._comm, self._seed, self._limited = problem, comm, seed, limited
        self.bundles = min(bundles, problem.n_classes)
        self._placement = Placement(self.bundles, comm.rank, comm.size)
        self.owned = self._placement.owned
        self._within_round = len(self._placement.rounds) // 2
        self._core: Any = _core.rank_workspace(
            problem.samples, problem.formulation, threads, isa, hold_intercept
        )
        self._shared: bool = self._core.budget_is_shared
        self._round = self._passes = 0  # bundle states are at the matches of that round
        self._sums = np.zeros(len(problem.y))
        self._bundle_of: NDArray[np.int32] = np.zeros(problem.n_classes, dtype=np.int32)
        self._partitioned = False  # whether classes have been divided
        self._half_norms = (0.0, 0.0)  # with the intercept as held, as alpha makes it
        self._norms = np.zeros(problem.n_classes)  # |w_c|
        self._constant: NDArray[Any] = np.zeros(0)  # feature: its weights, held or made by alpha
        self._deadline = float("inf")
        self._exchange = Exchange(comm)
        self._timed = StepClock()
        self._scanner = RankScanner(problem, comm, self._core, self.owned, self._timed)
        self._intercept = RankIntercept(problem.n_classes, comm, self._core, self._timed)

    @property
    def busy_seconds(self) -> float:
        """Return the processor time in steps of the core."""
        return self._timed.seconds

    def _move_to_round(self, to: int) -> None:
        """Bring all bundle states to their matches of another round."""
        moves = self._placement.moves(self._round, to)
        self._exchange.start_sends(moves, self._pack)
        self._exchange.finish_receives(moves, self._unpack)
        self._round = to

    def _pack(self, bundle: int) -> Message:
        packed: Message = self._timed(self._core.pack, bundle)
        self._core.drop(bundle)
        return packed

    def _unpack(self, bundle: int, packed: list[Any]) -> None:
        self._timed(self._core.unpack, bundle, *packed)

    def nearest_centroids(self, candidates: int, budget: int) -> None:
        """Begin with the classes of the nearest centroids; each rank looks at some samples."""
        cut = divided(len(self._problem.y), self._comm.size)[self._comm.rank :]
        mine = self._timed(self._core.candidates, candidates, budget, *cut[:2])
        found = self._comm.allgather(mine)
        lengths = np.concatenate([np.diff(begin) for begin, _ in found])
        slot_begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        classes = np.concatenate([cls for _, cls in found])
        self.begin(Lists(slot_begin, classes, np.zeros(len(classes), dtype=self._problem.X.dtype)))

    def begin(self, lists: Lists) -> None:
        """Divide the classes, and take the pairs of the bundles that this rank owns.

        Classes are divided once: snapshots belong to the bundles of that partition.
        """
        self._set_partition(self._bundle_of if self._partitioned else self._partition(lists))
        for bundle in self.owned:
            self._timed(self._core.take, bundle, *lists[:3])
        self._make_weights(lists.constant)

    def _partition(self, lists: Lists) -> NDArray[np.int32]:
        problem = self._problem
        bundle_of = np.zeros(problem.n_classes, dtype=np.int32)
        if self._comm.rank == 0 and self.bundles > 1:
            lengths = np.diff(lists.slot_begin)
            row_length = np.repeat(row_entries(problem.X) + 1.0, lengths)
            touched = np.bincount(lists.cls, weights=row_length, minlength=problem.n_classes)
            # Half of all work are passes over pairs, half scans of classes.
            work = touched / touched.sum() + 1 / problem.n_classes
            bundle_of = bundle_classes(np.repeat(problem.y, lengths), lists.cls, work, self.bundles)
        return self._comm.broadcast([bundle_of])[0]

    def _set_partition(self, bundle_of: NDArray[np.int32]) -> None:
        self._bundle_of, self._partitioned = bundle_of, True
        self._core.divide(bundle_of, self._placement.bundles)

    def _make_weights(self, constant: NDArray[Any] | None) -> None:
        """Lay out and compute the weights after the pairs of the bundles have changed."""
        for bundle in self.owned:
            self._timed(self._core.lay_out, bundle)
        self._make_bundle_states(constant)

    def _make_bundle_states(self, constant: NDArray[Any] | None) -> None:
        """Compute the weights; those of the constant feature are given if they are held."""
        self._sums = self._alpha_sums()
        if self._shared:
            self._keep_to_budgets()
        made = self._made_weights()
        features = sum_over_bundles(self._comm, {b: float(m[0].sum()) for b, m in made.items()})
        mine = np.full((2, self._problem.n_classes), -np.inf)
        for bundle, numbers in made.items():
            mine[:, self._bundle_of == bundle] = numbers
        squares, made_constant = self._comm.allreduce(mine, "max")
        self._hold(constant if constant is not None and self._intercept.holds else made_constant)
        held = np.square(self._constant, dtype=np.float64)
        self._norms = np.sqrt(squares + held)
        constants = float(held.sum()), float(np.square(made_constant).sum())
        self._half_norms = (features + constants[0]) / 2, (features + constants[1]) / 2
        self._round = 0

    def _made_weights(self) -> dict[int, Any]:
        return {b: self._timed(self._core.make_bundle_state, b, self._sums) for b in self.owned}

    def _hold(self, constant: NDArray[Any]) -> None:
        """Put weights of the constant feature into the bundle states, which are at their owners."""
        self._constant = np.asarray(constant, dtype=self._problem.X.dtype)
        for bundle in self.owned:
            self._core.put_bias(bundle, self._constant[self._bundle_of == bundle])

    def _alpha_sums(self) -> NDArray[np.float64]:
        n, parts = len(self._problem.y), {}
        for bundle in self.owned:
            parts[bundle] = np.zeros(n)
            self._core.add_sums(bundle, parts[bundle])
        return sum_parts(self._comm, parts, n, np.float64)

    def _keep_to_budgets(self) -> None:
        """Scale variables down that add up to more than their budget.

        Where they are passed on from class to class, rounding does that. With 8 bundles and 1000
        passes in single precision it was 7e-6 of the budget, which is more than the gap that was
        left: a certificate needs a point that is feasible.
        """
        box = self._problem.box.astype(np.float64)
        # More than rounding makes of a sum that has been scaled down.
        allowed = box * (1 + 2 * float(np.finfo(self._problem.X.dtype).eps))
        if not np.any(self._sums > allowed):
            return
        factor = np.where(self._sums > allowed, box / np.maximum(self._sums, box), 1.0)
        for bundle in self.owned:
            self._core.scale(bundle, factor)
        self._sums = self._alpha_sums()

    def load(self) -> Load:
        problem = self._problem
        row_length = row_entries(problem.X)
        touched = np.bincount(problem.y, minlength=problem.n_classes).astype(np.int64)
        pairs, work = np.zeros_like(touched), np.zeros(1, dtype=np.int64)
        for bundle in self.owned:
            begin, sample, _ = self._core.columns(bundle)
            pairs[self._bundle_of == bundle] = np.diff(begin)
            work += int(row_length[sample].sum())
        touched += self._comm.allreduce(pairs, "sum")
        return Load(touched, int(self._comm.allreduce(work, "sum")[0]) + int(row_length.sum()))

    def arrange(self) -> None:
        """Build the meetings; for that the structure of bundles goes from match to match."""
        self._core.drop_meetings()
        here: dict[int, Any] = {b: self._core.structure(b) for b in self.owned}
        for r, meetings in enumerate(self._placement.rounds):
            if r > 0:
                moves = self._placement.moves(r - 1, r)
                self._exchange.start_sends(moves, here.pop)
                self._exchange.finish_receives(moves, here.__setitem__)
            self._build([meetings[match] for match in self._placement.mine], here, r)
        self._intercept.arrange()
        self._passes += 1  # another order of visits than in the phase before

    def _build(self, meetings: list[tuple[int, int]], here: dict[int, Any], r: int) -> None:
        for a, b in meetings:
            within = r == self._within_round
            self._timed(self._core.build, a, b, list(here[a]), list(here[b]), within)

    def run_pass(self, rule: _core.VisitRule, reach: float) -> PassSummary:
        """Move the intercept, if ``reach`` is positive, and run all rounds, from the first one on.

        Forwards and backwards in turn would spare the way back, but an intercept that moves with
        the samples then settles slowly: 174 passes instead of 89 (16 bundles, 1,139 classes).
        """
        intercept = self._intercept
        self._move_to_round(0)
        if reach and intercept.heights:
            self._hold(intercept.moved(rule, reach, self._constant))
        summary = self._run_rounds(rule)
        intercept.passed(rule.everything and summary.complete)
        if reach and intercept.holds:
            self._move_to_round(0)
            rest = float(np.square(self._constant - intercept.made()).sum())
            summary = summary._replace(gap=summary.gap + rest / 2)
        return summary

    def _run_rounds(self, rule: _core.VisitRule) -> PassSummary:
        last = len(self._placement.rounds) - 1
        # A sample is seen once per bundle that it meets: each time with a share of its gap.
        rule = rule.with_gaps_times(1.0 / min(4, self.bundles))
        self._passes += 1
        seen: dict[tuple[int, int], tuple[float, float]] = {}
        complete = True
        for r in range(last + 1):
            if r > 0 and self._limited and self._time_is_up():
                complete = False
                break
            self._bring_rows(r, everything=rule.everything)
            moves = self._placement.moves(r, min(r + 1, last))
            matches = self._placement.mine
            # One thread for each match, or all threads for one match after the other: then bundles
            # that leave a match are under way while they work on the next.
            groups = [[s] for s in matches] if rule.batch > 1 else [matches]
            for group in groups:
                reports = self._run_meetings(r, group, rule)
                for match, report in zip(group, reports, strict=True):
                    seen[r, match] = (report.gap, report.violation)
                    complete = complete and report.complete
                self._exchange.start_sends([m for m in moves if m.match in group], self._pack)
            self._exchange.finish_receives(moves, self._unpack)
            self._round = min(r + 1, last)
        return summary_of(self._comm, seen, complete)

    def _bring_rows(self, r: int, *, everything: bool) -> None:
        """Bring the samples of a round's meetings: all of them are here."""

    def _run_meetings(self, r: int, matches: list[int], rule: _core.VisitRule) -> Any:
        if not matches:
            return []
        meetings = [self._placement.rounds[r][s] for s in matches]
        seed = (self._seed << 24) + self._passes * self._placement.bundles**2
        return self._timed(self._core.run_meetings, meetings, rule, seed)

    def set_time_limit(self, seconds: float) -> None:
        """Let meetings end early; ranks agree after each round on whether there is another."""
        self._core.set_time_limit(seconds)
        self._deadline = time.monotonic() + seconds if seconds >= 0 else float("inf")

    def _time_is_up(self) -> bool:
        return bool(broadcast_value(self._comm, time.monotonic() >= self._deadline))

    def recompute(self) -> None:
        """Bring dual variables to their owners and make the weights anew."""
        for bundle in self._placement.at(self._round):
            self._core.keep_alpha_only(bundle)
        self._move_to_round(0)
        for bundle in self.owned:
            self._core.unpack_alpha(bundle)
        self._collect()
        self._make_bundle_states(self._constant)

    def _collect(self) -> None:
        """Bring the dual variables that stay in meetings to the owners of their bundles."""
        if self._shared:
            return
        outgoing: list[list[NDArray[Any]]] = [[] for _ in range(self._comm.size)]
        for meeting in self._placement.meetings():
            for which, bundle in enumerate(meeting):
                pair, value = self._core.collect(*meeting, which)
                outgoing[self._placement.owner_rank(bundle)] += [np.array([bundle]), pair, value]
        for message in self._comm.alltoall(outgoing):
            for number, pair, value in zip(*(iter(message),) * 3, strict=True):
                self._core.put_alpha(int(number[0]), pair, value)

    def scan(self, capacity: int, most: int, idle: float, exact: bool = False) -> Scan:
        room = max(most - self.active_pairs // 2, most // 4)  # about half of them will stay
        each = max(1, min(capacity, room // len(self._problem.y)))
        return self._scanner.scan(self._sums, self._norms, self._half_norms, each, idle, exact)

    def scale(self, factor: float) -> None:
        for bundle in self.owned:
            self._core.scale(bundle, np.full(len(self._problem.y), factor))
        self._make_bundle_states(self._constant * self._problem.X.dtype.type(factor))

    def merge_found(self, drawn: int) -> None:
        self._scanner.merge_found(drawn, self._seed)
        self._make_weights(self._constant)

    @property
    def active_pairs(self) -> int:
        pairs = sum(len(self._core.columns(bundle)[1]) for bundle in self.owned)
        return int(self._comm.allreduce(np.array([pairs]), "sum")[0])

    def weights(self) -> Weights:
        """Return the weights of the classes that this rank owns."""
        owned, features = self.owned, self._problem.X.shape[1]
        rows = [csr_weights(self._core.weights(bundle), features) for bundle in owned]
        classes = np.concatenate(
            [np.flatnonzero(self._bundle_of == b) for b in owned] or [np.zeros(0, dtype=np.int64)]
        ).astype(np.int32)
        order, stacked = np.argsort(classes), stacked_weights(rows, features, self._problem.X.dtype)
        held = None if self._comm.size == 1 else classes[order]
        return Weights(stacked.coef[order], stacked.constant[order], held)

    def snapshot(self) -> Snapshot:
        columns = {b: tuple(np.array(part) for part in self._core.columns(b)) for b in self.owned}
        return columns, self._constant

    def restore(self, snapshot: Snapshot | Lists) -> None:
        """Come back to a snapshot, perhaps from before the classes were divided."""
        if isinstance(snapshot, Lists):
            self.begin(snapshot)
        else:
            columns, constant = snapshot
            for bundle, parts in columns.items():
                self._core.set_columns(bundle, *parts)
            self._make_weights(constant)

    def lists(self) -> Lists | None:
        """Return all dual variables, where this process has them all."""
        if self._comm.size > 1:
            return None
        problem = self._problem
        n, dtype = len(problem.y), problem.X.dtype
        parts = [(np.arange(n), problem.y, np.zeros(n, dtype=dtype), np.zeros(n, dtype=bool))]
        for bundle in self.owned:
            begin, sample, alpha = self._core.columns(bundle)
            cls = np.repeat(np.flatnonzero(self._bundle_of == bundle), np.diff(begin))
            parts.append((sample, cls.astype(np.int32), alpha, np.ones(len(cls), dtype=bool)))
        sample, cls, alpha, foreign = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((cls, foreign, sample))
        slot_begin = np.concatenate([[0], np.cumsum(np.bincount(sample, minlength=n))])
        slots = slot_begin.astype(np.int64), cls[order].astype(np.int32), alpha[order]
        return Lists(*slots, self._constant)

    # In checkpoints "luggage" are bundle states, "fixture" is a meeting, "league" the partition.

    def state(self) -> tuple[dict[str, int], dict[str, Part]]:
        """Return, between two passes, the position that ranks share, and the parts of this rank."""
        parts: dict[str, Part] = {}
        for bundle in self.owned:
            parts[f"columns-{bundle}"] = _named(_COLUMNS, self._core.columns(bundle))
        for bundle in self._placement.at(self._round):
            parts[f"luggage-{bundle}"] = _named(_BUNDLE_STATE, self._core.pack(bundle))
        for a, b in self._placement.meetings():
            parts[f"fixture-{a}-{b}"] = _named(_MEETING_STATE, self._core.meeting_state(a, b))
        if self._comm.rank == 0:
            kept = self._bundle_of, self._constant, self._intercept.steps()
            parts["league"] = _named(("bundle_of", "constant", "steps"), kept)
        position = {"round": self._round, "passes": self._passes}
        return position | {"heights": self._intercept.heights}, parts

    def resume(self, position: Mapping[str, int], checkpoint: Checkpoint) -> None:
        league = checkpoint.part("league")
        self._set_partition(np.array(league["bundle_of"]))
        for bundle in self.owned:
            part = checkpoint.part(f"columns-{bundle}")
            self._core.set_columns(bundle, *(part[name] for name in _COLUMNS))
            self._core.lay_out(bundle)
        self.arrange()
        for a, b in self._placement.meetings():
            part = checkpoint.part(f"fixture-{a}-{b}")
            self._core.restore_meeting(a, b, *(part.get(name) for name in _MEETING_STATE))
        self._round, self._passes = position["round"], position["passes"]
        for bundle in self._placement.at(self._round):
            part = checkpoint.part(f"luggage-{bundle}")
            self._core.unpack(bundle, *(part[name] for name in _BUNDLE_STATE))
        self._intercept.resume(bool(position.get("heights")), league.get("steps", ()))
        if "constant" in league:
            self._constant = np.array(league["constant"])
        elif self._intercept.holds:  # it moved with the samples
            self._move_to_round(0)
            self._hold(self._intercept.made())

    def snapshot_parts(self, name: str, snapshot: Snapshot) -> dict[str, Part]:
        columns, constant = snapshot
        parts = {f"{name}-{b}": _named(_COLUMNS, kept) for b, kept in columns.items()}
        if self._comm.rank == 0 and constant is not None:
            parts[f"{name}-constant"] = {"constant": constant}
        return parts

    def snapshot_from(self, name: str, checkpoint: Checkpoint) -> Snapshot:
        parts = {b: checkpoint.part(f"{name}-{b}") for b in self.owned}
        columns = {b: tuple(np.array(part[k]) for k in _COLUMNS) for b, part in parts.items()}
        if f"{name}-constant" not in checkpoint.names:  # the intercept moved with the samples
            return columns, None
        return columns, np.array(checkpoint.part(f"{name}-constant")["constant"])


Workspace: TypeAlias = LocalWorkspace | RankWorkspace


def _named(names: tuple[str, ...], arrays: Any) -> Part:
    return dict(zip(names, arrays, strict=True))
