"""Gap over time: how far above the optimum each trainer is after so many seconds of training.

Every point is a run of its own, from the start to one tolerance of a ladder. The objective is
computed from the weights, by the same code for all, and compared with the largest dual objective
that any of the runs on the same problem ended with, which is below the optimum: the figure shows
an upper bound of the suboptimality, ours as the peers'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks._contenders import PROBLEMS, Contender, for_gap
from benchmarks._curve_runs import Course, Point, suboptimality
from benchmarks._data import GENERATED_SMALL, LSHTC, WORDNET, in_folder
from multimargin.reproduce._document import Axes, Column, Entry, Figure, Line, Row, Table

NAME = "gap"
# A ladder ends at the first run that takes longer, and what takes longer is run once. In full,
# LIBLINEAR on 12,582 classes has its default tolerance within the larger one.
_LONGEST = {True: 10.0, False: 120.0}
_REPEATED = 20.0
_LEVELS = (0.1, 0.01, 1e-3, 1e-4)
# Below this, the rounding of float32 decides: drawn here, since a logarithm has no 0.
_SMALLEST = 1e-8


def measure(course: Course, quick: bool, repeats: int) -> None:
    """Run all contenders, data set by data set and problem by problem."""
    small = LSHTC if in_folder(LSHTC, course.folder) else GENERATED_SMALL
    tasks = [(small, problem) for problem in PROBLEMS]
    if not quick:
        tasks += [(WORDNET, "ww"), (WORDNET, "cs")]
    for dataset, problem in tasks:
        _race(course, dataset, for_gap(problem, quick), repeats, _LONGEST[quick])


def _race(
    course: Course, dataset: str, contenders: Sequence[Contender], repeats: int, longest: float
) -> None:
    """Down the ladders, contenders in turns; every other time the last one begins."""
    first: dict[tuple[str, int], float] = {}
    for turn in range(repeats):
        order = contenders if turn % 2 == 0 else contenders[::-1]
        for rung in range(max(len(contender.ladder) for contender in contenders)):
            for contender in order:
                key = (contender.title, rung)
                if turn == 0:
                    before = [first.get((contender.title, r), math.inf) for r in range(rung)]
                    wanted = rung < len(contender.ladder) and max(before, default=0) <= longest
                else:
                    wanted = first.get(key, math.inf) <= _REPEATED
                run = course.run(contender, dataset, rung, turn) if wanted else None
                if run is not None and turn == 0:
                    first[key] = run.seconds


def rows(course: Course) -> list[dict[str, Any]]:
    """The points of the figures, for CSV and JSON."""
    found = []
    for point in course.points():
        above = _above(course, point)
        found.append(
            {
                "dataset": point.dataset,
                "problem": point.contender.problem,
                "contender": point.contender.title,
                "version": point.runs[0].result["version"],
                "threads": point.contender.ladder[point.rung].threads,
                "rung": point.contender.rung(point.rung),
                "seconds": point.seconds,
                "seconds_lowest": min(run.seconds for run in point.runs),
                "seconds_highest": max(run.seconds for run in point.runs),
                "runs": len(point.runs),
                "primal": point.primal,
                "bound": course.bound(point.dataset, point.contender.problem),
                "suboptimality": above,
            }
        )
    return found


def _above(course: Course, point: Point) -> float | None:
    bound = course.bound(point.dataset, point.contender.problem)
    return None if bound is None else suboptimality(point.primal, bound)


def tables(course: Course) -> list[Table]:
    """Seconds to get within some distances of the optimum: of the fastest run that does."""
    found = []
    for dataset in dict.fromkeys(point.dataset for point in course.points()):
        curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for point in course.points():
            above = _above(course, point)
            if point.dataset == dataset and above is not None:
                key = (point.contender.problem, point.contender.title)
                curves.setdefault(key, []).append((point.seconds, above))
        lines = tuple(
            Row((Entry(title), *map(_level_entry, seconds_to(curve))), PROBLEMS[problem][0])
            for (problem, title), curve in curves.items()
        )
        columns = [Column(f"{level:.4g}") for level in _LEVELS]
        found.append(
            Table(
                f"Gap over time on {dataset}",
                "Seconds of training until the primal objective is at most so far above the "
                "optimum, relatively.",
                (Column(""), *columns, Column("best")),
                tuple(
                    Row((*row.entries, Entry(_best(curve))), row.section)
                    for row, curve in zip(lines, curves.values(), strict=True)
                ),
            )
        )
    return found


def seconds_to(
    curve: Sequence[tuple[float, float]], levels: Sequence[float] = _LEVELS
) -> list[float | None]:
    """The least seconds of the points (seconds, suboptimality) that reach each level."""
    return [min((s for s, above in curve if above <= level), default=None) for level in levels]


def _level_entry(seconds: float | None) -> Entry:
    return Entry("-" if seconds is None else f"{seconds:.2f}")


def _best(curve: Sequence[tuple[float, float]]) -> str:
    seconds, above = min(curve, key=lambda point: (point[1], point[0]))
    return f"{above:.1e} in {seconds:.2f} s"


def figures(course: Course) -> list[Figure]:
    """A figure for each data set and pair of problems."""
    found = []
    for dataset in dict.fromkeys(run.dataset for run in course.runs):
        for name, problems in (("joint", ("ww", "cs")), ("ovr", ("ovr", "ovr-squared"))):
            plots = tuple(
                plot for problem in problems if (plot := _plot(course, dataset, problem)).lines
            )
            if plots:
                shape = next(run.result for run in course.runs if run.dataset == dataset)
                found.append(
                    Figure(
                        f"{NAME}-{dataset}-{name}",
                        f"Gap over time on {dataset}",
                        _caption(dataset, shape),
                        plots,
                    )
                )
    return found


def _plot(course: Course, dataset: str, problem: str) -> Axes:
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in course.points():
        if (point.dataset, point.contender.problem) == (dataset, problem):
            above = _above(course, point)
            if above is not None:
                curve = curves.setdefault(point.contender.title, [])
                curve.append((point.seconds, max(above, _SMALLEST)))
    return Axes(
        f"{PROBLEMS[problem][0]} on {dataset}",
        "seconds of training",
        "objective above the optimum, relative",
        tuple(
            Line(title, title, *(tuple(v) for v in zip(*curve, strict=True)), source="ours")
            for title, curve in curves.items()
        ),
        x_scale="log10",
        y_scale="log10",
    )


def _caption(dataset: str, result: dict[str, Any]) -> str:
    samples, features, classes = result["shape"]
    return (
        f"{dataset}: {samples:,} samples, {features:,} features, {classes:,} classes, "
        f"{result['nonzeros']:,} non-zeros; C = 1, no intercept, one thread unless said. Every "
        "point is a training run of its own to one tolerance, in seconds of training alone "
        "(medians). The objective is computed from the weights, by the same code for all, and "
        "compared with the largest dual objective of all runs, a lower bound of the optimum: "
        "what is drawn is an upper bound."
    )
