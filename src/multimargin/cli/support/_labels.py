"""Labels from a column of a table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.cli.support._messages import note
from multimargin.io._compressed import DataFileError
from multimargin.io._text_table import counted
from multimargin.parallel._communicator import Communicator
from multimargin.tables import Table
from multimargin.tables._read import read_selected, refuse_spreadsheet, table_format
from multimargin.tables._selection import Selection
from multimargin.text._raw_columns import value_text

# "007" and "3.0" do not match: a predicted label must be written as it was read.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def read_columns(args: argparse.Namespace, selection: Selection) -> Table:
    """Read columns of DATA, as the options for tables say."""
    return read_selected(
        args.data,
        selection,
        format=args.format,
        encoding=args.encoding or "utf-8",
        delimiter=args.delimiter,
    )


def is_table(args: argparse.Namespace) -> bool:
    """Tell whether DATA is a table, by options and name; spreadsheets are refused."""
    if args.format is None and args.delimiter is None and table_format(args.data) is None:
        refuse_spreadsheet(args.data)
        return False
    return True


def read_labelled(
    args: argparse.Namespace, columns: Sequence[str], column: str, separator: str | None = None
) -> tuple[Table, NDArray[Any], int]:
    """Read the rows of DATA that have a label, their labels, and how many have none.

    As in LIBSVM files, labels are integers if all are written as integers, and text otherwise.
    With a separator each row has a tuple of them, which is empty for an empty field.
    """
    table = read_columns(args, Selection([*columns, column]))
    labels = [value_text(value) for value in table[column]]
    missing = [row for row, label in enumerate(labels) if not label.strip()]
    if missing and separator and not args.skip_unlabelled:
        missing = []
    elif missing and not args.skip_unlabelled:
        others = f", here and in {counted(len(missing) - 1, 'other row')}" * (len(missing) > 1)
        raise DataFileError(
            f"{table.place(missing[0])}: the label in column {column!r} is empty{others}; "
            "--skip-unlabelled leaves out rows without a label"
        )
    for row, label in enumerate(labels):
        if "\0" in label:  # NumPy would cut it off at the end of a label
            raise DataFileError(f"{table.place(row)}: the label in column {column!r} holds a NUL")
    if missing:
        kept = np.array([bool(label.strip()) for label in labels])
        if not kept.any():
            raise DataFileError(f"no row has a label in column {column!r}")
        table, labels = table[kept], [label for label in labels if label.strip()]
    if separator is None:
        return table, _typed(labels), len(missing)
    parts = [[part.strip() for part in label.split(separator)] for label in labels]
    sets: list[tuple[Any, ...]] = [tuple(part for part in row if part) for row in parts]
    whole = all(_INTEGER.fullmatch(label) for label in set(chain.from_iterable(sets)))
    sets = [tuple(map(int, row)) for row in sets] if whole else sets
    return table, np.fromiter(sets, dtype=object, count=len(sets)), len(missing)


def note_skipped(rows: int, comm: Communicator) -> None:
    if rows and comm.rank == 0:
        are = "is" if rows == 1 else "are"
        note(f"note: {counted(rows, 'row')} without a label {are} left out")


def _typed(labels: Sequence[str]) -> NDArray[Any]:
    if all(_INTEGER.fullmatch(label) for label in set(labels)):
        return np.array([int(label) for label in labels], dtype=np.int64)
    longest = max(len(label) for label in labels)
    # One long label must not take the room of a long label in every row.
    return np.array(labels, dtype=object if longest > 64 else None)


def check_two_classes(path: str, column: str | None, y: NDArray[Any]) -> None:
    if (y == y[0]).all():
        where = "" if column is None else f" in column {column!r}"
        raise DataFileError(
            f"{path}: all {len(y):,} rows have the label {y[0]!s:.60}{where}; "
            "training needs at least two different labels"
        )
