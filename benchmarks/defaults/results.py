"""The results of the study in a CSV, to which runs add what is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.defaults.choices import Intercept, Kind
from multimargin.io._atomic import atomic_write


@dataclass(frozen=True)
class Row:
    """A fit: what was fitted, and what came of it.

    `cold` is a fit from zero, whose seconds count; others start from the model of a smaller C.
    A fit that a time limit ended has `converged` false, and NaN where there is no model.
    """

    dataset: str
    formulation: str
    loss: str
    intercept: Intercept
    C: float
    cold: bool
    classes: int
    samples: int
    squared_norm: float
    validation_error: float
    error: float
    macro_f1: float
    top5_error: float
    seconds: float
    gap: float
    converged: bool

    @property
    def kind(self) -> Kind:
        return Kind(self.formulation, self.loss, self.intercept)

    @property
    def key(self) -> tuple[str, Kind, float, bool]:
        """What makes it another run."""
        return self.dataset, self.kind, self.C, self.cold


def _truth(text: str) -> bool:
    return {"True": True, "False": False}[text]


def _intercept(text: str) -> Intercept:
    return text if text == "free" else _truth(text)


_READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "Intercept": _intercept,
    "float": float,
    "bool": _truth,
    "int": int,
}


def from_csv(text: str) -> list[Row]:
    """Read all rows; raise a ValueError if the columns are not those of a study."""
    fields = {name: _READ[str(f.type)] for name, f in Row.__dataclass_fields__.items()}
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames != list(fields):
        raise ValueError("the columns are not those of this study: give another file")
    return [Row(**{name: read(row[name]) for name, read in fields.items()}) for row in reader]


def as_csv(rows: Iterable[Row]) -> bytes:
    """Return all rows and columns."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(Row.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return file.getvalue().encode()


class Results:
    """The rows of a file, which is written anew with each one that is added."""

    def __init__(self, path: Path) -> None:
        self._path = path
        known = from_csv(path.read_text()) if path.exists() else []
        self._rows = {row.key: row for row in known}

    @property
    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def __contains__(self, key: tuple[str, Kind, float, bool]) -> bool:
        return key in self._rows

    def add(self, row: Row) -> None:
        """Add a row and write the file."""
        self._rows[row.key] = row
        with atomic_write(self._path, durable=False) as file:
            file.write(as_csv(self._rows.values()))

    def of(self, dataset: str, kind: Kind, *, cold: bool) -> list[Row]:
        """The rows of a kind on a set."""
        which = (dataset, kind, cold)
        return [row for row in self.rows if (row.dataset, row.kind, row.cold) == which]
