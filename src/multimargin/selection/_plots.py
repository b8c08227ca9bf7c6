"""Curves over C, drawn by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multimargin.io._figure_file import axes_or_new, new_figure, write_figure

# As in the figures of `python -m reproduction`: told apart with any kind of colour vision.
_COLOURS = ("#0072b2", "#d55e00", "#00875f", "#a8518a", "#b37400")
_SIZE = (6.4, 4.2)
_FEW_VALUES = 6  # which may all be seen
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Curve:
    """Values over C, with a band around them where `spread` is known, and one point marked."""

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
    _fit_axis(ax, curves)
    if len(curves) > 1:
        ax.legend()
    return ax


def _fit_axis(ax: Any, curves: Sequence[Curve]) -> None:
    """Let the axis of values fit those near the marked one, if others are far off.

    Near is within four standard errors, or twice as far off as the nearest third.
    """
    marked = [(each, each.marked) for each in curves if each.marked is not None]
    if not marked or sum(len(each.values) for each in curves) < _FEW_VALUES:
        return
    curve, at = marked[0]
    best = curve.values[at]
    spread = 0.0 if curve.spread is None else curve.spread[at]
    away = np.concatenate([np.asarray(each.values) for each in curves]) - best
    reach = max(4 * spread, 2 * float(np.quantile(np.abs(away), 1 / 3)))
    if reach > 0 and np.abs(away).max() > 1.5 * reach:
        side = 1 if away.sum() > 0 else -1
        ends = best - side * max(reach / 4, 2 * spread), best + side * reach
        ax.set_ylim(min(ends), max(ends))
        ax.set_title("Values further off are not shown", loc="right", fontsize="small")


def write_plot(path: str | os.PathLike[str], curves: Sequence[Curve], label: str) -> None:
    figure = new_figure(*_SIZE)
    draw(curves, label, ax=figure.subplots())
    write_figure(figure, path)
