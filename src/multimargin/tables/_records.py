"""Columns gathered from the rows of a file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from multimargin.io._compressed import DataFileError
from multimargin.tables._table import Table


class Gathered:
    """Columns that grow row by row."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._columns: dict[str, list[Any]] = {}
        self._lines: list[int] = []

    def begin(self, columns: Sequence[str]) -> None:
        """Name the columns; one that comes later has no values in the rows before."""
        for column in columns:
            self._columns.setdefault(column, [None] * len(self._lines))

    def add(self, line: int, values: Sequence[Any]) -> None:
        """Add a row, in the order of the columns."""
        self._lines.append(line)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def names(self) -> list[str]:
        return list(self._columns)

    def table(self) -> Table:
        """Return the gathered columns as a table."""
        if not self._lines:
            raise DataFileError(f"{self._name}: no rows; there is a header and nothing below it")
        return Table(self._columns, path=self._name, lines=np.array(self._lines, dtype=np.int64))


def require_columns(place: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Raise DataFileError at the first column that is not there, or is there twice."""
    for name in wanted:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            listed = ", ".join(map(repr, there[:20]))
            more = f" and {len(there) - 20} more" if len(there) > 20 else ""
            raise DataFileError(
                f"{place}: there is no column {name!r}{hint} There are {listed}{more}"
            )
        if there.count(name) > 1:
            raise DataFileError(
                f"{place}: {there.count(name)} columns are named {name!r}; rename all but one"
            )
