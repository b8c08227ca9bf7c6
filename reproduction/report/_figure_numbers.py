"""The numbers behind a figure, for those who cannot see it or want to calculate."""

from __future__ import annotations

import math

from reproduction.interface._document import Axes, Column, Entry, Figure, Line, Row, Table


def points(line: Line) -> list[tuple[float, float, float, float]]:
    """Return x, y, lowest and highest of every known point; without a spread both are y."""
    low, high = line.low or line.y, line.high or line.y
    every = zip(line.x, line.y, low, high, strict=True)
    return [point for point in every if math.isfinite(point[0]) and math.isfinite(point[1])]


def label(line: Line) -> str:
    """Return the name of a curve, which tells the paper's from ours."""
    if line.source == "paper" and "paper" not in line.label.lower():
        return f"{line.label} (paper)"
    return line.label


def numbers(figure: Figure, axes: Axes) -> Table:
    """Return a plot as a table: a row for each x, a column for each curve."""
    by_x = [{point[0]: point for point in points(line)} for line in axes.lines]
    positions = sorted(set().union(*by_x)) if by_x else []
    rows = (Row((Entry(f"{x:g}"), *(_entry(curve.get(x)) for curve in by_x))) for x in positions)
    of = f"{figure.title}: {axes.title}" if len(figure.plots) > 1 and axes.title else figure.title
    return Table(
        title=f"{of} (numbers)",
        caption=f"{axes.y_label} for each {axes.x_label}",
        columns=(Column(axes.x_label), *(Column(label(line), axes.y_label) for line in axes.lines)),
        rows=tuple(rows),
    )


def _entry(point: tuple[float, float, float, float] | None) -> Entry:
    if point is None:
        return Entry("")
    _, y, low, high = point
    spread = f" ({_number(low)} to {_number(high)})" if low < high else ""
    return Entry(f"{_number(y)}{spread}")


def _number(value: float) -> str:
    """Write four digits, but no powers of ten where people count seconds."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
