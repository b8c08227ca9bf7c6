"""Growth: seconds over the number of classes, of samples and of non-zeros, each varied alone.

The data are generated. Ours train to a duality gap of 1 %, which they prove themselves. LIBLINEAR
stops by a criterion of its own, so it goes down a ladder of tolerances, and its time is that of
the first, loosest one whose objective is within 1 % of the optimum; the runs before it are free
of charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import _power_law
from benchmarks._contenders import LIBLINEAR_GROWTH_LADDER, OURS, Contender, by_tolerance, for_growth
from benchmarks._curve_runs import Course, Point, suboptimality
from benchmarks._data import by_sizes
from benchmarks._power_law import PowerLaw
from multimargin.reproduce._document import Axes, Column, Entry, Figure, Line, Row, Table

NAME = "growth"
TARGET = 0.01
_REFERENCE = "reference"
_REFERENCE_TOL = 1e-3
_AXES = ("classes", "samples", "non-zeros")


@dataclass(frozen=True)
class Sizes:
    """The sizes of the middle, and those of each axis, which the middle is one of."""

    samples: int
    features: int
    classes: int
    words: int
    axes: dict[str, tuple[int, ...]]

    def dataset(self, axis: str, size: int) -> str:
        """The name of the set that differs from the middle in one size."""
        sizes = {"samples": self.samples, "classes": self.classes, "non-zeros": self.words}
        sizes[axis] = size
        return by_sizes(sizes["samples"], self.features, sizes["classes"], sizes["non-zeros"])

    def fixed(self, axis: str) -> str:
        """What does not vary along an axis, in words."""
        words = {
            "samples": f"{self.samples:,} samples",
            "classes": f"{self.classes:,} classes",
            "non-zeros": f"{self.words} words per sample",
        }
        words.pop(axis)
        return ", ".join(words.values())


# The middle of quick is that of full, divided: a process takes longer to start than to train.
QUICK = Sizes(
    2_000,
    10_000,
    200,
    40,
    {"classes": (50, 200, 800), "samples": (500, 2_000, 8_000), "non-zeros": (10, 40, 160)},
)
FULL = Sizes(
    4_000,
    20_000,
    500,
    40,
    {
        "classes": (125, 250, 500, 1_000, 2_000),
        "samples": (1_000, 2_000, 4_000, 8_000, 16_000),
        "non-zeros": (10, 20, 40, 80, 160),
    },
)


def measure(course: Course, quick: bool, repeats: int) -> None:
    """Run all contenders on every set, in turns."""
    sizes = QUICK if quick else FULL
    names = [sizes.dataset(axis, size) for axis in _AXES for size in sizes.axes[axis]]
    for dataset in dict.fromkeys(names):
        _measure_set(course, dataset, repeats)


def _measure_set(course: Course, dataset: str, repeats: int) -> None:
    contenders = for_growth()
    for problem in dict.fromkeys(c.problem for c in contenders if not c.ours):
        reference = by_tolerance(_REFERENCE, OURS, problem, (_REFERENCE_TOL,))
        course.run(reference, dataset, 0, 0)
    for turn in range(repeats):
        for contender in contenders if turn % 2 == 0 else contenders[::-1]:
            if turn == 0:
                _descend(course, contender, dataset)
            elif (rung := reached(course, contender, dataset)) is not None:
                course.run(contender, dataset, rung, turn)


def _descend(course: Course, contender: Contender, dataset: str) -> None:
    """Down the ladder until the objective is within the target."""
    for rung in range(len(contender.ladder)):
        ended = course.run(contender, dataset, rung, 0) is None
        if ended or reached(course, contender, dataset) is not None:
            return


def reached(course: Course, contender: Contender, dataset: str) -> int | None:
    """The loosest rung that ended within the target; None if none did."""
    bound = course.bound(dataset, contender.problem)
    if bound is None:
        return None
    return min(
        (
            run.rung
            for run in course.runs
            if (run.dataset, run.contender) == (dataset, contender)
            and run.turn == 0
            and suboptimality(run.primal, bound) <= TARGET
        ),
        default=None,
    )


def _chosen(course: Course) -> dict[tuple[str, str], Point]:
    """The points that count, by contender and data set."""
    return {
        (point.contender.title, point.dataset): point
        for point in course.points()
        if point.contender.title != _REFERENCE
        and point.rung == reached(course, point.contender, point.dataset)
    }
