"""Lee-Lin-Wahba by the paper's alternation: each class alone, with the mean of all held.

With the mean of the classes' sums held fixed every class is a binary problem, so classes can be
worked on anywhere, here in bundles on any number of ranks; only the mean has to be reduced,
``reductions`` times per epoch. A variable that three epochs left alone is dropped, and one full
epoch comes before a stop. The mean moves by about 1/K of the way each time, which is why plain
alternation is slow. The extrapolated one holds the mean ahead of where it is, by a momentum that
grows as in Nesterov's method and starts again when the mean turns, or when the dual fell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.checkpoints._store import Checkpoint
from multimargin.parallel._partition import default_bundles
from multimargin.solvers._core_types import LeeLinWahba
from multimargin.solvers._layout import entries
from multimargin.solvers._solution import DenseAlpha, Solution, Start, Weights
from multimargin.solvers.llw._hard_margin import HardMargin
from multimargin.solvers.llw._rank_classes import Array, Share
from multimargin.solvers.rows._dense import DenseSolver

_MULTIPLY_ADDS = 2e9  # per second and thread, to plan the end of a time limit
_MOST_SNAPSHOT_BYTES = 2**30  # of the dual variables of the best certificate


class AlternatingSolver(DenseSolver):
    name = "alternating"
    engine = "lines with a common mean"
    takes_reductions = True
    recalls_dropped = False  # whether dropped variables take part again after every certificate

    def __init__(self, *args: Any, reductions: int = 10, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        problem = self._problem
        # Until the first certificate has been timed: three passes over the data, one over W.
        work = 3.0 * entries(problem.X) * problem.n_classes + problem.X.shape[1] * problem.n_classes
        self._scan_seconds = work / (_MULTIPLY_ADDS * self._threads * self._comm.size)
        self._reductions = reductions
        self._everything = True  # next epoch: variables that were dropped take part again
        self._next_look = 1  # epochs
        self._found = self._last_checkpoint()
        if self._bundles is None:
            wanted = default_bundles(self._comm.size, kept=False) or 1
            # A run that goes on has those that it began with.
            self._bundles = int(wanted if self._found is None else self._found.common["bundles"])
        options = {"threads": self._threads, "seed": self._seed, "isa": self._isa}
        self._share = Share(problem, self._comm, self._bundles, **options)
        self._engine: LeeLinWahba = self._share.engine
        self._hard = HardMargin(problem, self._share) if np.isinf(problem.box[0]) else None

    def _run(self, start: Start | None) -> Solution:
        if self._found is not None:
            self._resume(self._found)
        else:
            self._begin(start)
        while True:
            complete, measure = self._epoch()
            ended_by = self._after_epoch(complete, measure)
            if ended_by is not None:
                return self._end(ended_by)
            if self._checkpoint_due():
                self._write_checkpoint()

    def _epoch(self) -> tuple[bool, float]:
        """Pass every class over all samples; return whether it was complete, and the measure."""
        order, parts = self._engine.shuffled_samples(self._passes), self._reductions
        reports = []
        for part in range(parts):
            self._limit(self._engine)
            samples = order[len(order) * part // parts : len(order) * (part + 1) // parts]
            everything = (self._everything or not self._shrinking) and part == 0
            complete, seen = self._share.pass_samples(
                samples, self._held_mean(), everything, self._stopping.idle
            )
            if not complete:
                return False, np.inf
            reports.append(seen)
        self._pass_done()
        return True, self._measure(self._share.measured(reports))

    def _after_epoch(self, complete: bool, measure: float) -> str | None:
        """Look, where it is time to; return why the run ends here, None if it goes on."""
        full = self._everything or not self._shrinking
        limit = self._limit_reached() if complete else "time_limit"
        quiet = bool(self._history) and measure <= self._target()
        self._everything = quiet and not full
        # Within the held mean all may be well long before it is: looks are spaced out.
        if not limit and (self._passes < self._next_look or self._everything):
            return None
        ended_by = self._look() or limit
        if ended_by == "precision" and not full:
            # Perhaps it is the dropped variables that are wrong.
            ended_by, self._everything, self._stalled = "", True, 0
        self._next_look = self._passes + 1 + self._passes // 8
        if self._reached() or ended_by:
            return ended_by
        self._everything = self._everything or self.recalls_dropped
        return None

    def _held_mean(self) -> Array:
        """Return where the mean is held, counted from the last certificate."""
        return self._engine.mean()

    def _begin(self, start: Start | None) -> bool:
        if not isinstance(start, DenseAlpha):
            return False
        scaled = start.scaled_to(self._problem)
        self._assign(np.ascontiguousarray(scaled[:, self._share.classes]))
        return True

    def _assign(self, alpha: Any) -> None:
        self._share.assign(alpha)

    def _certificate(self) -> Any:
        self._share.recompute()
        return self._seen_now()

    def _seen_now(self) -> Any:
        return self._share.look()

    def _objectives(self, seen: Any) -> tuple[float, float]:
        # The norm is of rounded weights, the dual variables stand for exact ones.
        norm_error = 2 * float(np.finfo(self._problem.X.dtype).eps) * seen.half_norm
        dual = seen.alpha - seen.half_norm - norm_error
        if self._hard is not None:
            return self._hard.primal(seen), dual
        return seen.half_norm + norm_error + seen.loss, dual

    def _target(self) -> float:
        """Return the measure at which a certificate is likely to reach the tolerance."""
        if self._hard is not None and self._stopping.by_gap:
            # The primal is the norm over (1 - margin)^2.
            return 0.25 * self._stopping.tol
        if self._by_violation:
            return self._stopping.tol
        return self._stopping.tol * self._history[-1].primal

    def _snapshot(self) -> Any:
        size = len(self._problem.y) * self._engine.held * self._problem.X.dtype.itemsize
        return self.dual_variables() if size <= _MOST_SNAPSHOT_BYTES else None

    def dual_variables(self) -> NDArray[Any]:
        problem = self._problem
        value = np.empty((len(problem.y), self._engine.held), dtype=problem.X.dtype)
        self._engine.alpha(value)
        return value

    def _weights(self) -> Weights:
        weights = self._weights_of(self._engine.held)
        return replace(weights, classes=self._share.classes) if self._comm.size > 1 else weights

    def _write_checkpoint(self) -> None:
        assert self._checkpoints is not None
        parts: dict[str, Any] = {f"bundle-{b}": p for b, p in self._share.save().items()}
        for name, rows in self._kept_rows().items():
            for number, bundle in self._share.split(rows).items():
                parts[f"bundle-{number}"][name] = bundle
        if self._comm.rank == 0:
            parts["all"] = self._kept_vectors()
        self._checkpoints.write(self._kept_numbers(), parts)

    def _resume(self, found: Checkpoint) -> None:
        """Go on as if nothing had happened since the checkpoint."""
        vectors = {name: np.array(v) for name, v in found.part("all").items()}
        bundles = {b: found.part(f"bundle-{b}") for b in self._share.numbers}
        self._share.load(bundles, vectors["mean"])

        def rows(name: str) -> NDArray[Any]:
            return self._share.joined({b: np.asarray(p[name]) for b, p in bundles.items()})

        self._recall(found.common, vectors, rows)

    def _kept_numbers(self) -> dict[str, Any]:
        """Return the numbers of the state, and the names of the rows kept beside them."""
        return {
            "bundles": self._bundles,
            "passes": self._passes,
            "everything": self._everything,
            "next_look": self._next_look,
            "stalled": self._stalled,
            "best": self._best_so_far.places(self._history),
            "rows": sorted(self._kept_rows()),
            "compare_after": self._hard.memory[0] if self._hard is not None else 0,
        }

    def _kept_vectors(self) -> dict[str, NDArray[Any]]:
        return {"mean": self._engine.mean(), **self._kept_history()}

    def _kept_rows(self) -> dict[str, NDArray[Any]]:
        """Return earlier dual variables that the run may need, samples x classes held."""
        rows: dict[str, NDArray[Any]] = dict(self._best_so_far.states)
        if self._hard is not None and self._hard.memory[1] is not None:
            rows["compared"] = self._hard.memory[1]
        return rows

    def _recall(self, numbers: Any, vectors: dict[str, NDArray[Any]], rows: Any) -> None:
        kept = numbers["rows"]
        self._passes, self._stalled = numbers["passes"], numbers["stalled"]
        self._everything, self._next_look = numbers["everything"], numbers["next_look"]
        self._recall_history(vectors)
        self._best_so_far.recall(
            self._history, numbers["best"], lambda name: rows(name) if name in kept else None
        )
        if self._hard is not None:
            compared = rows("compared") if "compared" in kept else None
            self._hard.memory = (numbers["compare_after"], compared)


class ExtrapolatedSolver(AlternatingSolver):
    """One run by alternation with the mean held ahead of where it is."""

    name = "extrapolated"
    recalls_dropped = True  # the mean moves far between two certificates

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._steps = 0  # since momentum started
        self._held: Array | None = None  # counted from the last look
        self._mean: Array | None = None
        self._best: NDArray[Any] | None = None
        self._best_dual = -np.inf

    def _held_mean(self) -> Array:
        mean = self._engine.mean()
        shift = np.zeros_like(mean)
        if self._mean is not None and self._held is not None:
            move = mean - self._mean
            self._steps += 1
            # Not a dot product: BLAS would use threads of its own.
            if float(np.sum((mean - self._held) * move)) < 0:
                self._steps = 0
            shift = max(0.0, (self._steps - 1) / (self._steps + 2)) * move
        self._mean, self._held = mean, mean + shift
        return self._held

    def _certificate(self) -> Any:
        # It makes the weights anew, and the core's means then count from the present one.
        now = self._engine.mean()
        seen = super()._certificate()
        if self._mean is not None and self._held is not None:
            self._mean, self._held = self._mean - now, self._held - now
        dual = seen.alpha - seen.half_norm
        if self._best is not None and dual < self._best_dual:
            # Back to the best dual variables known, without momentum.
            self._assign(self._best)
            self._steps, self._mean, self._held = 0, None, None
            self._stalled = -1  # the same point twice is not the end of precision
            return super()._certificate()
        self._best, self._best_dual = self.dual_variables(), dual
        return seen

    def _kept_numbers(self) -> dict[str, Any]:
        return {**super()._kept_numbers(), "steps": self._steps, "moving": self._mean is not None}

    def _kept_vectors(self) -> dict[str, NDArray[Any]]:
        kept = {**super()._kept_vectors(), "best_dual": np.array([self._best_dual])}
        if self._mean is not None and self._held is not None:
            kept.update(mean_before=self._mean, held_before=self._held)
        return kept

    def _kept_rows(self) -> dict[str, NDArray[Any]]:
        rows = super()._kept_rows()
        return rows if self._best is None else {**rows, "best": self._best}

    def _recall(self, numbers: Any, vectors: dict[str, NDArray[Any]], rows: Any) -> None:
        super()._recall(numbers, vectors, rows)
        self._steps = numbers["steps"]
        if numbers["moving"]:
            self._mean, self._held = vectors["mean_before"], vectors["held_before"]
        self._best_dual = float(vectors["best_dual"][0])
        self._best = rows("best") if "best" in numbers["rows"] else None
