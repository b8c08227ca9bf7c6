"""``multimargin predict``: the labels of a data file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._held_out import require_calibrated
from multimargin.cli.support._messages import EXIT_OK
from multimargin.cli.support._model_data import features_of, model_and_data, separator_of
from multimargin.cli.support._predictions import (
    predicted_lines,
    predicted_table,
    review_table,
    set_lines,
)
from multimargin.io._atomic import atomic_write, check_writable
from multimargin.io._text_table import shown
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._mpi import world
from multimargin.tables._parquet import require_pyarrow
from multimargin.tables._read import table_format
from multimargin.tables._write import WRITABLE, write_table

_LINES = ("", ".txt")


def predict(args: argparse.Namespace) -> int:
    """Load, predict, write; under ``mpiexec`` each rank scores its classes, the first writes."""
    comm = world()
    to_file = args.output != "-" and not _is_device(args.output)
    format = None if args.output == "-" else _table_format(args.output)
    review = _review_format(args, format)
    if format is None and review is None and args.keep:
        raise ValueError(f"--keep is for tables: -o OUT with one of {_listed(WRITABLE)}")
    keep = None if args.keep in (None, "all") else args.keep
    if format is None and review is None:
        keep = ()
    with raise_on_all(comm):
        if comm.rank == 0:
            for out in [args.output] * to_file + [args.review] * (review is not None):
                arguments.refuse_same_file(out, args.model, args.data)
                check_writable(out)
    model, (X, _, kept) = model_and_data(args, comm, labelled=False, keep=keep)
    X, separator = features_of(model, X), separator_of(model, args)
    for option in ("proba", "coverage"):
        if getattr(args, option):
            require_calibrated(model, args.model, f"--{option}")
    sets = model.predict_set(X, args.coverage) if args.coverage else None
    if sets is not None and review is not None and comm.rank == 0:
        with atomic_write(args.review) as file:
            write_table(file, review, *review_table(sets, kept))
    if format is not None:
        header, rows = predicted_table(model, X, args.top_k, kept, args.proba, sets, separator)
        if comm.rank == 0:
            with atomic_write(args.output) if to_file else Path(args.output).open("wb") as file:
                write_table(file, format, header, rows)
        return EXIT_OK
    if sets is not None:
        lines = set_lines(sets)
    else:
        lines = predicted_lines(model, X, args.top_k, args.proba, separator)
    if comm.rank == 0:
        _write(lines, args.output, to_file)
    return EXIT_OK


def _review_format(args: argparse.Namespace, format: str | None) -> str | None:
    """Return the format of the table of --review, if there is to be one, after checks."""
    if args.coverage is None:
        if args.review is not None:
            raise ValueError("--review needs sets: give --coverage, too, such as --coverage 0.9")
        return None
    if format is None and args.top_k is not None:
        raise ValueError(
            "--top-k and --coverage: a line has the best labels or a set; a table has both"
        )
    if args.review is None:
        return None
    if Path(args.review).absolute() == Path(args.output).absolute():
        raise ValueError(f"{args.review}: the table of --review would replace that of --output")
    found = _table_format(args.review)
    if found is None:
        raise ValueError(f"{args.review}: --review is for tables: one of {_listed(WRITABLE)}")
    return found


def _table_format(output: str) -> str | None:
    """Return the format of a table, None for lines of labels, by the name of a file."""
    suffix = Path(output).suffix.lower()
    if suffix in _LINES:
        return None
    format = table_format("x" + suffix)  # without the suffix of a compression
    if format not in WRITABLE:
        raise ValueError(
            f"{output}: predictions are not written as {suffix}: name it {_listed(WRITABLE)} for a "
            "table, or .txt or without an ending for one label on each line"
        )
    if format == "parquet":
        require_pyarrow(output)
    return format


def _listed(names: Sequence[str]) -> str:
    *most, last = (f".{name}" for name in names)
    return f"{', '.join(most)} or {last}"


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
