"""The ``multimargin`` command."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence

from multimargin import __version__
from multimargin.cli import _demo, _evaluate, _info, _predict, _train
from multimargin.cli._common import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_PIPE,
    describe_error,
    note,
    show_warning,
)

__all__ = ["main"]

_EPILOG = """\
DATA is LIBSVM / SVMlight text, plain or compressed (gzip, bzip2, xz).
exit status: 0 done; 1 error; 2 wrong usage; 3 trained and saved, but the
tolerance was not reached; 130 interrupted; 141 the reader of a pipe went away.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command with all its subcommands."""
    parser = argparse.ArgumentParser(
        prog="multimargin",
        description="Exact multi-class support vector machines for thousands of classes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"multimargin {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (_train, _predict, _evaluate, _info, _demo):
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments after the name of the command; by default those of the process.

    Returns
    -------
    status : int
        0 done; 1 error; 2 wrong usage; 3 trained but the tolerance was not reached;
        130 interrupted; 141 the reader of a pipe went away.
    """
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # --help, --version and wrong usage
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            status = int(args.run(args))
            # Here, not at the exit of the interpreter, where errors could only be ignored.
            sys.stdout.flush()
    except KeyboardInterrupt:
        note("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return EXIT_PIPE
    except (ValueError, OSError, MemoryError, RuntimeError) as error:
        note(f"error: {describe_error(error)}")
        _forget_stdout()
        return EXIT_ERROR
    return status


def _forget_stdout() -> None:
    """Drop what could not be written, or the interpreter complains about it at its exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as null:  # noqa: PTH123
            os.dup2(null.fileno(), sys.stdout.fileno())
