"""Command lines of the benchmarks: shared options, the machine line, output and end."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.common.machine import machine
from multimargin.cli.support._arguments import positive_float, seed
from multimargin.cli.support._arguments import positive_int as positive
from multimargin.io._atomic import atomic_write, check_writable

__all__ = [
    "add_data",
    "add_json",
    "folder",
    "positive",
    "positive_float",
    "print_columns",
    "print_machine",
    "run_command",
    "seed",
    "writable",
    "write_json",
]


def folder(text: str) -> Path:
    """An existing folder, for argparse."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return path


def writable(text: str) -> Path:
    """A file that can be written, for argparse: better known before the runs than after."""
    try:
        check_writable(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"cannot write {text!r}: {error.strerror or error}"
        ) from error
    return Path(text)


def add_data(
    parser: argparse.ArgumentParser, default: str = "$MULTIMARGIN_DATA, else ../shared/data"
) -> None:
    """Add ``--data``."""
    parser.add_argument(
        "--data", type=folder, metavar="DIR", help=f"folder of the data sets (default: {default})"
    )


def add_json(parser: argparse.ArgumentParser, content: str = "every run") -> None:
    """Add ``--json``."""
    parser.add_argument("--json", type=writable, metavar="FILE", help=f"write {content} there too")


def run_command(main: Callable[[], int | None], interrupted: str = "interrupted") -> NoReturn:
    """Run a command and exit with its status.

    SIGTERM is taken for Ctrl-C: measured processes are sessions of their own, and end with this.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(interrupted)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write all numbers, wholly or not at all."""
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=1).encode())


def print_machine() -> dict[str, str]:
    """Print where the numbers come from, and return it."""
    about = machine()
    for name, value in about.items():
        print(f"{name:28}{value}")
    print(flush=True)
    return about


def print_columns(lines: list[tuple[str, ...]], right: frozenset[int] = frozenset()) -> None:
    """Print a table: the first line is its head; the columns in `right` are flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
