"""Peers next to each other: each as loose as it may be, and no looser.

A tolerance means something else to every trainer. So each climbs its ladder from the loosest
setting until its weights are within `GOAL` of the optimum of its own problem, and the seconds of
that setting count. One that never gets there is shown with the setting that came closest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common.evaluate import suboptimality
from benchmarks.common.run import Job, Runs, measure_in_turns
from benchmarks.peers import PEERS, Offer, Task, peer

GOAL = 0.01
"""How far above the optimum of its own problem a peer may end, relative to it."""

# Relative gap of the runs that the optimum is known from: far below the goal.
TIGHT = 1e-4

Measure = Callable[[dict[str, tuple[Job, int]]], dict[str, Runs]]


@dataclass(frozen=True)
class Contestant:
    """A peer and one of the problems it solves."""

    peer: str
    offer: Offer

    @property
    def loss(self) -> str:
        """The loss that it minimises, a key of `benchmarks.common.evaluate.LOSSES`."""
        return self.offer.task(0, 1).loss()

    @property
    def title(self) -> str:
        """Its name for readers."""
        return f"{peer(self.peer).TITLE} {self.offer.how}".strip()

    def setting(self, rung: int) -> str:
        """A rung of the ladder, for readers: "tol=0.1"."""
        given = dict(self.offer.ladder[rung])
        given |= given.pop("options", {})
        return " ".join(f"{name}={value:g}" for name, value in given.items())


def contestants(names: Iterable[str] = PEERS) -> list[Contestant]:
    """All problems of these peers, multimargin's first: the others are compared with it."""
    found = [Contestant(name, offer) for name in names for offer in peer(name).OFFERS]
    return sorted(found, key=lambda each: each.peer != "multimargin")


@dataclass
class Climb:
    """How far up its ladder a contestant went with so many threads.

    Attributes
    ----------
    rung : int
        The setting that counts: the first that reached the goal, else the one that came closest.
    above : float or None
        How far above the optimum it ended there, relative to it; None where no run ended.
    runs : Runs
        All runs of that setting.
    tried : list of Runs
        One run of every setting that was tried.
    """

    contestant: Contestant
    threads: int
    rung: int
    runs: Runs
    above: float | None = None
    tried: list[Runs] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        return self.above is not None and self.above <= GOAL


@dataclass(frozen=True)
class Rules:
    """Limits on the time of a contest.

    Attributes
    ----------
    folder : str or None
        Of the data sets.
    repeats : int
        Runs of the setting that counts; the median of their seconds is shown.
    limit_s : float
        For one process, its loading and judging included.
    repeat_below_s : float
        What trained longer is run once.
    """

    folder: str | None
    repeats: int = 3
    limit_s: float = 600.0
    repeat_below_s: float = 30.0

    def job(self, name: str, dataset: str, task: Task, *, size: bool = False) -> Job:
        """A judged run."""
        return Job(name, dataset, self.folder, task, True, size=size, limit_s=self.limit_s)


def optimum(
    contestant: Contestant, dataset: str, rules: Rules, measure: Measure = measure_in_turns
) -> tuple[float | None, Runs]:
    """A lower bound of a problem's optimum, by multimargin's dual, and the run it comes from."""
    task = contestant.offer.task(0, 1)
    options = {name: value for name, value in task.options.items() if name == "loss"}
    tight = Task(task.formulation, task.C, 1, TIGHT, options)
    runs = measure({"tight": (rules.job("multimargin", dataset, tight), 1)})["tight"]
    return (runs.results[0]["dual"] if runs.results else None), runs


