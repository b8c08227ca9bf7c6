"""The ``multimargin`` command."""

from __future__ import annotations

from collections.abc import Sequence

from multimargin import __version__
from multimargin.cli.support._arguments import Parser, add_commands
from multimargin.cli.support._run import run_command_line
from multimargin.cli.usage._calibrate import calibrate
from multimargin.cli.usage._data import data
from multimargin.cli.usage._demo import demo
from multimargin.cli.usage._evaluate import evaluate
from multimargin.cli.usage._explain import explain
from multimargin.cli.usage._export import export
from multimargin.cli.usage._info import info
from multimargin.cli.usage._predict import predict
from multimargin.cli.usage._prune import prune
from multimargin.cli.usage._report import report
from multimargin.cli.usage._serve import serve
from multimargin.cli.usage._train import train
from multimargin.cli.usage._tune import tune

__all__ = ["main"]

COMMANDS = (
    train,
    tune,
    predict,
    evaluate,
    report,
    explain,
    calibrate,
    info,
    prune,
    export,
    data,
    serve,
    demo,
)
_EPILOG = """\
examples:
  multimargin train products.csv model --text title --label category
  multimargin predict model new.csv -o labels.csv

DATA is LIBSVM / SVMlight text; or, with --text COLUMN --label COLUMN, a table:
CSV, TSV or JSON lines, all plain or compressed (gzip, bzip2, xz), or Parquet.
exit status: 0 done; 1 error; 2 wrong usage; 3 trained and saved, but the
tolerance was not reached; 130 interrupted; 141 the reader of a pipe went away.
"""


def build_parser() -> Parser:
    parser = Parser(
        prog="multimargin",
        description="Exact multi-class support vector machines for thousands of classes.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"multimargin {__version__}")
    add_commands(parser, COMMANDS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments after the name of the command; None takes the words of the process.

    Returns
    -------
    status : int
        0 done; 1 error; 2 wrong usage; 3 trained but the tolerance was not reached;
        130 interrupted; 141 the reader of a pipe went away.
    """
    return run_command_line(build_parser(), argv)
