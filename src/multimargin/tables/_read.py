"""Tables by the names of their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from multimargin.io._compressed import MAGIC
from multimargin.tables._parquet import read_parquet
from multimargin.tables._table import Table
from multimargin.tables._text_formats import read_delimited, read_json_lines

FORMATS = ("csv", "tsv", "jsonl", "parquet")
_ALIASES = {"tab": "tsv", "ndjson": "jsonl", "json": "jsonl", "pq": "parquet"}


def table_format(path: str | os.PathLike[str]) -> str | None:
    """Return the format by the name of a file, without the suffix of a compression; or None."""
    file = Path(path)
    if file.suffix.lower() in MAGIC:
        file = file.with_suffix("")
    ending = file.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else _ALIASES.get(ending)


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Read columns of a CSV, TSV, JSON lines or Parquet file.

    Parameters
    ----------
    path : path-like
        The file. All but Parquet may be compressed by gzip, bzip2 or xz.
    columns : list of str, default=None
        The columns to read and keep; all of them if not given.
    format : {"csv", "tsv", "jsonl", "parquet"}, default=None
        By default what the name of the file ends in says. The first line of CSV and TSV names the
        columns; CSV may have semicolons in place of commas. The lines of "jsonl" are JSON objects.
    encoding : str, default="utf-8"
        Of the text, any that Python knows. A byte order mark is skipped.

    Returns
    -------
    table : Table
        Columns of CSV and TSV hold str; other formats also numbers, truth values and None.

    Raises
    ------
    DataFileError
        If the file is malformed, empty, truncated, of another encoding, lacks a column, or is
        compressed and of more than 100 times its size; the message has the file and, where known,
        the line.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from multimargin import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "data.csv"
    ...     _ = path.write_text("text,label\\na red rose,flower\\nan old dog,pet\\n")
    ...     table = read_table(path, ["label"])
    >>> table["label"].tolist()
    ['flower', 'pet']
    """
    name = os.fspath(path)
    kind = table_format(name) if format is None else format
    allowed = ", ".join(FORMATS)
    if kind is None:
        raise ValueError(
            f"{name}: the name does not tell the format: give it (--format, or format= in Python): "
            f"{allowed}"
        )
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {allowed}, got {kind!r}")
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, got {columns!r}: write [{columns!r}]")
    wanted = None if columns is None else list(dict.fromkeys(columns))
    if kind == "parquet":
        return read_parquet(name, wanted)
    if kind == "jsonl":
        return read_json_lines(name, wanted, encoding=encoding)
    delimiter = "\t" if kind == "tsv" else ","
    return read_delimited(name, wanted, delimiter=delimiter, encoding=encoding)
