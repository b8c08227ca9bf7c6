"""Rows as lines of CSV, TSV or JSON, which `read_table` reads back."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

WRITABLE = ("csv", "tsv", "jsonl")


def table_lines(format: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table, with their line ends. Fields are str, int or float."""
    if format == "jsonl":
        for row in rows:
            yield json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n"
        return
    delimiter = "\t" if format == "tsv" else ","
    text = io.StringIO()
    plain = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in itertools.chain([header], rows):
        # Some versions leave a carriage return bare, which ends a line for readers.
        bare = any("\r" in field for field in row if isinstance(field, str))
        (quoted if bare else plain).writerow(row)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
