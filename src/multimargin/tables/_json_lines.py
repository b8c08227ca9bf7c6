"""Files with a JSON object on each line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from multimargin.io._compressed import DataFileError
from multimargin.tables._records import Gathered, require_columns
from multimargin.tables._table import Table
from multimargin.tables._text_lines import text_lines


def read_json_lines(name: str, columns: Sequence[str] | None, *, encoding: str) -> Table:
    """Read a file of objects; a name that an object lacks has no value (None) in its row."""
    gathered = Gathered(name)
    gathered.begin(columns or [])
    seen: dict[str, None] = {}
    with text_lines(name, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            record = _record(f"{name}:{number}", line)
            seen.update(dict.fromkeys(record))
            if columns is None:
                gathered.begin(list(record))
            values = [record.get(column) for column in gathered.names]
            _check_plain(f"{name}:{number}", gathered.names, values)
            gathered.add(number, values)
    if not gathered:
        raise DataFileError(f"{name}: no rows; every line is blank")
    if columns is not None:
        require_columns(name, columns, list(seen))
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


def _check_plain(place: str, names: Sequence[str], values: Sequence[Any]) -> None:
    for name, value in zip(names, values, strict=True):
        if isinstance(value, dict | list):
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
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "null" if value is None else "a number"