def climb(
    contestant: Contestant,
    dataset: str,
    threads: int,
    best: float,
    rules: Rules,
    start: int = 0,
    measure: Measure = measure_in_turns,
) -> Climb:
    """Go up the ladder until the goal is reached, the ladder ends, or a run is stopped or fails.

    Parameters
    ----------
    best : float
        A lower bound of the optimum.
    start : int, default=0
        The first rung: that of fewer threads, which had no reason to be tighter.
    """
    tried: list[Runs] = []
    closest: Climb | None = None
    for rung in range(start, len(contestant.offer.ladder)):
        task = contestant.offer.task(rung, threads)
        job = rules.job(contestant.peer, dataset, task, size=True)
        expected = _expected(tried[-1], task) if tried else 0.0
        if expected > rules.limit_s:
            problem = f"stopped: {job}: about {expected:.0f} s, more than {rules.limit_s:g} s"
            tried.append(Runs(job, problem=problem))
            break
        runs = measure({"run": (job, 1)})["run"]
        tried.append(runs)
        if not runs.results:
            break
        try:
            above = suboptimality(runs.judged["primal"], best)
        except ValueError as error:
            tried[-1] = Runs(job, problem=f"failed: {job}: {error}")
            break
        if closest is None or closest.above is None or above < closest.above:
            closest = Climb(contestant, threads, rung, runs, above)
        if above <= GOAL:
            break
    found = closest or Climb(contestant, threads, start, tried[0])
    found.tried = tried
    return found


def _expected(before: Runs, task: Task) -> float:
    """Seconds of a tighter setting: more epochs take longer in proportion."""
    done, asked = (each.options.get("epochs", 1) for each in (before.job.task, task))
    return float(before.seconds * asked / done)


def repeat(climbs: list[Climb], rules: Rules, measure: Measure = measure_in_turns) -> None:
    """Run the settings that count again, in turns, unless they are slow; adds to their runs."""
    more = rules.repeats - 1
    variants = {
        str(number): (Job(**_plain(each.runs.job)), more)
        for number, each in enumerate(climbs)
        if each.runs.results and each.runs.seconds <= rules.repeat_below_s and more > 0
    }
    if not variants:
        return
    for number, runs in measure(variants).items():
        climbs[int(number)].runs.results += runs.results


def _plain(job: Job) -> dict[str, Any]:
    """The fields of a job that is timed and nothing else."""
    fields = {name: getattr(job, name) for name in job.__dataclass_fields__}
    return fields | {"judge": False, "size": False}


@dataclass
class Contest:
    """All climbs on one data set with one number of threads, and the optima they are held to."""

    dataset: str
    threads: int
    climbs: list[Climb]
    optima: dict[str, float]


def hold(
    dataset: str,
    thread_counts: Iterable[int],
    who: list[Contestant],
    rules: Rules,
    measure: Measure = measure_in_turns,
) -> tuple[list[Contest], list[Runs]]:
    """The contests on one data set, and the runs that its optima come from."""
    optima: dict[str, float] = {}
    without: set[str] = set()  # problems whose optimum could not be found: no table for them
    tight: list[Runs] = []
    for each in who:
        if each.loss not in optima.keys() | without:
            _tell(f"{dataset}: the optimum of {each.loss}")
            bound, runs = optimum(each, dataset, rules, measure)
            tight.append(runs)
            if bound is not None:
                optima[each.loss] = bound
            elif (runs.problem or "").startswith("skipped"):
                return [], tight  # no such data
            else:
                without.add(each.loss)
    who = [each for each in who if each.loss in optima]
    contests: list[Contest] = []
    rungs: dict[tuple[str, str], int] = {}
    for threads in thread_counts:
        climbs = []
        for each in who:
            if each.offer.can_use(threads):
                _tell(f"{dataset}, {threads} thread(s): {each.title}")
                start = rungs.get((each.peer, each.loss), 0)
                climbs.append(
                    climb(each, dataset, threads, optima[each.loss], rules, start, measure)
                )
                rungs[each.peer, each.loss] = climbs[-1].rung
        repeat(climbs, rules, measure)
        contests.append(Contest(dataset, threads, climbs, optima))
    return contests, tight


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
