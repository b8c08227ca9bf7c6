"""Growth: seconds over the number of classes, of samples and of non-zeros, each varied alone.

The data are generated. Ours train to a duality gap of 1 %, which they prove themselves. LIBLINEAR
stops by a criterion of its own, so it goes down its ladder of tolerances, and its time is that of
the first, loosest one whose objective is within 1 % of the optimum; the attempts before it cost
it nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.common.data import by_sizes
from benchmarks.curves.contenders import Contender, for_growth, reference
from benchmarks.curves.power_law import PowerLaw, fit
from benchmarks.curves.runs import Course, Point
from reproduction.interface._document import Axes, Column, Entry, Figure, Line, Row, Table

NAME = "growth"
TARGET = 0.01
# A gap is relative to the primal, what is above the optimum to the optimum: a run of ours that ends
# with a gap of exactly the target may be this far above its own bound.
_AS_FAR = TARGET / (1 - TARGET)
_REFERENCE_GAP = 1e-3
_REPEATED = 10.0  # seconds: what takes longer is run once

# By the key of a contender and data set.
_Chosen = dict[tuple[tuple[str, str], str], Point]


@dataclass(frozen=True)
class Sizes:
    """The sizes of the middle, and those along each axis, which the middle is one of."""

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
        """Return the sizes that do not vary along an axis, in words."""
        words = {
            "samples": f"{self.samples:,} samples",
            "classes": f"{self.classes:,} classes",
            "non-zeros": f"{self.words} words each",
        }
        words.pop(axis)
        return ", ".join(words.values())


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


@dataclass
class Growth:
    """The curve: what is run, and what it shows of the runs so far."""

    quick: bool
    repeats: int
    name: str = NAME

    @property
    def sizes(self) -> Sizes:
        return QUICK if self.quick else FULL

    def measure(self, course: Course) -> None:
        """Run all contenders on every set."""
        sizes = self.sizes
        names = [sizes.dataset(axis, size) for axis in sizes.axes for size in sizes.axes[axis]]
        for dataset in dict.fromkeys(names):
            _measure_set(course, dataset, self.repeats)

    def rows(self, course: Course) -> list[dict[str, Any]]:
        """The points of the figure, for CSV and JSON; the middle is one of every axis."""
        chosen = _chosen(course)
        found = []
        for axis in self.sizes.axes:
            for contender in for_growth(TARGET):
                points = self._along(axis, contender, chosen)
                law = _law(axis, points)
                for point in points:
                    found.append(_row(course, axis, point) | _law_fields(law))
        return found

    def _along(self, axis: str, contender: Contender, chosen: _Chosen) -> list[Point]:
        datasets = [self.sizes.dataset(axis, size) for size in self.sizes.axes[axis]]
        return [chosen[contender.key, n] for n in datasets if (contender.key, n) in chosen]

    def tables(self, course: Course) -> list[Table]:
        """The exponents of all contenders, then the seconds along each axis."""
        chosen = _chosen(course)
        contenders = for_growth(TARGET)
        lines = []
        for contender in contenders:
            laws = [_law(axis, self._along(axis, contender, chosen)) for axis in self.sizes.axes]
            lines.append(Row((Entry(_label(contender)), *map(_law_entry, laws))))
        return [
            Table(
                "Growth of training time",
                "Fitted exponents with their standard errors: seconds grow as size to this power.",
                (Column(""), *map(Column, self.sizes.axes)),
                tuple(lines),
            ),
            *(self._seconds(axis, chosen) for axis in self.sizes.axes),
        ]

    def _seconds(self, axis: str, chosen: _Chosen) -> Table:
        sizes = self.sizes.axes[axis]
        lines = []
        for contender in for_growth(TARGET):
            points = [chosen.get((contender.key, self.sizes.dataset(axis, n))) for n in sizes]
            lines.append(Row((Entry(_label(contender)), *map(_seconds_entry, points))))
        words = "words per sample" if axis == "non-zeros" else axis
        return Table(
            f"Seconds over {words}",
            f"{self.sizes.fixed(axis)}, {self.sizes.features:,} features. {_STOP}",
            (Column(""), *(Column(f"{size:,}", words) for size in sizes)),
            tuple(lines),
        )

    def figures(self, course: Course) -> list[Figure]:
        """One figure with a plot for each axis."""
        chosen = _chosen(course)
        plots = tuple(self._plot(axis, chosen) for axis in self.sizes.axes)
        if not any(plot.lines for plot in plots):
            return []
        fixed = "; ".join(f"over {axis}: {self.sizes.fixed(axis)}" for axis in self.sizes.axes)
        caption = (
            f"Seconds of training on make_hierarchical_text, one thread, C = 1, medians; {fixed}; "
            f"{self.sizes.features:,} features throughout. {_STOP} The exponents are those of "
            "least squares in the logarithms, with their standard errors."
        )
        return [Figure(NAME, "Growth of training time", caption, plots)]

    def _plot(self, axis: str, chosen: _Chosen) -> Axes:
        lines = []
        laws: dict[bool, list[str]] = {True: [], False: []}
        for contender in for_growth(TARGET):
            points = self._along(axis, contender, chosen)
            if not points:
                continue
            label = _label(contender)
            x, y = zip(*((_size(axis, point), point.seconds) for point in points), strict=True)
            lines.append(Line(label, label, x, y, source="ours"))
            if (law := _law(axis, points)) is not None:
                laws[contender.ours].append(f"{label.split(' ', 1)[1]} {law}")
        # Below the axis, in two lines: the legend is that of all plots, the exponents are not.
        exponents = [
            f"{name}: {', '.join(laws[ours])}"
            for name, ours in (("exponents", True), ("LIBLINEAR", False))
            if laws[ours]
        ]
        sizes = self.sizes
        each = sizes.samples if axis == "non-zeros" else 1
        return Axes(
            f"{sizes.fixed(axis)}, {sizes.features:,} features",
            "\n".join([axis, *exponents]),
            "seconds of training",
            tuple(lines),
            "log10",
            "log10",
            tuple(float(each * size) for size in sizes.axes[axis]),
        )


_STOP = (
    "multimargin trains to a duality gap of 1 %; of LIBLINEAR the loosest tolerance of "
    "1, 0.3, 0.1 (its default), 0.03, ... that ends within 1 % of the optimum is taken."
)


def _measure_set(course: Course, dataset: str, repeats: int) -> None:
    contenders = for_growth(TARGET)
    for problem in dict.fromkeys(c.problem for c in contenders if not c.ours):
        course.run(reference(problem, _REFERENCE_GAP), dataset, 0, 0)
    for turn in range(repeats):
        for contender in contenders if turn % 2 == 0 else contenders[::-1]:
            if turn == 0:
                _descend(course, contender, dataset)
                continue
            first = reached(course, contender, dataset)
            if first is not None and first.seconds <= _REPEATED:
                course.run(contender, dataset, first.rung, turn)


def _descend(course: Course, contender: Contender, dataset: str) -> None:
    """Down the ladder until the objective is within the target."""
    for rung in range(len(contender.ladder)):
        ended = course.run(contender, dataset, rung, 0) is None
        if ended or reached(course, contender, dataset) is not None:
            return


def reached(course: Course, contender: Contender, dataset: str) -> Point | None:
    """The loosest rung that ended within the target; None if none did."""
    for point in course.points():
        if (point.dataset, point.contender.key) == (dataset, contender.key):
            above = course.above(point)
            if above is not None and above <= _AS_FAR:
                return point
    return None


def _chosen(course: Course) -> _Chosen:
    """The points that count."""
    found: _Chosen = {}
    for contender in for_growth(TARGET):
        for dataset in dict.fromkeys(run.dataset for run in course.runs):
            point = reached(course, contender, dataset)
            if point is not None:
                found[contender.key, dataset] = point
    return found


def _size(axis: str, point: Point) -> float:
    result = point.runs[0].result
    samples, _, classes = result["shape"]
    sizes = {"samples": samples, "classes": classes, "non-zeros": result["nonzeros"]}
    return float(sizes[axis])


def _law(axis: str, points: list[Point]) -> PowerLaw | None:
    return fit([_size(axis, p) for p in points], [p.seconds for p in points])


def _law_fields(law: PowerLaw | None) -> dict[str, float | None]:
    if law is None:
        return {"exponent": None, "exponent_error": None}
    return {"exponent": law.exponent, "exponent_error": law.error}


def _law_entry(law: PowerLaw | None) -> Entry:
    return Entry("-" if law is None else str(law))


def _seconds_entry(point: Point | None) -> Entry:
    if point is None:
        return Entry("-")
    rung = "" if point.contender.ours else f" ({point.contender.rung(point.rung)})"
    return Entry(f"{point.seconds:.3f}{rung}")


def _label(contender: Contender) -> str:
    return f"{contender.title} {contender.problem}" if contender.ours else contender.title


def _row(course: Course, axis: str, point: Point) -> dict[str, Any]:
    about = {"axis": axis, "size": _size(axis, point), **point.as_dict()}
    return about | {"suboptimality": course.above(point)}
