"""``multimargin predict``: the labels of a data file."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from multimargin import distributed
from multimargin.cli.support._common import (
    EXIT_OK,
    add_threads,
    features_of,
    n_jobs,
    positive_int,
    read_data_for,
    refuse_same_file,
)
from multimargin.cli.support._predictions import predicted_lines
from multimargin.cli.support._training_data import add_column_options
from multimargin.io._atomic import atomic_write, check_writable
from multimargin.io._text_table import shown
from multimargin.parallel._agreement import raise_on_all
from multimargin.parallel._mpi import world
from multimargin.tables._read import table_format
from multimargin.tables._write import WRITABLE


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command."""
    parser = commands.add_parser(
        "predict",
        help="predict labels",
        description="Write the predicted label of each sample of DATA: one on each line; or, if "
        "the name of OUT ends in .csv, .tsv or .jsonl, a table with the columns label and score. "
        "The labels in DATA are not used. LIBSVM text wants one: write 0.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")
    parser.add_argument("data", metavar="DATA", help="data as the model was trained on")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the file to write; - is stdout"
    )
    parser.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="write the K best labels with their scores, 'label:score label:score ...' (with "
        "tabs between them if labels have spaces); in tables label_1, score_1, label_2, ...",
    )
    add_threads(parser)
    add_column_options(
        parser.add_argument_group("tables (CSV, TSV, JSON lines, Parquet)"), labels=False
    )


def run(args: argparse.Namespace) -> int:
    """Load, predict, write; under ``mpiexec`` each rank scores its classes, the first writes."""
    comm = world()
    format = _table_format(args.output)
    to_file = args.output != "-" and not _is_device(args.output)
    with raise_on_all(comm):
        if to_file and comm.rank == 0:
            refuse_same_file(args.output, args.model, args.data)
            check_writable(args.output)
    # All of it is about to be read anyway, and a wrong index would be a wrong memory access.
    model = distributed.load_model(args.model, verify=True, n_jobs=n_jobs(args), comm=comm)
    X, _ = read_data_for(model, args, labelled=False)
    lines = predicted_lines(model, features_of(model, X), args.top_k, format)
    if comm.rank == 0:
        _write(lines, args.output, to_file)
    return EXIT_OK


def _table_format(output: str) -> str | None:
    """The format of the table to write; None for plain lines."""
    format = table_format(output)
    packed = table_format("x" + Path(output).suffix) is None  # what counts is another suffix
    if format is not None and (packed or format not in WRITABLE):
        raise ValueError(
            f"{output}: tables are written as {', '.join(WRITABLE)}, and not compressed"
        )
    return format


def _write(lines: Iterator[str], output: str, to_file: bool) -> None:
    if output == "-":
        _send(lines, sys.stdout)
    elif to_file:
        with atomic_write(output) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            text.writelines(lines)
            text.flush()
            text.detach()  # the file is closed by its owner
    else:
        with Path(output).open("w", encoding="utf-8") as device:
            _send(lines, device)


def _send(lines: Iterator[str], stream: TextIO) -> None:
    """Write labels as they are, but to a terminal, which must not obey them."""
    if stream.isatty():
        lines = ("\t".join(map(shown, line[:-1].split("\t"))) + "\n" for line in lines)
    stream.writelines(lines)


def _is_device(path: str) -> bool:
    """Tell whether this is a pipe or something like /dev/null, which cannot be replaced."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
