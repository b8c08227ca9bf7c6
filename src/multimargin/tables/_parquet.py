"""Parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multimargin.io._compressed import DataFileError
from multimargin.tables._table import Table, require_columns


def read_parquet(name: str, columns: Sequence[str] | None) -> Table:
    """Read columns of a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DataFileError(
            f'{name}: Parquet files need pyarrow: pip install "multimargin[parquet]"'
        ) from None
    with Path(name).open("rb") as file:
        if not file.read(1):
            raise DataFileError(f"{name}: the file is empty")
    try:
        source = parquet.ParquetFile(name)
        there = list(source.schema_arrow.names)
        wanted = there if columns is None else list(columns)
        require_columns(name, wanted, there)
        _check_types(name, pyarrow, source.schema_arrow, wanted)
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


def _check_types(name: str, pyarrow: Any, schema: Any, wanted: Sequence[str]) -> None:
    types = pyarrow.types
    for column in wanted:
        kind = schema.field(column).type
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            raise DataFileError(
                f"{name}: column {column!r} holds {kind}; texts, numbers and truth values can be "
                "used"
            )
