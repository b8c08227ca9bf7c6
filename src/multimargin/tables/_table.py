"""Tables: columns of a file, and the lines that their rows are from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from multimargin.io._compressed import DataFileError


class Table:
    """Columns by their names, all of the same length.

    ``table["name"]`` is a column, ``table[rows]`` (a slice, or an array of row numbers or of
    truth values) a table of these rows. scikit-learn can divide it as it does data frames.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values are str, numbers, or None where there is none.
    path : str, default=""
        The file, for messages.
    lines : ndarray of int64, shape (n_rows,), default=None
        The line of the file at which each row begins; None if it has no lines.

    Attributes
    ----------
    columns : list of str
        Their names.
    shape : tuple (n_rows, n_columns)

    Examples
    --------
    >>> from multimargin.tables import Table
    >>> table = Table({"text": ["a rose", "a dog"], "label": ["flower", "pet"]})
    >>> table.shape, table["label"].tolist()
    ((2, 2), ['flower', 'pet'])
    >>> table[1:]["text"].tolist()
    ['a dog']
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any] | NDArray[Any]],
        *,
        path: str = "",
        lines: NDArray[np.int64] | None = None,
    ) -> None:
        self._columns = {name: _objects(values) for name, values in columns.items()}
        self._path = path
        self._lines = lines
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns have different lengths: {sorted(lengths)}")
        self._rows = lengths.pop() if lengths else 0

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._rows, len(self._columns)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> Table: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, tuple) and key[1:] == (Ellipsis,):  # as NumPy may be asked
            key = key[0]
        return Table(
            {name: values[key] for name, values in self._columns.items()},
            path=self._path,
            lines=None if self._lines is None else self._lines[key],
        )

    def __repr__(self) -> str:
        names = ", ".join(self._columns)
        return f"<Table of {self._rows:,} rows: {names}>"

    def place(self, row: int) -> str:
        """Return the origin of a row as ``file:line``, for messages."""
        if self._lines is None:
            return f"{self._path}: row {row + 1}" if self._path else f"row {row}"
        return f"{self._path}:{self._lines[row]}"


def _objects(values: Any) -> NDArray[Any]:
    """Return an array of Python objects, which does not take the room of the longest string."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return array


class Gathered:
    def __init__(self, name: str) -> None:
        self._name = name
        self._columns: dict[str, list[Any]] = {}
        self._lines: list[int] = []

    def begin(self, columns: Sequence[str]) -> None:
        """Name the columns; one that comes later has no values in the rows before."""
        for column in columns:
            self._columns.setdefault(column, [None] * len(self._lines))

    def add(self, line: int, values: Sequence[Any]) -> None:
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
