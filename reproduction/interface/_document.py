"""Tables and figures that an experiment shows, without a word of HTML or matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# Not a dash: with the number of a note it would read as a negative number.
NOTHING = "n/a"
MANY_NOTES = 12  # of a table, from which on they hide what they are about

Tone = Literal["plain", "ours", "paper", "equal", "near", "differs", "missing"]


@dataclass(frozen=True)
class Entry:
    """A cell of a table. `tone` says what it is, never a colour; `note` is a longer explanation."""

    text: str
    tone: Tone = "plain"
    note: str = ""
    bold: bool = False

    @property
    def shown(self) -> str:
        """The text, or words for an entry that is missing and has none."""
        return self.text or (NOTHING if self.tone == "missing" else "")


@dataclass(frozen=True)
class Column:
    """A column; neighbours with the same `group` share a heading above theirs."""

    title: str
    group: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table; the first line of every `section` is preceded by its name."""

    entries: tuple[Entry, ...]
    section: str = ""


@dataclass(frozen=True)
class Table:
    """A table in the paper's arrangement: every row has as many entries as there are columns."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A curve. The paper's are dashed, ours solid; the same `series` has the same colour."""

    label: str
    series: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    source: Literal["ours", "paper"]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Axes:
    """One plot of a figure."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Literal["linear", "log2", "log10"] = "linear"
    y_scale: Literal["linear", "log2", "log10"] = "linear"
    x_ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Figure:
    """Plots side by side; `name` is the stem of its file."""

    name: str
    title: str
    caption: str
    plots: tuple[Axes, ...]


@dataclass(frozen=True)
class Section:
    """The tables and figures of one experiment."""

    title: str
    introduction: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = field(default=())
