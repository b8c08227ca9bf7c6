"""Curves over C, drawn by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multimargin.io._figure_file import axes_or_new, new_figure, write_figure

# As in the figures of `python -m reproduction`: told apart with any kind of colour vision.
_COLOURS = ("#0072b2", "#d55e00", "#00875f", "#a8518a", "#b37400")
_SIZE = (6.4, 4.2)
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Curve:
    """Values over C, with a band around them where `spread` is given, and one point marked."""

    title: str
    Cs: Sequence[float]
    values: Sequence[float]
    spread: Sequence[float] | None = None
    marked: int | None = None


def draw(curves: Sequence[Curve], label: str, ax: Any = None) -> Any:
    """Draw curves over a logarithmic axis of C; returns the matplotlib Axes."""
    ax = axes_or_new(ax, *_SIZE)
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        marker = _MARKERS[number % len(_MARKERS)]
        ax.plot(curve.Cs, curve.values, color=colour, marker=marker, ms=4, label=curve.title)
        if curve.spread is not None:
            pairs = list(zip(curve.values, curve.spread, strict=True))
            low, high = [v - s for v, s in pairs], [v + s for v, s in pairs]
            ax.fill_between(curve.Cs, low, high, color=colour, alpha=0.15, linewidth=0)
        if curve.marked is not None:
            at = curve.marked
            ax.plot(curve.Cs[at], curve.values[at], color=colour, marker="*", ms=14, zorder=5)
    ax.set_xscale("log")
    ax.set_xlabel("C")
    ax.set_ylabel(label)
    ax.grid(True, alpha=0.3)
    if len(curves) > 1:
        ax.legend()
    return ax


def write_plot(path: str | os.PathLike[str], curves: Sequence[Curve], label: str) -> None:
    """Draw curves into a file; its name says of which type."""
    figure = new_figure(*_SIZE)
    draw(curves, label, ax=figure.subplots())
    write_figure(figure, path)
