"""The ``multimargin`` command."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import warnings
from collections.abc import Sequence

from multimargin import __version__
from multimargin.cli import (
    _data,
    _demo,
    _evaluate,
    _explain,
    _export,
    _info,
    _predict,
    _prune,
    _report,
    _serve,
    _train,
    _tune,
)
from multimargin.cli.support._common import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PIPE,
    describe_error,
    note,
    show_warning,
)
from multimargin.io._text_table import shown
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.parallel._launch import end_all, silence, wait_for_rank_0
from multimargin.parallel._mpi import launched_rank, world

__all__ = ["main"]

# What ranks do together. Of the others, each would do the same: rank 0 does it alone.
_ON_ALL_RANKS = (_train.run, _predict.run, _evaluate.run)

_EPILOG = """\
DATA is LIBSVM / SVMlight text; or, with --text COLUMN --label COLUMN, a table:
CSV, TSV or JSON lines, all plain or compressed (gzip, bzip2, xz), or Parquet.
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
    for module in (
        _train,
        _tune,
        _predict,
        _evaluate,
        _report,
        _explain,
        _info,
        _prune,
        _export,
        _data,
        _serve,
        _demo,
    ):
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
    rank = launched_rank()
    with silence(rank):
        try:
            args = build_parser().parse_args(argv)
        except SystemExit as stop:  # --help, --version and wrong usage
            status = stop.code if isinstance(stop.code, int) else EXIT_ERROR
            if status:
                wait_for_rank_0(rank)  # the first rank to fail ends all
            return status
        words = sys.argv[1:] if argv is None else argv
        # Bytes that are no text in this locale come as surrogates, which no file can hold.
        line = shlex.join(["multimargin", *words])
        args.command_line = line.encode(errors="surrogateescape").decode(errors="replace")
        if rank and args.run not in _ON_ALL_RANKS:
            return EXIT_OK
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    """Run a subcommand; on several ranks, a failure of one ends all of them."""
    comm: Communicator = SerialCommunicator()
    try:
        if args.run in _ON_ALL_RANKS:
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
    if comm.size > 1:
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
