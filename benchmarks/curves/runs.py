"""The runs of a curve: each in a process of its own, told to whoever writes them as they end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common.evaluate import suboptimality
from benchmarks.common.run import (
    Job,
    MissingError,
    RunFailedError,
    TimeLimitError,
    UnavailableError,
    measure,
)
from benchmarks.curves.contenders import OURS, Contender

# Whose dual objectives are those of feasible duals.
_TRUSTED = (OURS, "liblinear")


@dataclass(frozen=True)
class Run:
    """One process: `rung` is the place in the contender's ladder, `turn` the repetition."""

    contender: Contender
    dataset: str
    rung: int
    turn: int
    result: dict[str, Any]

    @property
    def seconds(self) -> float:
        return float(self.result["seconds"])

    @property
    def primal(self) -> float:
        return float(self.result["primal"])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = {
            "dataset": self.dataset,
            "problem": self.contender.problem,
            "contender": self.contender.title,
            "peer": self.contender.peer,
            "threads": self.contender.threads,
            "rung": self.contender.rung(self.rung),
            "turn": self.turn,
        }
        return about | self.result


@dataclass(frozen=True)
class Point:
    """All runs of one rung: medians."""

    contender: Contender
    dataset: str
    rung: int
    runs: tuple[Run, ...]

    @property
    def seconds(self) -> float:
        return float(median(run.seconds for run in self.runs))

    @property
    def primal(self) -> float:
        return float(median(run.primal for run in self.runs))

    def as_dict(self) -> dict[str, Any]:
        """For CSV and JSON."""
        seconds = [run.seconds for run in self.runs]
        result = self.runs[0].result
        sizes = dict(zip(("samples", "features", "classes"), result["shape"], strict=True))
        return {
            "dataset": self.dataset,
            **sizes,
            "nonzeros": result["nonzeros"],
            "problem": self.contender.problem,
            "contender": self.contender.title,
            "version": result["version"],
            "threads": self.contender.threads,
            "rung": self.contender.rung(self.rung),
            "runs": len(seconds),
            "seconds": self.seconds,
            "seconds_lowest": min(seconds),
            "seconds_highest": max(seconds),
            "primal": self.primal,
        }


@dataclass
class Course:
    """Runs contenders, keeps what they did, and leaves out those that cannot.

    Parameters
    ----------
    folder : Path or None
        Of the data sets.
    told : function of the course
        Called when a run has ended.
    limit_s : float, default=600
        A process that takes longer in all is ended, and its contender is out on this data set.
    """

    folder: Path | None
    told: Callable[[Course], None]
    limit_s: float = 600.0
    runs: list[Run] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def run(self, contender: Contender, dataset: str, rung: int, turn: int) -> Run | None:
        """Measure one run; None if it does not take place, for a reason that `problems` has."""
        if self._excluded(contender, dataset):
            return None
        folder = None if self.folder is None else str(self.folder.resolve())
        task = contender.ladder[rung]
        job = Job(contender.peer, dataset, folder, task, judge=True, limit_s=self.limit_s)
        try:
            result = measure(job)
        except UnavailableError as error:
            # Without its program a contender has no chance on other data either.
            self.problems[contender.peer] = f"skipped: {error}"
        except TimeLimitError as error:
            self.problems[_on(contender, dataset)] = f"stopped: {error}"
        except (MissingError, RunFailedError) as error:
            self.problems[_on(contender, dataset)] = f"failed: {error}"
        else:
            done = Run(contender, dataset, rung, turn, result)
            self.runs.append(done)
            _tell(done)
            self.told(self)
            return done
        print(f"  {job}: {list(self.problems.values())[-1]}", file=sys.stderr, flush=True)
        return None

    def _excluded(self, contender: Contender, dataset: str) -> bool:
        return any(name in self.problems for name in (contender.peer, _on(contender, dataset)))

    @property
    def failed(self) -> bool:
        """Whether a run failed; what is not installed is no failure."""
        return any(reason.startswith("failed") for reason in self.problems.values())

    def points(self) -> list[Point]:
        """Data sets and contenders in the order they began in; each ladder downwards."""
        ladders: dict[Any, dict[int, list[Run]]] = {}
        for run in self.runs:
            ladder = ladders.setdefault((run.dataset, run.contender.key), {})
            ladder.setdefault(run.rung, []).append(run)
        return [
            Point(runs[0].contender, runs[0].dataset, rung, tuple(runs))
            for ladder in ladders.values()
            for rung, runs in sorted(ladder.items())
        ]

    def bound(self, dataset: str, problem: str) -> float | None:
        """The largest dual objective so far: no weights can have a smaller primal objective."""
        duals = (
            run.result["dual"]
            for run in self.runs
            if run.dataset == dataset
            and run.contender.problem == problem
            and run.contender.peer in _TRUSTED
        )
        return max((dual for dual in duals if dual is not None), default=None)

    def above(self, point: Point) -> float | None:
        """How far a point is above the optimum at most; None as long as nothing is known of it."""
        bound = self.bound(point.dataset, point.contender.problem)
        return None if bound is None else suboptimality(point.primal, bound)


def _on(contender: Contender, dataset: str) -> str:
    return f"{contender.title}, {contender.problem}, on {dataset}"


def _tell(run: Run) -> None:
    print(
        f"  {run.contender.title} on {run.dataset}, {run.contender.problem}, "
        f"{run.contender.rung(run.rung)}, run {run.turn + 1}: {run.seconds:.3f} s, "
        f"objective {run.primal:.8g}",
        file=sys.stderr,
        flush=True,
    )
