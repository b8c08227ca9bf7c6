"""The table of a contest: numbers for JSON and CSV, and lines for readers."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from benchmarks.contest.climbs import Climb, Contest
from benchmarks.peers import peer

TITLES = {
    "weston-watkins": "Weston-Watkins",
    "crammer-singer": "Crammer-Singer",
    "one-vs-rest": "one-vs-rest, hinge",
    "one-vs-rest-squared": "one-vs-rest, squared hinge",
}


@dataclass(frozen=True)
class Row:
    """One peer, one problem, one number of threads, on one data set.

    Attributes
    ----------
    ratio : float or None
        Its seconds over multimargin's for the same problem with as many threads.
    above_optimum : float or None
        Of its own primal objective, relative to the optimum of the same problem.
    primal : float or None
        Its own objective at its own weights, as all figures but the seconds computed by us.
    """

    dataset: str
    threads: int
    loss: str
    peer: str
    title: str
    version: str
    setting: str
    runs: int
    seconds: float | None
    cpu_seconds: float | None
    ratio: float | None
    above_optimum: float | None
    reached: bool
    primal: float | None
    peak_mb: float | None
    test_error: float | None
    macro_f1: float | None
    density: float | None
    model_bytes: int | None
    model_file: str | None
    problem: str | None


def rows(contest: Contest) -> list[Row]:
    """All rows of a contest: by problem, multimargin first, then by seconds."""
    ours = {
        each.contestant.loss: each.runs.seconds
        for each in contest.climbs
        if each.contestant.peer == "multimargin" and each.runs.results
    }
    found = [_row(each, contest.dataset, ours.get(each.contestant.loss)) for each in contest.climbs]
    order = list(TITLES)
    return sorted(
        found,
        key=lambda row: (
            order.index(row.loss),
            row.peer != "multimargin",
            row.seconds is None,
            row.seconds or 0.0,
        ),
    )


def _row(climb: Climb, dataset: str, ours: float | None) -> Row:
    runs, contestant = climb.runs, climb.contestant
    judged: dict[str, Any] = runs.judged if runs.results else {}
    seconds = runs.seconds if runs.results else None
    stopped = next((each.problem for each in climb.tried if each.problem is not None), None)
    return Row(
        dataset=dataset,
        threads=climb.threads,
        loss=contestant.loss,
        peer=contestant.peer,
        title=contestant.title,
        version=judged.get("version", ""),
        setting=contestant.setting(climb.rung) if runs.results else "",
        runs=len(runs.results),
        seconds=seconds,
        cpu_seconds=median(each["cpu_seconds"] for each in runs.results) if runs.results else None,
        ratio=seconds / ours if seconds and ours and contestant.peer != "multimargin" else None,
        above_optimum=climb.above,
        reached=climb.reached,
        problem=stopped,
        **{name: judged.get(name) for name in _JUDGED},
    )


_JUDGED = (
    "primal",
    "peak_mb",
    "test_error",
    "macro_f1",
    "density",
    "model_bytes",
    "model_file",
)

HEAD = (
    "peer",
    "setting",
    "seconds",
    "runs",
    "x ours",
    "above optimum",
    "objective",
    "peak MB",
    "test error",
    "macro-F1",
    "density",
    "model MB",
    "saved as",
)
RIGHT = frozenset(range(2, 12))


def lines(found: list[Row]) -> list[tuple[str, ...]]:
    """A head and a line for each row that has figures."""
    return [HEAD, *(_cells(row) for row in found if row.seconds is not None)]


def _cells(row: Row) -> tuple[str, ...]:
    # Whoever stays above the goal would need more time to reach it than it took.
    more = "" if row.reached else ">"
    return (
        row.title,
        row.setting,
        _or_dash("{:.3f}", row.seconds),
        str(row.runs),
        "" if row.ratio is None else f"{more}{row.ratio:.2f}x",
        _or_dash("{:.2%}", row.above_optimum) + ("" if row.reached else " !"),
        _or_dash("{:,.1f}", row.primal),
        _or_dash("{:,.0f}", row.peak_mb),
        _or_dash("{:.2%}", row.test_error),
        _or_dash("{:.4f}", row.macro_f1),
        _or_dash("{:.2%}", row.density),
        _or_dash("{:,.1f}", None if row.model_bytes is None else row.model_bytes / 1e6),
        row.model_file or "-",
    )


def _or_dash(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)


def problems(found: list[Row]) -> list[str]:
    """List peers that were skipped, stopped or failed, once for each reason."""
    said: dict[str, None] = {}
    for row in found:
        if row.problem is None:
            continue
        kind, _, reason = row.problem.partition(": ")
        where = "" if kind == "skipped" else f" on {row.dataset}"
        title = peer(row.peer).TITLE if kind == "skipped" else row.title
        said[f"{title}{where}: {kind}: {reason}"] = None
    return list(said)


def as_csv(found: list[Row]) -> bytes:
    """All rows and columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in found)
    return text.getvalue().encode()
