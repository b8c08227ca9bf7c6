"""The active set divided over ranks: bundles of classes that meet in the rounds of a league.

Every rank has all samples; classes are divided into bundles. In a round two bundles meet at every
match, and what is active between their classes is worked on there; then one of the two moves on
(`_round_robin.schedule`). A rank has some of the matches: two bundles each, never the model.

A bundle has a *home*, its match in the first round. There stay its *columns*, the samples that are
active in each class, and where features lie in the weights; there scans are made. On the road is
its *luggage*: the weights, and the sums of its own samples' dual variables.

Nothing here depends on how many ranks there are but who does it: sums are taken in the order of
bundles, or of rounds and matches.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.checkpoints._store import Checkpoint, Part
from multimargin.parallel._agreement import broadcast_value
from multimargin.parallel._communicator import Communicator, Message, Sending
from multimargin.parallel._partition import divided
from multimargin.parallel._reduction import sum_parts
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Weights
from multimargin.solvers._solution import csr_weights, stacked_weights
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._placement import Move, Placement
from multimargin.solvers.active_set._reports import Losses, PassSummary, Scan
from multimargin.solvers.active_set._round_robin import bundle_classes
from multimargin.solvers.active_set._workspace import Lists, Load, Visiting


class RankWorkspace:
    """This rank's part of the league; see `multimargin.solvers.active_set._workspace.Workspace`.

    Parameters
    ----------
    problem : Problem
    comm : Communicator
    bundles : int
        As wanted; there are no more than classes.
    threads, seed, isa : int
    limited : bool
        Whether `set_time_limit` is going to be called: then ranks agree after every round on
        whether there is time for the next one.
    """

    def __init__(
        self,
        problem: Problem,
        comm: Communicator,
        bundles: int,
        threads: int,
        seed: int,
        isa: int | None = None,
        *,
        limited: bool = False,
    ) -> None:
        self._problem, self._comm, self._seed, self._limited = problem, comm, seed, limited
        self.bundles = min(bundles, problem.n_classes)
        self._placement = Placement(self.bundles, comm.rank, comm.size)
        self._within_round = len(self._placement.rounds) // 2
        self._core: Any = _core.rank_workspace(problem.samples, problem.formulation, threads, isa)
        self._shared: bool = self._core.budget_is_shared
        self._round = 0  # whose matches the luggage is at
        self._passes = 0
        self._sums = np.zeros(len(problem.y))
        self._bundle_of: NDArray[np.int32] = np.zeros(problem.n_classes, dtype=np.int32)
        self._partitioned = False  # whether classes have been divided
        self._half_norm = 0.0  # half the sum of |w_c|^2
        self._norms = np.zeros(problem.n_classes)  # |w_c|
        self._deadline = float("inf")
        self._pending: list[Sending] = []
        self._violators: dict[int, tuple[NDArray[np.int64], NDArray[Any]]] = {}
        self.busy_seconds = 0.0  # of processor time in steps of the core

    @property
    def owned(self) -> list[int]:
        """Bundles whose home is at this rank."""
        return self._placement.owned

    # ------------------------------------------------------------ on the road

    def _start_sends(self, moves: list[Move], pack: Callable[[int], Message]) -> None:
        """Send what leaves this rank."""
        for move in moves:
            if move.source == self._comm.rank:
                self._pending.append(self._comm.send(pack(move.bundle), move.target))

    def _finish_receives(self, moves: list[Move], unpack: Callable[[int, list[Any]], None]) -> None:
        """Receive what comes to this rank, in the order in which it was sent."""
        for move in moves:
            if move.target == self._comm.rank:
                unpack(move.bundle, self._comm.receive(move.source))
        while self._pending:
            self._pending.pop().wait()

    def _move_to_round(self, to: int) -> None:
        """Bring all luggage to where it belongs in another round."""
        moves = self._placement.moves(self._round, to)
        self._start_sends(moves, self._pack)
        self._finish_receives(moves, self._unpack)
        self._round = to

    def _pack(self, bundle: int) -> Message:
        packed: Message = self._timed(self._core.pack, bundle)
        self._core.drop(bundle)
        return packed

    def _unpack(self, bundle: int, packed: list[Any]) -> None:
        self._timed(self._core.unpack, bundle, *packed)

    def _timed(self, step: Callable[..., Any], *args: Any) -> Any:
        began = time.process_time()
        try:
            return step(*args)
        finally:
            self.busy_seconds += time.process_time() - began

    # ------------------------------------------------------------ beginnings

    def nearest_centroids(self, candidates: int, budget: int) -> None:
        """Every rank looks at a share of the samples."""
        rank = self._comm.rank
        cut = divided(len(self._problem.y), self._comm.size)
        found = self._timed(self._core.candidates, candidates, budget, cut[rank], cut[rank + 1])
        lengths, cls = zip(
            *((np.diff(pair), cls) for pair, cls in self._comm.allgather(found)), strict=True
        )
        pair = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        everyones = np.concatenate(cls)
        self.begin(Lists(pair, everyones, np.zeros(len(everyones), dtype=self._problem.X.dtype)))

    def begin(self, lists: Lists) -> None:
        """Divide the classes, and take the pairs of this rank's bundles.

        A division lasts: snapshots are of its bundles.
        """
        self._set_partition(self._bundle_of if self._partitioned else self._divided(lists))
        for bundle in self.owned:
            self._timed(self._core.take, bundle, *lists)
        self._settle()

    def _divided(self, lists: Lists) -> NDArray[np.int32]:
        problem = self._problem
        bundle_of = np.zeros(problem.n_classes, dtype=np.int32)
        if self._comm.rank == 0 and self.bundles > 1:
            own = np.repeat(problem.y, np.diff(lists.pair))
            bundle_of = bundle_classes(own, lists.cls, self._expected_work(lists), self.bundles)
        return self._comm.broadcast([bundle_of])[0]

    def _expected_work(self, lists: Lists) -> NDArray[np.float64]:
        """Of each class: half of all work are passes over its pairs, half are scans of classes."""
        n_classes = self._problem.n_classes
        row_length = np.diff(self._problem.X.indptr) + 1.0
        touched: NDArray[Any] = np.bincount(
            lists.cls, weights=np.repeat(row_length, np.diff(lists.pair)), minlength=n_classes
        )
        work: NDArray[np.float64] = touched / touched.sum() + 1 / n_classes
        return work

    def _set_partition(self, bundle_of: NDArray[np.int32]) -> None:
        self._bundle_of, self._partitioned = bundle_of, True
        self._core.divide(bundle_of, self._placement.bundles)

    def _settle(self) -> None:
        """After the pairs of the bundles have changed: sums, places of features, weights."""
        for bundle in self.owned:
            self._timed(self._core.lay_out, bundle)
        self._make_bundle_states()

    def _make_bundle_states(self) -> None:
        self._sums = self._alpha_sums()
        if self._shared:
            self._keep_to_budgets()
        norms = {b: self._timed(self._core.make_bundle_state, b, self._sums) for b in self.owned}
        self._half_norm = self._total({b: float(squares.sum()) for b, squares in norms.items()}) / 2
        own = np.zeros(self._problem.n_classes)
        for bundle, squares in norms.items():
            own[self._bundle_of == bundle] = np.sqrt(squares)
        self._norms = self._comm.allreduce(own, "max")
        self._round = 0

    def _alpha_sums(self) -> NDArray[np.float64]:
        n, parts = len(self._problem.y), {}
        for bundle in self.owned:
            parts[bundle] = np.zeros(n)
            self._core.add_sums(bundle, parts[bundle])
        return sum_parts(self._comm, parts, n, np.float64)

    def _keep_to_budgets(self) -> None:
        """Variables that were passed on from class to class may add up to more, by rounding.

        With 8 bundles and 1000 passes in single precision it was 7e-6 of the budget, which is more
        than the gap that was left: a certificate needs a point that is feasible.
        """
        box = self._problem.box.astype(np.float64)
        # Beyond what rounding makes of a sum that has been brought down.
        allowed = box * (1 + 2 * float(np.finfo(self._problem.X.dtype).eps))
        if not np.any(self._sums > allowed):
            return
        factor = np.where(self._sums > allowed, box / np.maximum(self._sums, box), 1.0)
        for bundle in self.owned:
            self._core.scale(bundle, factor)
        self._sums = self._alpha_sums()

    def _total(self, values: dict[int, float]) -> float:
        """Sum of one number per bundle, in the order of bundles."""
        mine = [
            np.array(list(values), dtype=np.int64),
            np.array(list(values.values()), dtype=float),
        ]
        everyones = {
            int(b): float(v)
            for numbers, amounts in self._comm.allgather(mine)
            for b, v in zip(numbers, amounts, strict=True)
        }
        return sum(everyones[b] for b in sorted(everyones))

    # ------------------------------------------------------------ passes

    def load(self) -> Load:
        """As fixtures see it: two bundles are there at a time, with their classes only."""
        problem = self._problem
        row_length = np.diff(problem.X.indptr).astype(np.int64)
        touched = np.bincount(problem.y, minlength=problem.n_classes).astype(np.int64)
        pairs, work = np.zeros_like(touched), np.zeros(1, dtype=np.int64)
        for bundle in self.owned:
            begin, sample, _ = self._core.columns(bundle)
            pairs[self._bundle_of == bundle] = np.diff(begin)
            work += int(row_length[sample].sum())
        touched += self._comm.allreduce(pairs, "sum")
        return Load(touched, int(self._comm.allreduce(work, "sum")[0]) + int(row_length.sum()))

    def arrange(self) -> None:
        """Build the fixtures: bundles go on a tour with what is needed for that."""
        self._core.drop_meetings()
        there: dict[int, Any] = {b: self._core.structure(b) for b in self.owned}
        for r, meetings in enumerate(self._placement.rounds):
            if r > 0:
                moves = self._placement.moves(r - 1, r)
                self._start_sends(moves, there.pop)
                self._finish_receives(moves, there.__setitem__)
            for match in self._placement.mine:
                a, b = meetings[match]
                self._timed(
                    self._core.build, a, b, list(there[a]), list(there[b]), r == self._within_round
                )
        self._passes += 1  # another order of visits than in the phase before

    def run_pass(self, plan: Plan, how: Visiting) -> PassSummary:
        """One season: all rounds, from the first one on.

        Backwards would spare the way from the last round to the first, but with forwards and
        backwards in turn what all samples share (an intercept) settles slowly: with one, 16
        bundles and 1,139 classes took 174 passes instead of 89.
        """
        last = len(self._placement.rounds) - 1
        self._move_to_round(0)
        self._passes += 1
        seen: dict[tuple[int, int], tuple[float, float]] = {}
        complete = True
        for r in range(last + 1):
            if r > 0 and self._limited and self._time_is_up():
                complete = False
                break
            moves = self._placement.moves(r, min(r + 1, last))
            matches = self._placement.mine
            # One thread for each match, or all threads for one match after the other: then what
            # leaves a match is under way while they work on the next.
            groups = [[s] for s in matches] if plan.batch > 1 else [matches]
            for group in groups:
                reports = self._run_meetings(r, group, plan, how)
                for match, report in zip(group, reports, strict=True):
                    seen[r, match] = (report.gap, report.violation)
                    complete = complete and report.complete
                self._start_sends([m for m in moves if m.match in group], self._pack)
            self._finish_receives(moves, self._unpack)
            self._round = min(r + 1, last)
        return self._summary(seen, complete)

    def _run_meetings(self, r: int, matches: list[int], plan: Plan, how: Visiting) -> Any:
        if not matches:
            return []
        # A sample is seen once per bundle that it meets: each time with a share of its gap.
        share = 1.0 / min(4, self.bundles)
        return self._timed(
            self._core.run_meetings,
            [self._placement.rounds[r][s] for s in matches],
            plan.batch,
            how.everything,
            how.leave_below * share,
            how.idle,
            plan.coupling,
            how.quiet_gap * share,
            how.quiet_violation,
            (self._seed << 24) + self._passes * self._placement.bundles**2,
        )

    def _summary(
        self, seen: dict[tuple[int, int], tuple[float, float]], complete: bool
    ) -> PassSummary:
        places = np.array(list(seen), dtype=np.int64).reshape(-1, 2)
        values = np.array(list(seen.values()), dtype=np.float64).reshape(-1, 2)
        whole = np.array([complete])
        rows: list[tuple[int, int, float, float]] = []
        for place, value, full in self._comm.allgather([places, values, whole]):
            rows += [(*p, *v) for p, v in zip(place.tolist(), value.tolist(), strict=True)]
            complete = complete and bool(full[0])
        rows.sort()
        return PassSummary(
            gap=sum(row[2] for row in rows),
            violation=max((row[3] for row in rows), default=0.0),
            complete=complete,
        )

    def set_time_limit(self, seconds: float) -> None:
        """A meeting ends early; ranks agree after each round on whether there is another."""
        self._core.set_time_limit(seconds)
        self._deadline = time.monotonic() + seconds if seconds >= 0 else float("inf")

    def _time_is_up(self) -> bool:
        return bool(broadcast_value(self._comm, time.monotonic() >= self._deadline))

    # ------------------------------------------------------------ certificates

    def recompute(self) -> None:
        """Bring dual variables home and make the weights anew."""
        for bundle in self._placement.at(self._round):
            self._core.keep_alpha_only(bundle)
        self._move_to_round(0)
        for bundle in self.owned:
            self._core.unpack_alpha(bundle)
        self._collect()
        self._make_bundle_states()

    def _collect(self) -> None:
        """Dual variables that stayed where their bundles meet."""
        if self._shared:
            return
        outgoing: list[list[NDArray[Any]]] = [[] for _ in range(self._comm.size)]
        for fixture in self._placement.meetings():
            for which, bundle in enumerate(fixture):
                pair, value = self._core.collect(*fixture, which)
                outgoing[self._placement.owner_rank(bundle)] += [np.array([bundle]), pair, value]
        for message in self._comm.alltoall(outgoing):
            for number, pair, value in zip(*(iter(message),) * 3, strict=True):
                self._core.put_alpha(int(number[0]), pair, value)

    def scan(self, capacity: int, idle: float, exact: bool = False) -> Scan:
        problem, core, comm = self._problem, self._core, self._comm
        n, dtype, owned = len(problem.y), problem.X.dtype, self.owned
        own = np.full(n, -np.inf)
        for bundle in owned:
            self._timed(core.own_scores, bundle, own)
        own = comm.allreduce(own, "max")
        largest = np.finfo(dtype).max
        most, least = np.full(n, -largest, dtype=dtype), np.full(n, largest, dtype=dtype)
        violation = np.zeros(n, dtype=dtype)
        for bundle in owned:
            self._timed(core.look, bundle, own, most, least, violation)
        if self._shared:
            most, least = comm.allreduce(most, "max"), comm.allreduce(least, "min")
        violation = comm.allreduce(violation, "max")
        self._least, first_loss, worst = core.judge(most, least, violation, self._sums)
        losses, bounds = Losses(n, self._shared), Losses(n, self._shared)
        lost: dict[int, float] = {}
        self._violators = {}
        complete, found = True, 0
        for bundle in owned:
            loss, bound, outside, begin, margin, whole = self._timed(
                core.scan, bundle, own, self._least, first_loss, self._norms, capacity, idle, exact
            )
            losses.add(bundle, self._timed(np.multiply, loss, problem.box))
            bounds.add(bundle, self._timed(np.multiply, bound, problem.box))
            self._violators[bundle] = (begin, margin)
            lost[bundle] = float((np.repeat(problem.box, np.diff(begin)) * margin).sum())
            worst = max(worst, outside)
            complete, found = complete and whole, found + len(margin)
        self._capacity = capacity
        half = self._half_norm
        norm_error = 2 * float(np.finfo(dtype).eps) * half
        total = self._total_loss(bounds)
        worst = float(comm.allreduce(np.array([worst], dtype=np.float64), "max")[0])
        alpha = float(self._sums.sum())
        return Scan(
            primal=half + norm_error + total + core.empty_value,
            dual=alpha - half - norm_error + core.empty_value,
            violation=worst,
            rounding=total - self._total_loss(losses) + 2 * norm_error,
            found=int(comm.allreduce(np.array([found]), "sum")[0]),
            complete=bool(comm.allreduce(np.array([int(complete)]), "min")[0]),
            outside=None if self._shared else self._total(lost),
        )

    def scale(self, factor: float) -> None:
        for bundle in self.owned:
            self._core.scale(bundle, np.full(len(self._problem.y), factor))
        self._make_bundle_states()

    def _total_loss(self, losses: Losses) -> float:
        if self._shared:
            return float(self._comm.allreduce(losses.most, "max").sum())
        return self._total(losses.sums)

    def merge_found(self) -> None:
        threshold = self._thresholds()
        for bundle in self.owned:
            self._timed(self._core.merge, bundle, self._least, threshold)
        self._violators = {}
        self._settle()

    def _thresholds(self) -> NDArray[Any]:
        """Per sample, from which margin on a violator is taken up: every rank finds out a share."""
        cut = divided(len(self._problem.y), self._comm.size)
        outgoing: list[list[NDArray[Any]]] = [[] for _ in range(self._comm.size)]
        for begin, margin in self._violators.values():
            for message, (a, b) in zip(outgoing, itertools.pairwise(cut), strict=True):
                some = begin[a : b + 1]
                message += [some, margin[some[0] : some[-1]]]
        found = [
            pair
            for message in self._comm.alltoall(outgoing)
            for pair in zip(message[::2], message[1::2], strict=True)
        ]
        mine = cut[self._comm.rank + 1] - cut[self._comm.rank]
        threshold = self._timed(self._core.thresholds, found, mine, self._capacity)
        return np.concatenate([part for (part,) in self._comm.allgather([threshold])])

    # ------------------------------------------------------------ results

    @property
    def active_pairs(self) -> int:
        pairs = sum(len(self._core.columns(bundle)[1]) for bundle in self.owned)
        return int(self._comm.allreduce(np.array([pairs]), "sum")[0])

    def weights(self) -> Weights:
        """Of the classes whose home is here."""
        owned, features = self.owned, self._problem.X.shape[1]
        rows = [csr_weights(self._core.weights(bundle), features) for bundle in owned]
        classes = np.concatenate(
            [np.flatnonzero(self._bundle_of == b) for b in owned] or [np.zeros(0, dtype=np.int64)]
        ).astype(np.int32)
        order = np.argsort(classes)
        stacked = stacked_weights(rows, features, self._problem.X.dtype)
        whole = self._comm.size == 1
        return Weights(
            stacked.coef[order], stacked.constant[order], None if whole else classes[order]
        )

    def snapshot(self) -> dict[int, tuple[NDArray[Any], ...]]:
        return {b: tuple(np.array(part) for part in self._core.columns(b)) for b in self.owned}

    def restore(self, snapshot: dict[int, tuple[NDArray[Any], ...]] | Lists) -> None:
        if isinstance(snapshot, Lists):  # of the time before the league
            self.begin(snapshot)
            return
        for bundle, columns in snapshot.items():
            self._core.set_columns(bundle, *columns)
        self._settle()

    def lists(self) -> Lists | None:
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
        pair = np.concatenate([[0], np.cumsum(np.bincount(sample, minlength=n))])
        return Lists(pair.astype(np.int64), cls[order].astype(np.int32), alpha[order])

    # ------------------------------------------------------------ checkpoints

    def state(self) -> tuple[dict[str, int], dict[str, Part]]:
        """Between two passes: what is common, and the parts that are at this rank."""
        parts: dict[str, Part] = {}
        for bundle in self.owned:
            begin, sample, alpha = self._core.columns(bundle)
            parts[f"columns-{bundle}"] = {"begin": begin, "sample": sample, "alpha": alpha}
        for bundle in self._placement.at(self._round):
            sizes, mask, values = self._core.pack(bundle)
            parts[f"luggage-{bundle}"] = {"sizes": sizes, "mask": mask, "values": values}
        for a, b in self._placement.meetings():
            alpha, resting, pauses, waits = self._core.meeting_state(a, b)
            parts[f"fixture-{a}-{b}"] = {
                "alpha": alpha,
                "resting": resting,
                "pauses": pauses,
                "waits": waits,
            }
        if self._comm.rank == 0:
            parts["league"] = {"bundle_of": self._bundle_of}
        return {"round": self._round, "passes": self._passes}, parts

    def resume(self, common: dict[str, int], checkpoint: Checkpoint) -> None:
        self._set_partition(np.array(checkpoint.part("league")["bundle_of"]))
        for bundle in self.owned:
            part = checkpoint.part(f"columns-{bundle}")
            self._core.set_columns(bundle, part["begin"], part["sample"], part["alpha"])
            self._core.lay_out(bundle)
        self.arrange()
        for a, b in self._placement.meetings():
            part = checkpoint.part(f"fixture-{a}-{b}")
            self._core.restore_meeting(
                a, b, part["alpha"], part["resting"], part["pauses"], part["waits"]
            )
        self._round, self._passes = common["round"], common["passes"]
        for bundle in self._placement.at(self._round):
            part = checkpoint.part(f"luggage-{bundle}")
            self._core.unpack(bundle, part["sizes"], part["mask"], part["values"])
