"""The bars: what is measured for each, and whether it is reached."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._data import GENERATED, LSHTC, WORDNET
from benchmarks._run import Job, Runs, measure_in_turns

_TEST_ERROR, _TEST_ERROR_SLACK = 0.593, 0.003


@dataclass(frozen=True)
class Options:
    """What the command line asks for; `repeats` None takes each bar's own number."""

    folder: Path | None
    quick: bool = False
    repeats: int | None = None

    def job(self, peer: str, dataset: str, **more: Any) -> Job:
        folder = None if self.folder is None else str(self.folder.resolve())
        return Job(peer=peer, dataset=dataset, folder=folder, **more)

    def runs(self, usual: int) -> int:
        return usual if self.repeats is None else self.repeats


@dataclass(frozen=True)
class Row:
    """A line of the table; `reached` is None where there is no bar, or no figure."""

    name: str
    figure: str
    value: float | None = None
    bar: str = ""
    reached: bool | None = None
    problem: str | None = None

    @property
    def verdict(self) -> str:
        if self.problem is not None:
            return self.problem.split(":", 1)[0]
        return {True: "yes", False: "NO", None: ""}[self.reached]

    @property
    def bad(self) -> bool:
        """A bar missed, or a run that failed; what is skipped is not bad."""
        return self.reached is False or (self.problem or "").startswith("failed")


@dataclass
class Outcome:
    """Rows of the table, and every run behind them."""

    rows: list[Row] = field(default_factory=list)
    runs: list[Runs] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        rows = [asdict(row) | {"verdict": row.verdict} for row in self.rows]
        return {"rows": rows, "runs": [runs.as_dict() for runs in self.runs]}


def at_most(name: str, value: float, limit: float, unit: str) -> Row:
    """A figure that has to stay below a limit."""
    return Row(name, f"{value:,.0f} {unit}", value, f"< {limit:,.0f} {unit}", value < limit)


def at_least(
    name: str, value: float, limit: float, *, goal: float | None = None, note: str = ""
) -> Row:
    """A ratio that has to reach a limit; a goal beyond it is only named."""
    bar = f">= {limit:g}x" + (f" (goal {goal:g}x)" if goal is not None else "")
    return Row(name, f"{value:.2f}x{note}", value, bar, value >= limit)


def missing(name: str, problem: str | None, bar: str = "") -> Row:
    """A row without a figure, and why."""
    return Row(name, "-", bar=bar, problem=problem or "failed: no run ended")


def wordnet(options: Options) -> Outcome:
    """12,582 classes: time, ratio to LIBLINEAR, memory and errors, in one thread."""
    variants = {"ours": (options.job("multimargin", WORDNET, judge=True), options.runs(3))}
    if not options.quick:
        # About four minutes; once is enough next to a bar of 12 times.
        variants["liblinear"] = (options.job("liblinear", WORDNET, judge=True), 1)
    runs = measure_in_turns(variants)
    outcome = Outcome(runs=list(runs.values()))
    ours = runs["ours"]
    if not ours.results:
        outcome.rows.append(missing(WORDNET, ours.problem))
        return outcome
    error, slack = _TEST_ERROR, _TEST_ERROR_SLACK
    value = ours.judged["test_error"]
    outcome.rows += [
        *_time_rows(WORDNET, runs, 12, goal=30),
        at_most(f"{WORDNET}: peak memory", ours.peak_mb, 1000, "MB"),
        Row(
            f"{WORDNET}: test error",
            f"{value:.2%}",
            value,
            f"{error:.1%} +- {slack:.1%}",
            abs(value - error) <= slack,
        ),
        Row(f"{WORDNET}: top-5 accuracy", f"{ours.judged['top5']:.2%}", ours.judged["top5"]),
    ]
    return outcome


