"""CSV and TSV files."""

from __future__ import annotations

import csv
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from multimargin.io._compressed import DataFileError
from multimargin.tables._records import Gathered, require_columns
from multimargin.tables._table import Table
from multimargin.tables._text_lines import text_lines

LONGEST_FIELD = 1 << 24

# The csv module has one limit for all its readers: who changes it has it alone meanwhile.
_LIMIT = threading.Lock()


def read_delimited(
    name: str, columns: Sequence[str] | None, *, delimiter: str, encoding: str
) -> Table:
    """Read a file whose first line names the columns.

    "," also reads files with semicolons, as spreadsheets of many countries write them: if the first
    line has a semicolon and no comma.
    """
    with text_lines(name, encoding) as lines, _LIMIT:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            return _read(name, lines, columns, delimiter)
        finally:
            csv.field_size_limit(before)


def _read(name: str, lines: Iterator[str], columns: Sequence[str] | None, delimiter: str) -> Table:
    first = next(lines, "")
    if delimiter == "," and "," not in first and ";" in first:
        delimiter = ";"
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    records = _records(name, reader)
    line, header = next(records, (1, []))
    if not any(header):
        raise DataFileError(f"{name}:{line}: the first line is blank; it must name the columns")
    wanted = header if columns is None else list(columns)
    require_columns(f"{name}:{line}", wanted, header)
    places = [header.index(column) for column in wanted]
    gathered = Gathered(name)
    gathered.begin(wanted)
    for line, fields in records:
        if len(fields) != len(header):
            separator = {"\t": "tab", ",": "comma", ";": "semicolon"}[delimiter]
            raise DataFileError(
                f"{name}:{line}: {len(fields)} fields, but the header has {len(header)}; a field "
                f"with a {separator} or a line break in it needs quotes"
            )
        gathered.add(line, [fields[place] for place in places])
    return gathered.table()


def _records(name: str, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, and the lines at which they begin."""
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DataFileError(f"{name}:{line}: {_reason(str(error))}") from None
        if fields is None:
            return
        if fields:
            yield line, fields


def _reason(message: str) -> str:
    if "unexpected end" in message:
        return "a quote that opens in this row is never closed"
    if "larger than field limit" in message:
        return (
            f"a field of more than {LONGEST_FIELD:,} characters begins here; is a quote in this "
            "row never closed?"
        )
    if "expected after" in message:
        return "text behind a closing quote; a quote within quotes is written twice"
    return message
