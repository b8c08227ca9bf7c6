"""``multimargin predict``: the labels of a data file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.cli.support._predictions import predicted_lines
from multimargin.io._atomic import atomic_write, check_writable
from multimargin.io._text_table import shown
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._mpi import world
from multimargin.tables._read import table_format
from multimargin.tables._write import WRITABLE

_COMMAND = f"""
predict: predict labels

Write the predicted label of each sample of DATA: one on each line; or, if the name of OUT ends in
.csv, .tsv or .jsonl, a table with the columns label and score. The labels in DATA are not used.
LIBSVM text wants one: write 0.

{arguments.MODEL_AND_DATA}
-o --output OUT  the file to write; - is stdout
--top-k K        write the K best labels with their scores, 'label:score label:score ...' (with
                 tabs between them if labels have spaces); in tables label_1, score_1, label_2, ...
{arguments.THREADS}
{arguments.TABLES}
"""


@arguments.command(_COMMAND, output={"required": True}, text=arguments.names)
def predict(args: argparse.Namespace) -> int:
    """Load, predict, write; under ``mpiexec`` each rank scores its classes, the first writes."""
    comm = world()
    format = _table_format(args.output)
    to_file = args.output != "-" and not _is_device(args.output)
    with raise_on_all(comm):
        if to_file and comm.rank == 0:
            arguments.refuse_same_file(args.output, args.model, args.data)
            check_writable(args.output)
    model, X, _ = model_and_data(args, comm, labelled=False)
    lines = predicted_lines(model, features_of(model, X), args.top_k, format)
    if comm.rank == 0:
        _write(lines, args.output, to_file)
    return EXIT_OK


def _table_format(output: str) -> str | None:
    """Return the format of the table to write; None for plain lines."""
    format = table_format(output)
    compressed = table_format("x" + Path(output).suffix) is None  # by another suffix
    if format is not None and (compressed or format not in WRITABLE):
        raise ValueError(
            f"{output}: tables are written as {', '.join(WRITABLE)}, and not compressed"
        )
    return format


def _write(lines: Iterator[str], output: str, to_file: bool) -> None:
    if output == "-":
        _send(lines, sys.stdout)
    elif to_file:
        with atomic_write(output) as file:
            file.writelines(line.encode() for line in lines)
    else:
        with Path(output).open("w", encoding="utf-8") as device:
            _send(lines, device)


def _send(lines: Iterator[str], stream: TextIO) -> None:
    """Write labels as they are; escape them for a terminal, which would obey control characters."""
    if stream.isatty():
        lines = ("\t".join(map(shown, line[:-1].split("\t"))) + "\n" for line in lines)
    stream.writelines(lines)


def _is_device(path: str) -> bool:
    """Tell whether this is a pipe or something like /dev/null, which cannot be replaced."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
