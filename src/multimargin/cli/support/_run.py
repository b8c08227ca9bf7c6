"""One run of a command line, from its words to the exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from multimargin.cli.support._messages import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PIPE,
    describe_error,
    note,
    show_warning,
)
from multimargin.io._interrupts import ended_by_interrupts
from multimargin.io._text_table import shown
from multimargin.parallel._launch import end_all, silence, wait_for_rank_0
from multimargin.parallel._launcher import launched_rank

if TYPE_CHECKING:
    from multimargin.parallel._communicator import Communicator


def run_command_line(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Parse the words, run what they ask for, and return the exit status.

    The parser sets `args.run`, a callable that takes the arguments and returns a status; it also
    finds the whole command line, `args.command_line`. Ranks do it together if the parser sets
    `args.together`; otherwise rank 0 does it alone. `argv` None takes the words of the process.
    Errors are one line on stderr.
    """
    rank = launched_rank()
    with silence(rank):
        try:
            args = parser.parse_args(argv)
        except SystemExit as stop:  # --help, --version and wrong usage
            status = stop.code if isinstance(stop.code, int) else EXIT_ERROR
            if status:
                wait_for_rank_0(rank)  # the first rank to fail ends all
            return status
        words = sys.argv[1:] if argv is None else argv
        # Bytes that are no text in this locale come as surrogates, which no file can hold.
        line = f"{parser.prog} {shlex.join(words)}"
        args.command_line = line.encode(errors="surrogateescape").decode(errors="replace")
        together = getattr(args, "together", False)
        return _run(args, together) if together or rank == 0 else EXIT_OK


def _run(args: argparse.Namespace, together: bool) -> int:
    """Do the work; on several ranks, a failure of one ends all of them."""
    comm: Communicator | None = None
    try:
        if together:
            with ended_by_interrupts():
                from multimargin.parallel._mpi import world
            comm = world()
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            status = int(args.run(args))
            # Here, not at the exit of the interpreter, where errors could only be ignored.
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        status, message = EXIT_INTERRUPTED, "interrupted"
    except BrokenPipeError:
        status, message = EXIT_PIPE, ""
    except (ValueError, OSError, MemoryError, RuntimeError, ImportError) as error:
        status, message = EXIT_ERROR, f"error: {describe_error(error)}"
    if comm is not None and comm.size > 1:
        end_all(comm, shown(message or "the reader of a pipe went away"), status)
    if message:
        note(message)
    _forget_stdout()
    wait_for_rank_0(launched_rank())  # where there are ranks, but no MPI to end them
    return status


def _forget_stdout() -> None:
    """Drop what could not be written, or the interpreter complains about it at its exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as null:  # noqa: PTH123
            os.dup2(null.fileno(), sys.stdout.fileno())
