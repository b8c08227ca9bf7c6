"""Gap over time: how far above the optimum each trainer is after so many seconds of training.

Every point is a run of its own, from the start to one tolerance of a ladder. The objective is
computed from the weights, by the same code for all, and compared with the largest dual objective
that ours and LIBLINEAR's runs on the same problem ended with, which is below the optimum: what is
shown is an upper bound of the suboptimality, for ours as for the peers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.data import GENERATED_SMALL, LSHTC, WORDNET, in_folder
from benchmarks.curves.contenders import PROBLEMS, Contender, for_gap
from benchmarks.curves.runs import Course
from reproduction.interface._document import Axes, Column, Entry, Figure, Line, Row, Table

NAME = "gap"
# Seconds: a ladder ends at the first run that takes longer. LIBLINEAR's default tolerance takes
# about four minutes with 12,582 classes, and comes after a looser one.
_LONGEST, _QUICK_LONGEST, _WORDNET_LONGEST = 60.0, 10.0, 200.0
_REPEATED = 4.0  # what takes longer is run once
_LEVELS = (0.1, 0.01, 1e-3, 1e-4)
# Where rounding of float32 decides; drawn here, since a logarithm has no 0.
_SMALLEST = 1e-8

# Seconds and suboptimality of the points of a contender, down its ladder.
Curve = list[tuple[float, float]]


@dataclass
class GapCurve:
    """The curve: what is run, and what it shows of the runs so far."""

    quick: bool
    repeats: int
    name: str = NAME

    def measure(self, course: Course) -> None:
        """Run all contenders, data set by data set and problem by problem."""
        small = LSHTC if in_folder(LSHTC, course.folder) else GENERATED_SMALL
        longest = _QUICK_LONGEST if self.quick else _LONGEST
        for problem in PROBLEMS:
            contenders = for_gap(problem, quick=self.quick, coarse=self.quick)
            _race(course, small, contenders, self.repeats, longest)
        if not self.quick:
            for problem in ("ww", "cs"):
                contenders = for_gap(problem, quick=False, coarse=True)
                _race(course, WORDNET, contenders, self.repeats, _WORDNET_LONGEST)

    def rows(self, course: Course) -> list[dict[str, Any]]:
        """The points, for CSV and JSON."""
        return [
            point.as_dict()
            | {
                "bound": course.bound(point.dataset, point.contender.problem),
                "suboptimality": course.above(point),
            }
            for point in course.points()
        ]

    def tables(self, course: Course) -> list[Table]:
        """Seconds to get within some distances of the optimum: of the fastest run that does."""
        levels = [Column(f"{level:.4g}") for level in _LEVELS]
        return [
            Table(
                f"Gap over time on {dataset}",
                "Seconds of training until the primal objective is at most so far above the "
                "optimum, relatively; and the least of all.",
                (Column(""), *levels, Column("least")),
                tuple(
                    Row((Entry(contender.title), *_entries(curve)), PROBLEMS[problem])
                    for problem in PROBLEMS
                    for contender, curve in _curves(course, dataset, problem)
                ),
            )
            for dataset in _datasets(course)
        ]

    def figures(self, course: Course) -> list[Figure]:
        """For each data set, the two joint problems and the two of one-vs-rest side by side."""
        found = []
        for dataset in _datasets(course):
            for name, problems in (("joint", ("ww", "cs")), ("ovr", ("ovr", "ovr-squared"))):
                plots = tuple(_plot(course, dataset, problem) for problem in problems)
                if any(plot.lines for plot in plots):
                    found.append(
                        Figure(
                            f"{NAME}-{dataset}-{name}",
                            f"Gap over time on {dataset}",
                            _caption(course, dataset),
                            tuple(plot for plot in plots if plot.lines),
                        )
                    )
        return found


def _race(
    course: Course, dataset: str, contenders: Sequence[Contender], repeats: int, longest: float
) -> None:
    """Down the ladders, contenders in turns; every other time the last one begins."""
    first: dict[tuple[str, int], float] = {}
    for turn in range(repeats):
        for rung in range(max(len(contender.ladder) for contender in contenders)):
            for contender in contenders if turn % 2 == 0 else contenders[::-1]:
                times = [first.get((contender.title, r), math.inf) for r in range(rung + 1)]
                if turn == 0:
                    wanted = rung < len(contender.ladder) and goes_on(times[:-1], longest)
                else:
                    wanted = times[-1] <= _REPEATED
                run = course.run(contender, dataset, rung, turn) if wanted else None
                if run is not None and turn == 0:
                    first[contender.title, rung] = run.seconds


def goes_on(times: Sequence[float], longest: float) -> bool:
    """Whether a ladder goes on after runs of so many seconds; one without a result has inf."""
    return all(seconds <= longest for seconds in times)


def _datasets(course: Course) -> list[str]:
    return list(dict.fromkeys(run.dataset for run in course.runs))


def _curves(course: Course, dataset: str, problem: str) -> list[tuple[Contender, Curve]]:
    found: dict[str, tuple[Contender, Curve]] = {}
    for point in course.points():
        above = course.above(point)
        if (point.dataset, point.contender.problem) == (dataset, problem) and above is not None:
            _, curve = found.setdefault(point.contender.title, (point.contender, []))
            curve.append((point.seconds, above))
    return list(found.values())


def seconds_to(curve: Curve, levels: Sequence[float]) -> list[float | None]:
    """The least seconds of the points that are no farther from the optimum, for each level."""
    return [min((s for s, above in curve if above <= level), default=None) for level in levels]


def _entries(curve: Curve) -> list[Entry]:
    words = ["-" if s is None else f"{s:.2f}" for s in seconds_to(curve, _LEVELS)]
    seconds, above = min(curve, key=lambda point: point[::-1])
    return [Entry(word) for word in (*words, f"{above:.1e} in {seconds:.2f} s")]


def _plot(course: Course, dataset: str, problem: str) -> Axes:
    lines = []
    for contender, curve in _curves(course, dataset, problem):
        x = tuple(seconds for seconds, _ in curve)
        y = tuple(max(above, _SMALLEST) for _, above in curve)
        # The same colour for the same trainer in both plots of a figure.
        lines.append(Line(contender.trainer, contender.trainer, x, y, source="ours"))
    return Axes(
        PROBLEMS[problem],
        "seconds of training",
        "above the optimum, relative",
        tuple(lines),
        x_scale="log10",
        y_scale="log10",
    )


def _caption(course: Course, dataset: str) -> str:
    result = next(run.result for run in course.runs if run.dataset == dataset)
    samples, features, classes = result["shape"]
    return (
        f"{dataset}: {samples:,} samples, {features:,} features, {classes:,} classes, "
        f"{result['nonzeros']:,} non-zeros; C = 1, no intercept, one thread unless said. Every "
        "point is a training run of its own to one tolerance, in seconds of training alone "
        "(medians). The primal objective is computed from the weights, by the same code for all, "
        "and compared with the largest dual objective of these runs, a lower bound of the "
        "optimum: what is drawn is an upper bound. LIBLINEAR is -s 4 for Crammer-Singer, -s 3 "
        "for one-vs-rest with the hinge and -s 1 with its square."
    )
