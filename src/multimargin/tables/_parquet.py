"""Parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from multimargin.io._compressed import DataFileError
from multimargin.tables._selection import Selection
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
    from pyarrow import parquet

    with Path(name).open("rb") as file:
        if not file.read(1):
            raise DataFileError(f"{name}: the file is empty")
    try:
        source = parquet.ParquetFile(name)
        wanted = selection.of(name, list(source.schema_arrow.names))
        wanted = _usable(name, pyarrow.types, source.schema_arrow, wanted, selection)
        arrow = source.read(columns=wanted)
        values = {column: arrow.column(column).to_pylist() for column in wanted}
    except DataFileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        # A disk that fails also raises OSError, but then with an errno.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataFileError(f"{name}: damaged, or no Parquet file: {error}") from None
    if not arrow.num_rows:
        raise DataFileError(f"{name}: no rows")
    return Table(values, path=name)


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
