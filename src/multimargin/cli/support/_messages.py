"""Messages to people, results to stdout, and the exit statuses of the commands."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from multimargin.io._text_table import shown

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_NOT_CONVERGED = 3
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
EXIT_PIPE = 141  # 128 + SIGPIPE


def exit_status(model: Any) -> int:
    """Return the exit status after a training, by whether the model is within its tolerance."""
    return EXIT_OK if model.converged_ else EXIT_NOT_CONVERGED


def note(message: str) -> None:
    """Print one line about the run to stderr; stdout is for results."""
    print(f"multimargin: {shown(message)}", file=sys.stderr, flush=True)


def describe_error(error: BaseException) -> str:
    """Return one line without the name of the Python class."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return " ".join(str(error).split()) or type(error).__name__


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a Python warning as one line; takes the arguments of `warnings.showwarning`."""
    note(f"warning: {' '.join(str(message).split())}")


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object to stdout; numbers that JSON lacks become null."""
    print(json.dumps(_finite(result)))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if hasattr(value, "item"):  # a number of NumPy, which messages do without
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(rows: dict[str, str]) -> None:
    width = max(len(name) for name in rows)
    for name, value in rows.items():
        print(f"{name:<{width}}  {shown(value)}")
