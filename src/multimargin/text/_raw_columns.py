"""Columns of sequences of texts, data frames, tables and mappings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multimargin.io._compressed import DataFileError
from multimargin.tables import Table
from multimargin.tables._selection import require_columns

# A field of a table that has no value says one of these.
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})


class BadValue(NamedTuple):
    """A value of a column that cannot be used; the row is counted from 0."""

    column: str | None
    row: int
    reason: str

    def told(self, X: Any = None) -> str:
        """Say where it is, in a table by file and line, and what is wrong."""
        if isinstance(X, Table):
            return f"{X.place(self.row)}: column {self.column!r}: {self.reason}"
        row, column = self.row, self.column
        where = f"X[{row}]" if column is None else f"column {column!r}, row {row}"
        return f"{where}: {self.reason}"


class BadValuesError(ValueError):
    """The first values that cannot be used, and how many there are in all."""

    def __init__(self, first: Sequence[BadValue], count: int = 1) -> None:
        super().__init__(_all_told(first, count))
        self.first, self.count = first, count

    def __reduce__(self) -> Any:
        return BadValuesError, (self.first, self.count)


def _all_told(first: Sequence[BadValue], count: int, X: Any = None) -> str:
    listed = "; ".join(each.told(X) for each in first)
    if count == 1:
        return listed
    more = f"; and {count - len(first):,} more" if count > len(first) else ""
    return f"{count:,} values cannot be used: {listed}{more}. Correct them, or leave them empty"


@contextlib.contextmanager
def placed(X: Any) -> Iterator[None]:
    """Make errors about values of a table name the file and the lines."""
    try:
        yield
    except BadValuesError as error:
        if isinstance(X, Table):
            raise DataFileError(_all_told(error.first, error.count, X)) from None
        raise


def names_of(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return names of columns as a tuple: a string is one name."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def is_missing(value: Any) -> bool:
    """Return whether this is None, NaN or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124 - NaN of any type
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


def value_text(value: Any) -> str:
    """Return a value as text, empty if it is missing: 3, 3.0 and "3" are the same."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    floating = isinstance(value, float | np.floating)
    if floating and float(value).is_integer() and abs(float(value)) < 2**53:
        return str(int(value))  # pandas turns a column of integers with a gap into floats
    return str(value)


def says_missing(text: str) -> bool:
    """Return whether a field says that it has no number, such as "" or "NA"."""
    return text.strip().lower() in _MISSING


def has_columns(X: Any) -> bool:
    """Return whether `X` has columns by names: a data frame, a table or a mapping."""
    return isinstance(X, Mapping) or (hasattr(X, "columns") and hasattr(X, "__getitem__"))


def column_of(X: Any, name: str) -> list[Any]:
    """Return the values of one column; if there is none, the error says which there are."""
    there = [str(each) for each in (X.keys() if isinstance(X, Mapping) else X.columns)]
    require_columns("X", [name], there)
    return _listed(X[name], f"column {name!r}")


def texts_of(X: Any) -> list[Any]:
    if isinstance(X, str | bytes):
        raise ValueError("X must be a sequence of texts, got one text: write [text]")
    if sp.issparse(X):
        raise ValueError("X must be a sequence of texts, got a sparse matrix of features")
    if has_columns(X):
        raise ValueError(
            "X has columns: say which holds the texts, such as TextClassifier(text='definition')"
        )
    return _listed(X, "X")


def _listed(values: Any, what: str) -> list[Any]:
    ndim = getattr(values, "ndim", 1)
    if ndim != 1:
        raise ValueError(f"{what} must have one dimension, got {ndim}")
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{what} must be a sequence, got {type(values).__name__}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def same_length(columns: Mapping[str, Sequence[Any]]) -> int:
    """Return the number of rows, which must be the same in all columns."""
    (first, length), *others = ((name, len(values)) for name, values in columns.items())
    for name, other in others:
        if other != length:
            raise ValueError(f"column {first!r} has {length} rows, column {name!r} has {other}")
    return length