def lshtc(options: Options) -> Outcome:
    """1,139 classes with four samples each: ratio to LIBLINEAR, in one thread."""
    runs = measure_in_turns(
        {
            "ours": (options.job("multimargin", LSHTC, judge=True), options.runs(5)),
            "liblinear": (options.job("liblinear", LSHTC, judge=True), options.runs(3)),
        }
    )
    outcome = Outcome(runs=list(runs.values()))
    ours = runs["ours"]
    if not ours.results:
        outcome.rows.append(missing(LSHTC, ours.problem))
        return outcome
    value = ours.judged["test_error"]
    outcome.rows += [
        *_time_rows(LSHTC, runs, 4),
        Row(f"{LSHTC}: test error", f"{value:.2%}", value),
    ]
    return outcome


def _time_rows(name: str, runs: dict[str, Runs], limit: float, **more: Any) -> list[Row]:
    """Time and gap, and the ratio to LIBLINEAR unless it is missing."""
    ours, peer = runs["ours"], runs.get("liblinear")
    seconds, gap = ours.seconds, ours.judged["gap"]
    rows = [
        Row(f"{name}: time", f"{seconds:.3f} s (median of {len(ours.results)})", seconds),
        Row(f"{name}: duality gap", f"{gap:.2%}", gap, "<= 1%", gap <= 0.01),
    ]
    title = f"{name}: LIBLINEAR -s 4"
    if peer is None:
        rows.append(missing(title, "skipped: --quick", f">= {limit:g}x"))
    elif not peer.results:
        rows.append(missing(title, peer.problem, f">= {limit:g}x"))
    else:
        note = f" ({peer.seconds:.2f} s, error {peer.judged['test_error']:.2%})"
        rows.append(at_least(title, peer.seconds / seconds, limit, note=note, **more))
    return rows


def threads(options: Options) -> Outcome:
    """Two threads against one, and whether the model stays the same."""
    title = "two threads against one"
    if (os.cpu_count() or 1) < 2:
        row = missing(title, "skipped: this machine has one processor", ">= 1.6x")
        return Outcome(rows=[row])
    count = options.runs(3)
    runs = measure_in_turns(
        {
            str(number): (options.job("multimargin", WORDNET, threads=number), count)
            for number in (1, 2)
        }
    )
    one, two = runs["1"], runs["2"]
    outcome = Outcome(runs=[one, two])
    if not one.results or not two.results:
        outcome.rows.append(missing(title, one.problem or two.problem, ">= 1.6x"))
        return outcome
    note = f" ({one.seconds:.2f} s, {two.seconds:.2f} s)"
    same = len(one.hashes | two.hashes) == 1
    outcome.rows += [
        at_least(title, one.seconds / two.seconds, 1.6, note=note),
        Row(f"{title}: same model", "all bits" if same else "differs", None, "all bits", same),
    ]
    return outcome


def memory(options: Options) -> Outcome:
    """20,000 classes and 300,000 features: dense weights would be 24 GB."""
    title = f"{GENERATED}: peak memory"
    if options.quick:
        return Outcome(rows=[missing(title, "skipped: --quick", "< 3,000 MB")])
    runs = measure_in_turns({"ours": (options.job("multimargin", GENERATED), 1)})["ours"]
    outcome = Outcome(runs=[runs])
    if not runs.results:
        outcome.rows.append(missing(title, runs.problem, "< 3,000 MB"))
        return outcome
    gap = runs.results[0]["details"]["own_gap"]
    outcome.rows += [
        Row(f"{GENERATED}: time", f"{runs.seconds:.1f} s", runs.seconds),
        Row(f"{GENERATED}: duality gap", f"{gap:.2%}", gap, "<= 1%", gap <= 0.01),
        at_most(title, runs.peak_mb, 3000, "MB"),
    ]
    return outcome


BARS: dict[str, Callable[[Options], Outcome]] = {
    "wordnet": wordnet,
    "lshtc": lshtc,
    "threads": threads,
    "memory": memory,
}
