"""Parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from multimargin.io._compressed import DataFileError
from multimargin.tables._selection import Selection, require_columns
from multimargin.tables._table import Table


def require_pyarrow(name: str) -> None:
    """Raise DataFileError if there is no pyarrow to read or write a file with."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise DataFileError(
            f'{name}: Parquet files need pyarrow: pip install "multimargin[parquet]"'
        ) from None


def read_parquet(name: str, selection: Selection) -> Table:
    require_pyarrow(name)
    import pyarrow

    source = _opened(name)
    with _damage_named(name):
        wanted = selection.of(name, list(source.schema_arrow.names))
        wanted = _usable(name, pyarrow.types, source.schema_arrow, wanted, selection)
        arrow = source.read(columns=wanted)
        values = {column: arrow.column(column).to_pylist() for column in wanted}
    return Table(values, path=name)


def column_names(name: str) -> list[str]:
    require_pyarrow(name)
    return list(_opened(name).schema_arrow.names)


def read_vectors(name: str, column: str) -> NDArray[Any]:
    """Return a column of lists of numbers, all of the same length, as an array of rows."""
    require_pyarrow(name)
    import pyarrow
    from pyarrow import compute

    require_columns(name, [column], column_names(name))
    lists: Any = pyarrow.concat_arrays(_opened(name).read(columns=[column]).column(0).chunks)
    types, kind = pyarrow.types, lists.type
    lists_at_all = (
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    )
    numbers = lists_at_all and (
        types.is_floating(kind.value_type) or types.is_integer(kind.value_type)
    )
    if not numbers:
        raise DataFileError(f"{name}: column {column!r} holds {kind}, not lists of numbers")
    lengths = np.nan_to_num(compute.list_value_length(lists).to_numpy(zero_copy_only=False))
    other = np.flatnonzero(lengths != lengths[0])
    if len(other) or not lengths[0]:
        row = other[0] if len(other) else 0
        raise DataFileError(
            f"{name}: row {row + 1}: column {column!r} has {int(lengths[row])} numbers, and "
            f"{int(lengths[0])} in row 1"
        )
    values = lists.flatten().to_numpy(zero_copy_only=False)
    rows: NDArray[Any] = values.reshape(len(lists), -1)
    return rows


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    """Let pyarrow's errors be of one kind, which names the file."""
    import pyarrow

    try:
        yield
    except DataFileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        # A disk that fails also raises OSError, but then with an errno.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataFileError(f"{name}: damaged, or no Parquet file: {error}") from None


def _opened(name: str) -> Any:
    from pyarrow import parquet

    with Path(name).open("rb") as file:
        if not file.read(1):
            raise DataFileError(f"{name}: the file is empty")
    with _damage_named(name):
        source = parquet.ParquetFile(name)
    if not source.metadata.num_rows:
        raise DataFileError(f"{name}: no rows")
    return source


def _usable(
    name: str, types: Any, schema: Any, wanted: Sequence[str], selection: Selection
) -> list[str]:
    """Return the columns that can be used; bytes are no text, and so no table here holds them."""
    usable = []
    for column in wanted:
        kind = schema.field(column).type
        binary = types.is_binary(kind) or types.is_large_binary(kind)
        if selection.must_be_plain(column) and (binary or types.is_nested(kind)):
            raise DataFileError(
                f"{name}: column {column!r} holds {kind}; texts, numbers and truth values can be "
                "used"
            )
        if binary:
            selection.leave_out(column)
        else:
            usable.append(column)
    return usable


def write_parquet(file: BinaryIO, columns: Mapping[str, Sequence[Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pyarrow.array(values)
        except pyarrow.ArrowException as error:
            raise ValueError(
                f"column {name!r} cannot be written as Parquet: {error}; write .csv or .jsonl"
            ) from None
    parquet.write_table(pyarrow.table(arrays), file)
