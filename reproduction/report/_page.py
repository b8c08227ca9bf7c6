"""The report: one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from reproduction.interface._cell import UNLIKE
from reproduction.interface._document import MANY_NOTES, Column, Row, Section, Table, Tone
from reproduction.interface._experiment import Missing
from reproduction.report._figure_numbers import numbers
from reproduction.report._plots import Drawing
from reproduction.runner._store import Kept, Session

_FOLDER = Path(__file__).parent
# The marks of entries that are compared with the paper's, and the words for those who cannot see.
_MARKS: dict[Tone, tuple[str, str]] = {
    "equal": ("=", "paper’s and ours are equal"),
    "near": ("≈", "near each other"),
    "differs": ("≠", "differ"),
}
_HARDWARE = ["processor", "cores", "memory", "system"]
_SOFTWARE = ["multimargin", "python", "numpy", "scipy", "scikit-learn", "mpi4py"]
_CODE_OR_ADDRESS = re.compile(r"(`[^`]+`|https?://[^\s<>\"'`]+[^\s<>\"'`.,;:)])")


@dataclass(frozen=True)
class Chapter:
    """One experiment in the report.

    Attributes
    ----------
    name : str
        The name of the experiment.
    section : Section
    results : tuple of Kept
        All results that the section shows.
    planned, done : int
        Runs that can be made here, and how many of them were.
    missing : tuple of Missing
    """

    name: str
    section: Section
    results: tuple[Kept, ...]
    planned: int
    done: int
    missing: tuple[Missing, ...]


@dataclass(frozen=True)
class Report:
    """Everything on the page; `drawings` are by the names of figures, `undrawn` says why not."""

    chapters: tuple[Chapter, ...]
    sessions: tuple[Session, ...]
    drawings: Mapping[str, Drawing]
    undrawn: str
    version: str
    commit: str
    command: str
    written: str


def page(report: Report) -> str:
    """Return the whole file."""
    runs = Counter(kept.session.id for chapter in report.chapters for kept in chapter.results)
    return (
        _templates()
        .get_template("page.html.jinja")
        .render(
            report=report,
            style=(_FOLDER / "report.css").read_text(encoding="utf-8"),
            hardware=_HARDWARE,
            software=_SOFTWARE,
            machines=_machines(report.sessions),
            versions=_versions(report.sessions, runs),
            starts=[
                [s.started, s.machine, s.load, str(runs[s.id]), f"`{s.command}`"]
                for s in report.sessions
            ],
            missing=_missing(report.chapters),
        )
    )


def table_html(table: Table, anchor: str) -> str:
    """Return a table alone, with its notes below."""
    elements: Any = _templates().get_template("elements.html.jinja").module
    return str(elements.table(table, anchor))


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    functions = (words, slug, numbers, numbered_notes, group_starts, groups, sections, remarks)
    templates.filters.update({each.__name__: each for each in functions})
    templates.globals.update(marks=_MARKS, many_notes=MANY_NOTES)
    return templates


# ---------------------------------------------------------------- filters


def slug(text: str) -> str:
    """Return a name for ids and files."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def words(text: str) -> Markup:
    """Return text as HTML, with `code` and addresses marked as such."""
    parts = Markup()
    for part in _CODE_OR_ADDRESS.split(text):
        if part.startswith("`") and part.endswith("`") and len(part) > 2:
            parts += Markup("<code>{}</code>").format(part[1:-1])
        elif part.startswith(("http://", "https://")):
            parts += Markup('<a href="{0}">{0}</a>').format(part)
        else:
            parts += escape(part)
    return parts


def numbered_notes(table: Table) -> dict[str, int]:
    """Return the notes of entries; the same note has the same number throughout a table."""
    notes = dict.fromkeys(e.note for row in table.rows for e in row.entries if e.note)
    return {note: number for number, note in enumerate(notes, 1)}


def groups(columns: Sequence[Column]) -> Iterator[tuple[int, str, int]]:
    """Yield the first column, the name and the width of each group of columns."""
    at = 0
    for name, members in groupby(columns, lambda column: column.group):
        count = len(list(members))
        yield at, name, count
        at += count


def group_starts(columns: Sequence[Column]) -> list[str]:
    """Return a class for each column: "first" in a group has a line to its left."""
    starts = {at for at, *_ in groups(columns) if at}
    return ["first" if i in starts else "" for i in range(len(columns))]


def sections(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows by section."""
    for name, members in groupby(rows, lambda row: row.section):
        yield name, list(members)


def remarks(chapter: Chapter, version: str) -> list[str]:
    """Return what a reader must know before believing a table: runs that are missing, or old."""
    results = chapter.results
    found = []
    if chapter.done < chapter.planned:
        found.append(
            f"{chapter.done} of {chapter.planned} runs were made so far; "
            "the same command makes the others."
        )
    others = sum(not kept.record.failed for kept in results) - chapter.done
    if others > 0:
        found.append(
            f"{others} of the runs kept are not among these: they were made with other options, "
            "such as another time limit, and are shown where nothing else is."
        )
    old = Counter(kept.session.version for kept in results if kept.session.version != version)
    found += [
        f"{count} of the runs shown were made by multimargin {other}, not by {version}."
        for other, count in old.items()
    ]
    commits = Counter(kept.session.commit for kept in results)
    if len(commits) > 1:
        by = ", ".join(f"{count} by {commit}" for commit, count in commits.items())
        found.append(f"The runs shown were made by several commits of multimargin: {by}.")
    unlike = dict.fromkeys(str(kept.record.measured.get(UNLIKE, "")) for kept in results)
    found += [f"Other data than their name says: {each}." for each in unlike if each]
    failed = [kept.record for kept in results if kept.record.failed]
    return found + [f"Failed: {record.cell}: {record.measured['error']}" for record in failed]


# ---------------------------------------------------------------- rows of tables


def _machines(sessions: Sequence[Session]) -> list[list[str]]:
    latest = {session.machine: session.hardware for session in sessions}
    return [[name, *_pick(facts, _HARDWARE)] for name, facts in latest.items()]


def _versions(sessions: Sequence[Session], runs: Counter[str]) -> list[list[str]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for session in sessions:
        counts[(*_pick(session.software, _SOFTWARE), session.commit)] += runs[session.id]
    return [[*names, str(count)] for names, count in counts.items()]


def _pick(facts: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return [facts.get(name, "unknown") for name in names]


def _missing(chapters: Sequence[Chapter]) -> list[list[str]]:
    """Name each missing thing once, with the experiments that would use it."""
    users: dict[tuple[str, str], dict[str, Missing]] = {}
    for chapter in chapters:
        for missing in chapter.missing:
            users.setdefault((missing.name, missing.remedy), {})[chapter.name] = missing
    return [
        [name, next(iter(by.values())).why, remedy, ", ".join(by)]
        for (name, remedy), by in users.items()
    ]
