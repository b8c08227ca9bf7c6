"""Write results: CSV and JSON for programs, figures and one HTML page for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import multimargin
from multimargin.io._atomic import atomic_write
from reproduction.interface._document import Figure, Section
from reproduction.measuring._machine import package_commit
from reproduction.report._export import write_csv, write_json
from reproduction.report._page import Chapter, Report, page, slug
from reproduction.report._plots import Drawing, draw, why_not
from reproduction.runner._store import Session, now
from reproduction.runner._task import Task

REPORT = "report.html"
_CSV, _JSON = "results.csv", "results.json"
_GENERATOR = b'<meta name="generator" content="multimargin '


def check_ours(out: Path) -> None:
    """Refuse a folder whose files of these names are not from this package.

    Raises
    ------
    ValueError
        If there are such files, neither beside kept results nor beside a report of this package.
    """
    there = [name for name in (REPORT, _CSV, _JSON) if (out / name).exists()]
    if not there or any((out / "results").glob("*.jsonl")):
        return
    try:
        with (out / REPORT).open("rb") as file:
            ours = _GENERATOR in file.read(4096)
    except OSError:
        ours = False
    if not ours:
        raise ValueError(
            f"{out} holds {' and '.join(there)} of something else, which would be overwritten: "
            "name another folder by --out"
        )


def publish(tasks: Sequence[Task], out: Path, command: str) -> list[Section]:
    """Write ``results.csv``, ``results.json``, ``figures/`` and ``report.html`` of all results.

    Each file is replaced as a whole or not at all; the exports first, since they need nothing
    that a figure could fail by.

    Returns
    -------
    sections : list of Section
        What the experiments show, in the order of `tasks`.
    """
    results = {task.name: tuple(task.results()) for task in tasks}
    sessions = _sessions(tasks)
    write_csv(out / _CSV, [kept for each in results.values() for kept in each])
    write_json(out / _JSON, sessions, {t.name: t.plan for t in tasks}, results)
    chapters = tuple(
        Chapter(
            name=task.name,
            section=task.section(),
            results=results[task.name],
            planned=len(task.cells),
            done=task.done(),
            missing=task.plan.missing,
        )
        for task in tasks
    )
    undrawn = why_not()
    figures = [figure for chapter in chapters for figure in chapter.section.figures]
    drawings = {} if undrawn else _draw(figures, out / "figures")
    report = Report(
        chapters=chapters,
        sessions=sessions,
        drawings=drawings,
        undrawn=undrawn,
        version=multimargin.__version__,
        commit=package_commit(),
        command=command,
        written=now(),
    )
    # Names of folders need not be text.
    _write(out / REPORT, page(report).encode(errors="replace"))
    return [chapter.section for chapter in chapters]


def _sessions(tasks: Sequence[Task]) -> tuple[Session, ...]:
    """Return the sessions of the results in order of time; each may have several experiments."""
    found = {kept.session.id: kept.session for task in tasks for kept in task.results()}
    return tuple(sorted(found.values(), key=lambda session: session.started))


def _draw(figures: Sequence[Figure], folder: Path) -> dict[str, Drawing]:
    drawings = {}
    for figure in figures:
        drawing = drawings[figure.name] = draw(figure)
        folder.mkdir(exist_ok=True)
        _write(folder / f"{slug(figure.name)}.svg", drawing.svg)
        _write(folder / f"{slug(figure.name)}.png", drawing.png)
    return drawings


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
