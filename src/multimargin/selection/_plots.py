"""Curves over C, drawn by matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multimargin._atomic import atomic_write, check_writable

FILE_TYPES = ("png", "svg", "pdf")
# As in the figures of `multimargin reproduce`: told apart with any kind of colour vision.
_COLOURS = ("#0072b2", "#d55e00", "#00875f", "#a8518a", "#b37400")
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Curve:
    """Values over C, with a band around them where `spread` is given, and one point marked."""

    title: str
    Cs: Sequence[float]
    values: Sequence[float]
    spread: Sequence[float] | None = None
    marked: int | None = None


def require_matplotlib() -> None:
    """Raise ImportError, with the remedy, where nothing can be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"plots need matplotlib, which cannot be imported ({error}): "
            "pip install 'multimargin[plot]'"
        ) from error


def draw(curves: Sequence[Curve], label: str, ax: Any = None) -> Any:
    """Draw curves over a logarithmic axis of C; returns the matplotlib Axes."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
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


def check_plot_file(path: str | os.PathLike[str]) -> None:
    """Raise what writing a plot there would raise, before anything is computed."""
    _type_of(path)
    require_matplotlib()
    check_writable(path)


def write_plot(
    path: str | os.PathLike[str], curves: Sequence[Curve], label: str, title: str = ""
) -> None:
    """Draw curves into a file; its name says of which type."""
    kind = _type_of(path)
    require_matplotlib()
    from matplotlib.figure import Figure

    # Not pyplot's: that would keep the figure, and might look for a display.
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = draw(curves, label, ax=figure.subplots())
    ax.set_title(title)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=160)
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


def _type_of(path: str | os.PathLike[str]) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FILE_TYPES:
        allowed = ", ".join(f".{one}" for one in FILE_TYPES)
        raise ValueError(f"{os.fspath(path)}: the name of a plot must end in one of {allowed}")
    return kind
