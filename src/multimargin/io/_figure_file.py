"""Figures of matplotlib: axes, and files."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from multimargin.io._atomic import atomic_write, check_writable

_TYPES = ("png", "svg", "pdf")


def require_matplotlib() -> None:
    """Raise ImportError, with the remedy, without matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"plots need matplotlib, which cannot be imported ({error}): "
            'pip install "multimargin[plot]"'
        ) from error


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    if ax is not None:
        return ax
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def new_figure(width: float, height: float) -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure

    # Not by pyplot, which would keep the figure and might look for a display.
    return Figure(figsize=(width, height), layout="constrained")


def check_figure(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written, before any work is done."""
    _type_of(path)
    require_matplotlib()
    check_writable(path)


def write_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, format=_type_of(path), dpi=150)
    with atomic_write(path) as file:
        file.write(drawn.getvalue())


def _type_of(path: str | os.PathLike[str]) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _TYPES:
        allowed = ", ".join(f".{one}" for one in _TYPES)
        raise ValueError(f"{os.fspath(path)}: the name of a figure must end in one of {allowed}")
    return kind
