"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from multimargin._atomic import atomic_write, check_writable


def check_figure(path: str) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise ValueError(
            f"{path} cannot be drawn: matplotlib cannot be imported ({error}); "
            'pip install "multimargin[plot]"'
        ) from error
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    if _kind(path) not in known:
        raise ValueError(
            f"{path}: the name of a figure must end in one of {', '.join(known)}, such as .png"
        )
    check_writable(path)


def new_figure(width: float, height: float) -> Any:
    """An empty figure, which needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Any, path: str) -> None:
    """Write a figure, atomically, in the format that the name ends in."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=_kind(path), dpi=150)
    with atomic_write(path) as file:
        file.write(drawn.getvalue())


def _kind(path: str) -> str:
    return Path(path).suffix.lstrip(".").lower()
