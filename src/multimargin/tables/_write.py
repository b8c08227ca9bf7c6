"""Rows as lines of CSV, TSV or JSON, which `read_table` reads back; or as a Parquet file."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from multimargin.tables._parquet import write_parquet

WRITABLE = ("csv", "tsv", "jsonl", "parquet")


def write_table(
    file: BinaryIO, format: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a table; Parquet needs all rows at a time."""
    if format == "parquet":
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
        write_parquet(file, dict(zip(header, columns, strict=True)))
    else:
        file.writelines(line.encode() for line in table_lines(format, header, rows))


def table_lines(format: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table, with their line ends.

    Values that JSON lacks, such as times, are written as text; lists and objects in CSV and TSV
    as JSON.
    """
    if format == "jsonl":
        for row in rows:
            yield _json(dict(zip(header, map(_finite, row), strict=True))) + "\n"
        return
    delimiter = "\t" if format == "tsv" else ","
    text = io.StringIO()
    plain = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in itertools.chain([header], rows):
        cells = [_json(cell) if isinstance(cell, dict | list) else cell for cell in row]
        # Some versions leave a carriage return bare, which ends a line for readers.
        bare = any("\r" in field for field in cells if isinstance(field, str))
        (quoted if bare else plain).writerow(cells)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
