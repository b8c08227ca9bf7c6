"""Tables, figures and words as HTML elements. All text is escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from itertools import groupby

from reproduction.report._document import Entry, Figure, Row, Table, Tone
from reproduction.report._figure_numbers import numbers
from reproduction.report._plots import Drawing

# What tones mean. A mark is never the only carrier either: readers that speak say the words.
MARKS: dict[Tone, tuple[str, str]] = {
    "equal": ("=", "paper’s and ours are equal"),
    "near": ("≈", "near each other"),
    "differs": ("≠", "differ"),
}
# For an entry that is missing and says nothing itself. Not a dash: with the number of a note it
# would read as a negative number.
NOTHING = "n/a"
MANY_NOTES = 12  # of a table, from which on they hide what they are about


def slug(text: str) -> str:
    """A name for ids and files."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def words(text: str) -> str:
    """Text in which `code` and addresses are recognised."""
    parts = re.split(r"(`[^`]+`|https?://[^\s<>\"'`]+[^\s<>\"'`.,;:)])", text)
    return "".join(_part(part) for part in parts)


def _part(part: str) -> str:
    if part.startswith("`") and part.endswith("`") and len(part) > 2:
        return f"<code>{escape(part[1:-1])}</code>"
    if part.startswith(("http://", "https://")):
        return f'<a href="{escape(part)}">{escape(part)}</a>'
    return escape(part)


def paragraphs(text: str) -> str:
    """Text in which an empty line begins a new paragraph."""
    found = (part.strip() for part in re.split(r"\n\s*\n", text))
    return "\n".join(f"<p>{words(part)}</p>" for part in found if part)


def bullets(notes: Iterable[str]) -> str:
    """Remarks below something; nothing if there are none."""
    items = "".join(f"<li>{words(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if items else ""


def facts(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of words, such as that of the machines."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = ""
    for first, *rest in rows:
        cells = "".join(f"<td>{words(cell)}</td>" for cell in rest)
        body += f'<tr><th scope="row">{words(first)}</th>{cells}</tr>\n'
    anchor = f"facts-{slug(title)}"
    caption = f'<caption id="{anchor}"><span class="caption">{escape(title)}</span></caption>'
    return _box(anchor, f'<table class="words">{caption}<thead><tr>{head}</tr></thead>', body)


def table(content: Table, anchor: str) -> str:
    """A table in a box of its own that scrolls, with its notes below."""
    notes: dict[str, int] = {}
    starts = _group_starts(content)
    body = ""
    section = ""
    for row in content.rows:
        if not body or row.section != section:
            body += ("</tbody>" if body else "") + "<tbody>"
            if row.section:
                body += _section_row(row.section, len(content.columns))
        section = row.section
        body += _row(row, starts, anchor, notes)
    body += "</tbody>" if body else ""
    caption = (
        f'<caption id="{anchor}"><span class="caption"><strong>{words(content.title)}</strong>'
        f'<span class="more">{words(content.caption)}</span></span></caption>'
    )
    opening = '<table class="noted">' if notes else "<table>"
    parts = [
        _box(anchor, f"{opening}{caption}{_head(content, starts)}", body),
        bullets(content.notes),
        _numbered(notes, anchor),
    ]
    return "\n".join(part for part in parts if part)


def _numbered(notes: dict[str, int], anchor: str) -> str:
    """The notes of entries; many are folded, and unfold for those who follow a link to one."""
    items = "".join(
        f'<li id="{anchor}-note-{number}">{words(note)}</li>' for note, number in notes.items()
    )
    listed = f'<ol class="notes">{items}</ol>' if items else ""
    if len(notes) <= MANY_NOTES:
        return listed
    return f"<details><summary>{len(notes)} notes</summary>{listed}</details>"


def _box(anchor: str, opening: str, body: str) -> str:
    # Focusable, so that it can be scrolled by keys.
    return (
        f'<div class="scroll" role="region" aria-labelledby="{anchor}" tabindex="0">'
        f"{opening}\n{body}</table></div>"
    )


def _group_starts(content: Table) -> set[int]:
    """Columns at which another group begins: they have a line to their left."""
    groups = [column.group for column in content.columns]
    return {i for i in range(1, len(groups)) if groups[i] != groups[i - 1]}


def _first(i: int, starts: set[int]) -> str:
    return "first" if i in starts else ""


def _head(content: Table, starts: set[int]) -> str:
    head = ""
    if any(column.group for column in content.columns):
        at = 0
        for name, columns in groupby(column.group for column in content.columns):
            count = len(list(columns))
            attributes = _classes(_first(at, starts))
            head += (
                f'<th scope="colgroup" colspan="{count}"{attributes}>{words(name)}</th>'
                if name
                else f'<td colspan="{count}"{attributes}></td>'
            )
            at += count
        head = f"<tr>{head}</tr>\n"
    titles = "".join(
        f'<th scope="col"{_classes(_first(i, starts))}>{words(column.title)}</th>'
        for i, column in enumerate(content.columns)
    )
    return f"<thead>{head}<tr>{titles}</tr></thead>"


def _section_row(name: str, width: int) -> str:
    return f'<tr><th scope="rowgroup" colspan="{width}"><span>{words(name)}</span></th></tr>\n'


def _row(row: Row, starts: set[int], anchor: str, notes: dict[str, int]) -> str:
    cells = ""
    for i, entry in enumerate(row.entries):
        tag, scope = ("td", "") if i else ("th", ' scope="row"')
        classes = _classes(entry.tone, "strong" if entry.bold else "", _first(i, starts))
        cells += f"<{tag}{scope}{classes}>{_entry(entry, anchor, notes)}</{tag}>"
    return f"<tr>{cells}</tr>\n"


def _classes(*names: str) -> str:
    found = " ".join(name for name in names if name and name != "plain")
    return f' class="{found}"' if found else ""


def _entry(entry: Entry, anchor: str, notes: dict[str, int]) -> str:
    text = words(entry.text or (NOTHING if entry.tone == "missing" else ""))
    if entry.tone in MARKS:
        mark, meaning = MARKS[entry.tone]
        text += (
            f'<span class="mark" aria-hidden="true">{mark}</span>'
            f'<span class="hidden"> {meaning}</span>'
        )
    if entry.note:
        number = notes.setdefault(entry.note, len(notes) + 1)
        text += f'<sup><a href="#{anchor}-note-{number}">{number}</a></sup>'
    return text


def figure(content: Figure, drawing: Drawing | None) -> str:
    """A figure, with its numbers to unfold; where it cannot be drawn, with its numbers alone."""
    anchor = f"figure-{slug(content.name)}"
    tables = "\n".join(
        table(numbers(content, axes), f"{anchor}-numbers-{i}")
        for i, axes in enumerate(content.plots)
    )
    caption = (
        f"<figcaption><strong>{words(content.title)}.</strong> {words(content.caption)}"
        "</figcaption>"
    )
    if drawing is None:
        return f'<figure id="{anchor}">{caption}</figure>\n{tables}'
    plots = "\n".join(drawing.inline)
    return (
        f'<figure id="{anchor}"><div class="plots">{plots}</div>{caption}</figure>\n'
        f"<details><summary>Numbers of this figure</summary>\n{tables}</details>"
    )
