"""Tables by the names of their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from multimargin.io._compressed import MAGIC, DataFileError
from multimargin.tables._delimiter import check_delimiter
from multimargin.tables._parquet import read_parquet
from multimargin.tables._selection import Selection
from multimargin.tables._table import Table
from multimargin.tables._text_formats import read_delimited, read_json_lines

FORMATS = ("csv", "tsv", "jsonl", "parquet")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_ALIASES = {"tab": "tsv", "ndjson": "jsonl", "json": "jsonl", "pq": "parquet"}


def table_format(path: str | os.PathLike[str]) -> str | None:
    """Return the format by the name of a file, without the suffix of a compression; or None."""
    file = Path(path)
    if file.suffix.lower() in MAGIC:
        file = file.with_suffix("")
    ending = file.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else _ALIASES.get(ending)


def refuse_spreadsheet(path: str | os.PathLike[str]) -> None:
    """Raise DataFileError if the name is one of a spreadsheet."""
    ending = Path(path).suffix.lower()
    if ending in _SPREADSHEETS:
        raise DataFileError(
            f"{os.fspath(path)}: spreadsheets ({ending}) cannot be read: export it as CSV, in most "
            "programs by 'Save as', and give the .csv file"
        )


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
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
        columns. The lines of "jsonl" are JSON objects.
    encoding : str, default="utf-8"
        Of the text, any that Python knows. A byte order mark is skipped.
    delimiter : str, default=None
        The character between the fields of CSV and TSV. By default a tab for TSV; for CSV that one
        of tab, comma, semicolon and pipe by which the header has the wanted columns, or else
        several, and the first rows have as many fields. With a delimiter, a file of any name is
        CSV unless `format` says otherwise.

    Returns
    -------
    table : Table
        Columns of CSV and TSV hold str, and None for an empty field: a label that is missing.
        Other formats also hold numbers and truth values.

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
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, got {columns!r}: write [{columns!r}]")
    selection = Selection(columns)
    return read_selected(path, selection, format=format, encoding=encoding, delimiter=delimiter)


def read_selected(
    path: str | os.PathLike[str],
    selection: Selection,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Table:
    """Read a table as `read_table` does, with columns that are kept beside those needed."""
    name = os.fspath(path)
    kind = table_format(name) if format is None else format
    if kind is None:
        refuse_spreadsheet(name)
        kind = None if delimiter is None else "csv"
    allowed = ", ".join(FORMATS)
    if kind is None:
        raise ValueError(
            f"{name}: the name does not tell the format: give it (--format, or format= in Python): "
            f"{allowed}"
        )
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {allowed}, got {kind!r}")
    if delimiter is not None:
        check_delimiter(delimiter)
        if kind not in ("csv", "tsv"):
            raise ValueError(f"{name}: a delimiter is for CSV and TSV, not for {kind}")
    if kind == "parquet":
        return read_parquet(name, selection)
    if kind == "jsonl":
        return read_json_lines(name, selection, encoding=encoding)
    if kind == "tsv" and delimiter is None:
        delimiter = "\t"
    return read_delimited(name, selection, delimiter=delimiter, encoding=encoding)
