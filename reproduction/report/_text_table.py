"""Tables as aligned plain text, for a terminal."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap

from reproduction.interface._document import MANY_NOTES, Entry, Section, Table, Tone
from reproduction.report._figure_numbers import numbers

# Of an entry that is compared with the paper's; the legend of every report has them too.
MARKS: dict[Tone, str] = {"equal": "=", "near": "~", "differs": "!="}
_LEGEND = "=: the paper's and ours are equal; ~: near each other; !=: they differ"
_GAP = "  "
_WIDTH = 100


def section_text(section: Section) -> str:
    """Return the tables of an experiment, and the numbers of its figures as tables."""
    tables = [*section.tables]
    tables += [numbers(figure, axes) for figure in section.figures for axes in figure.plots]
    parts = [_underlined(section.title, "="), *(table_text(table) for table in tables)]
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes))
    return "\n\n".join(parts)


def table_text(table: Table) -> str:
    """Return a table with its title above and its notes below."""
    entries = [entry for row in table.rows for entry in row.entries if entry.note]
    many = len({entry.note for entry in entries}) > MANY_NOTES
    notes: dict[str, int] = {}
    body = [[_cell(entry, notes, many) for entry in row.entries] for row in table.rows]
    # Marks stand in a column of their own, so that the numbers stay below each other.
    room = [max((len(line[i][1]) for line in body), default=0) for i in range(len(table.columns))]
    texts = [[_joined(*cell, n) for cell, n in zip(line, room, strict=True)] for line in body]
    titles = [column.title for column in table.columns]
    widths = [max(map(len, column)) for column in zip(titles, *texts, strict=True)]
    groups = _groups(table, widths)
    lines = [_underlined(table.title, "-")]
    lines += [*wrap(table.caption, _WIDTH), ""] if table.caption else []
    if any(column.group for column in table.columns):
        lines.append(_GAP.join(groups).rstrip())
    lines.append(_aligned(titles, widths))
    lines.append(_GAP.join("-" * width for width in widths))
    section = ""
    for row, line in zip(table.rows, texts, strict=True):
        if row.section and row.section != section:
            lines.append(row.section)
        section = row.section
        lines.append(_aligned(line, widths))
    if any(entry.tone in MARKS for row in table.rows for entry in row.entries):
        lines.append(_LEGEND)
    lines += [f"[{number}] {note}" for note, number in notes.items()]
    if many:
        lines.append("(The notes of single figures are in the report.)")
    lines += [f"- {note}" for note in table.notes]
    return "\n".join(lines)


def _cell(entry: Entry, notes: dict[str, int], many: bool) -> tuple[str, str]:
    """Return the text of an entry and its mark; the same note has the same number in a table.

    Of many notes, only those that say why something is missing are shown.
    """
    mark = MARKS.get(entry.tone, "")
    if entry.note and (entry.tone == "missing" or not many):
        mark += f"[{notes.setdefault(entry.note, len(notes) + 1)}]"
    return entry.shown, mark


def _joined(text: str, mark: str, room: int) -> str:
    return f"{text} {mark:<{room}}" if room else text


def _groups(table: Table, widths: list[int]) -> list[str]:
    """Return the headings of column groups; widen columns whose heading needs more room."""
    found = []
    at = 0
    for name, columns in groupby(column.group for column in table.columns):
        count = len(list(columns))
        width = sum(widths[at : at + count]) + len(_GAP) * (count - 1)
        widths[at + count - 1] += max(0, len(name) - width)
        width = max(width, len(name))
        found.append(f" {name} ".center(width, "-") if name and width > len(name) + 1 else name)
        found[-1] = found[-1].ljust(width)
        at += count
    return found


def _aligned(texts: list[str], widths: list[int]) -> str:
    """Align the first column to the left, numbers to the right."""
    first, *rest = (
        text.rjust(width) if i else text.ljust(width)
        for i, (text, width) in enumerate(zip(texts, widths, strict=True))
    )
    return _GAP.join([first, *rest]).rstrip()


def _underlined(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"
