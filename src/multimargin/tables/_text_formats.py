"""Tables in text files: CSV, TSV, and JSON objects on lines."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from multimargin.io._compressed import DataFileError
from multimargin.io._text_table import counted
from multimargin.tables._delimiter import REMEDY, delimiter_name, detected
from multimargin.tables._selection import Selection
from multimargin.tables._table import Gathered, Table
from multimargin.tables._text_lines import text_lines

LONGEST_FIELD = 1 << 24

# The csv module has one limit for all its readers: who changes it has it alone meanwhile.
_LIMIT = threading.Lock()


def read_delimited(
    name: str, selection: Selection, *, delimiter: str | None, encoding: str
) -> Table:
    """Read a file whose first line names the columns; without a delimiter, find it out."""
    with text_lines(name, encoding) as lines, _LIMIT:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            return _read(name, lines, selection, delimiter)
        finally:
            csv.field_size_limit(before)


def _read(name: str, lines: Iterator[str], selection: Selection, given: str | None) -> Table:
    delimiter = given
    if delimiter is None:
        delimiter, lines = detected(lines, selection.named)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    records = _records(name, reader)
    line, header = next(records, (1, []))
    if not any(header):
        raise DataFileError(f"{name}:{line}: the first line is blank; it must name the columns")
    wanted = _wanted(f"{name}:{line}", selection, header)
    places = [header.index(column) for column in wanted]
    gathered = Gathered(name)
    gathered.begin(wanted)
    for line, fields in records:
        if len(fields) != len(header):
            separator = delimiter_name(delimiter)
            remedy = f"; {REMEDY}" if given is None else ""
            raise DataFileError(
                f"{name}:{line}: {counted(len(fields), 'field')}, but the header has "
                f"{len(header)}; a field with a {separator} or a line break in it needs quotes"
                f"{remedy}"
            )
        # An empty field is a missing value: a label that is not there, above all.
        gathered.add(line, [fields[place] or None for place in places])
    return gathered.table()


def _wanted(place: str, selection: Selection, header: list[str]) -> list[str]:
    try:
        return selection.of(place, header)
    except DataFileError as error:
        if len(header) > 1:
            raise
        raise DataFileError(f"{error}, which is the only one: {REMEDY}") from None


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


def read_json_lines(name: str, selection: Selection, *, encoding: str) -> Table:
    """Read a file of objects; a name that an object lacks has no value (None) in its row."""
    gathered = Gathered(name)
    gathered.begin(selection.named or [])
    seen: dict[str, None] = {}
    with text_lines(name, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            record = _record(f"{name}:{number}", line)
            seen.update(dict.fromkeys(record))
            if selection.named is None:
                gathered.begin(list(record))
            values = [record.get(column) for column in gathered.names]
            _check_plain(f"{name}:{number}", gathered.names, values, selection)
            gathered.add(number, values)
    if not gathered:
        raise DataFileError(f"{name}: no rows; every line is blank")
    selection.of(name, list(seen))
    return gathered.table()


def _record(place: str, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataFileError(
            f"{place}: no JSON: {error.msg} at character {error.pos + 1}; each line is one object"
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"{place}: no JSON that can be read: {error}") from None
    if not isinstance(record, dict):
        raise DataFileError(
            f"{place}: {_kind(record)}, not an object; expected lines such as "
            '{"text": "...", "label": "..."}'
        )
    return record


def _check_plain(
    place: str, names: Sequence[str], values: Sequence[Any], selection: Selection
) -> None:
    for name, value in zip(names, values, strict=True):
        if isinstance(value, dict | list) and selection.must_be_plain(name):
            raise DataFileError(
                f"{place}: {name!r} is {_kind(value)}; texts, numbers, true, false and null can "
                "be used"
            )
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise DataFileError(
                    f"{place}: {name!r} holds half of a surrogate pair, which is no character"
                ) from None


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return kinds.get(type(value), "a number")
