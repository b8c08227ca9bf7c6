"""What becomes of a model whose training Ctrl-C ended."""

from __future__ import annotations

import os
import sys
from typing import Any

from multimargin.cli.support._messages import note
from multimargin.io._text_table import shown

_ENDS = b"\nmultimargin: ending with the model so far; Ctrl-C again ends at once\n"


def say_that_it_ends() -> None:
    os.write(2, _ENDS)  # in a handler of signals: stderr may be in the middle of a line


def can_ask() -> bool:
    """Return whether there is somebody at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def is_kept(path: str, model: Any, tol: float, asks: bool) -> bool:
    """Tell how good the model is, and return whether to save it, which `asks` leaves to people."""
    gap = f"duality gap {model.dual_gap_:.3g}, {tol:g} was asked for"
    if model.model_density_ == 0:
        note("note: there is no model yet that is better than all weights zero")
        return False
    if not asks:
        note(f"interrupted: saving the model so far as {path} ({gap})")
        return True
    question = f"multimargin: interrupted. Save the model so far as {path} ({gap})? [y/N] "
    print(shown(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
