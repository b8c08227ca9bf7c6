"""The ``multimargin`` command."""

from __future__ import annotations

import argparse
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
from multimargin.cli.support._run import run_command_line

__all__ = ["main"]

_COMMANDS = (
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
)
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
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments after the name of the command; None takes those of the process.

    Returns
    -------
    status : int
        0 done; 1 error; 2 wrong usage; 3 trained but the tolerance was not reached;
        130 interrupted; 141 the reader of a pipe went away.
    """
    together = (_train.run, _predict.run, _evaluate.run)
    return run_command_line(build_parser(), argv, on_all_ranks=together)
