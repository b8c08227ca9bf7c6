"""The character between the fields of a text table: which it may be, and which it seems to be."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Collection, Iterator, Sequence

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
REMEDY = "--delimiter (delimiter= in Python) sets the separator"
_LINES = 30  # to decide by


def check_delimiter(delimiter: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ValueError(
            "delimiter must be one character, such as '\\t' or '|', and neither a quote nor a line "
            f"break, got {delimiter!r}"
        )


def delimiter_name(delimiter: str) -> str:
    return DELIMITERS.get(delimiter) or repr(delimiter)


def detected(lines: Iterator[str], wanted: Collection[str] | None) -> tuple[str, Iterator[str]]:
    """Return the separator by the first lines, and all lines again.

    It is the one of `DELIMITERS` with which most of this is true, in this order: the header has all
    `wanted` columns; it has several columns; the rows have as many fields. Of equals the first.
    """
    head = list(itertools.islice(lines, _LINES))
    whole = len(head) < _LINES

    def merits(delimiter: str) -> tuple[bool, bool, bool]:
        header, *rows = _records(head, delimiter, whole) or [[]]
        even = all(len(row) == len(header) for row in rows)
        return set(wanted or ()) <= set(header), len(header) > 1, even

    return max(DELIMITERS, key=merits), itertools.chain(head, lines)


def _records(head: Sequence[str], delimiter: str, whole: bool) -> list[list[str]]:
    """Return the rows that are not blank; the last may be cut off, unless this is all."""
    try:
        rows = list(csv.reader(head, delimiter=delimiter))
    except csv.Error:  # whoever reads the file will say so
        return []
    return [row for row in (rows if whole or len(rows) == 1 else rows[:-1]) if row]
