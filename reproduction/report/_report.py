"""The report: one HTML file that needs no other, no script and no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from reproduction.experiments._experiment import Missing
from reproduction.report import _html
from reproduction.report._document import Section
from reproduction.report._plots import Drawing
from reproduction.runner._cell import UNLIKE
from reproduction.runner._store import Kept, Session

_TITLE = "Distributed Optimization of Multi-Class SVMs, made again"
_ABOUT = """\
<p>The tables and figures of <cite>Distributed Optimization of Multi-Class SVMs</cite> (Alber,
Zimmert, Dogan and Kloft), with what <code>multimargin</code> measured on the machines named below
beside the paper’s own figures. What could not be measured is left empty, with the reason.</p>"""
_HARDWARE = ("processor", "cores", "memory", "system")
_SOFTWARE = ("multimargin", "python", "numpy", "scipy", "scikit-learn", "mpi4py")


@dataclass(frozen=True)
class Chapter:
    """One experiment in the report.

    Attributes
    ----------
    name : str
        Of the experiment.
    section : Section
    results : tuple of Kept
        All that the section was made of.
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
    """All that the page says; `drawings` are by the names of figures, `undrawn` says why not."""

    chapters: tuple[Chapter, ...]
    sessions: tuple[Session, ...]
    drawings: Mapping[str, Drawing]
    undrawn: str
    version: str
    commit: str
    command: str
    written: str


def page(report: Report) -> str:
    """The whole file."""
    style = (files("reproduction.report") / "report.css").read_text(encoding="utf-8")
    chapters = "\n".join(_chapter(chapter, report) for chapter in report.chapters)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="multimargin {escape(report.version)}">
<title>{escape(_TITLE)}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#content">To the results</a>
<header>
<h1>{escape(_TITLE)}</h1>
{_about(report)}
{_legend()}
{_contents(report)}
</header>
<main id="content">
{_machines(report)}
{_missing(report)}
{chapters}
</main>
<footer>
<p>Written {escape(report.written)} by multimargin {escape(report.version)}. Every run is in
<a href="results.csv">results.csv</a> and <a href="results.json">results.json</a>, every figure in
<a href="figures/">figures/</a>, beside this file.</p>
</footer>
</body>
</html>
"""


def _about(report: Report) -> str:
    done = sum(chapter.done for chapter in report.chapters)
    planned = sum(chapter.planned for chapter in report.chapters)
    facts = {
        "Runs": f"{done} made of {planned} that can be made here",
        "Command": f"`{report.command}`",
        "Version": f"multimargin {report.version}, commit {report.commit}",
        "Written": report.written,
    }
    items = "".join(f"<dt>{name}</dt><dd>{_html.words(text)}</dd>" for name, text in facts.items())
    return f'{_ABOUT}\n<dl class="facts">{items}</dl>'


def _legend() -> str:
    marks = "".join(
        f'<li class="{tone}"><span class="mark">{mark}</span> {meaning}</li>'
        for tone, (mark, meaning) in _html.MARKS.items()
    )
    return (
        f'<ul class="legend" aria-label="Legend">{marks}<li class="paper">the paper’s figures</li>'
        "<li>curves: paper dashed, ours solid</li></ul>"
    )


def _contents(report: Report) -> str:
    entries = [("machines", "Machines and versions")]
    if any(chapter.missing for chapter in report.chapters):
        entries.append(("missing", "What is missing here"))
    entries += [(_anchor(chapter), chapter.section.title) for chapter in report.chapters]
    items = "".join(f'<li><a href="#{a}">{escape(title)}</a></li>' for a, title in entries)
    return f'<nav aria-label="Contents"><ol>{items}</ol></nav>'


def _anchor(chapter: Chapter) -> str:
    return f"experiment-{_html.slug(chapter.name)}"


def _machines(report: Report) -> str:
    """Where and by what all of it was measured; the starts of the command are to unfold."""
    heading = '<section><h2 id="machines">Machines and versions</h2>'
    if not report.sessions:
        return f"{heading}<p>Nothing has been measured yet.</p></section>"
    runs: Counter[str] = Counter()
    for chapter in report.chapters:
        runs.update(kept.session.id for kept in chapter.results)
    latest = {session.machine: session for session in report.sessions}
    machines = _html.facts(
        "Machines",
        ("machine", "processor", "cores", "memory", "system"),
        [[name, *_pick(s.hardware, _HARDWARE)] for name, s in latest.items()],
    )
    versions = Counter[tuple[str, ...]]()
    for session in report.sessions:
        versions[(*_pick(session.software, _SOFTWARE), session.commit)] += runs[session.id]
    software = _html.facts(
        "Versions",
        (*_SOFTWARE, "commit", "runs"),
        [[*names, str(count)] for names, count in versions.items()],
    )
    starts = _html.facts(
        "Starts of the command",
        ("time", "machine", "load before", "runs", "command"),
        [
            [s.started, s.machine, s.load, str(runs[s.id]), f"`{s.command}`"]
            for s in report.sessions
        ],
    )
    return (
        f"{heading}{machines}\n{software}\n"
        f"<details><summary>Starts of the command</summary>{starts}</details></section>"
    )


def _pick(facts: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    return [facts.get(name, "unknown") for name in names]


def _missing(report: Report) -> str:
    """Each thing once, with the experiments that would use it."""
    users: dict[tuple[str, str], dict[str, Missing]] = {}
    for chapter in report.chapters:
        for missing in chapter.missing:
            users.setdefault((missing.name, missing.remedy), {})[chapter.name] = missing
    if not users:
        return ""
    rows = []
    for (name, remedy), by in users.items():
        rows.append([name, next(iter(by.values())).why, remedy, ", ".join(by)])
    return (
        '<section><h2 id="missing">What is missing here</h2>'
        "<p>Runs that need these were left out; nothing stands in for them unless it says so.</p>"
        + _html.facts("Missing", ("name", "why", "remedy", "for"), rows)
        + "</section>"
    )


def _chapter(chapter: Chapter, report: Report) -> str:
    section, anchor = chapter.section, _anchor(chapter)
    parts = [
        f'<section><h2 id="{anchor}">{escape(section.title)}</h2>',
        _html.paragraphs(section.introduction),
        _html.bullets(section.notes),
        _state(chapter, report.version),
    ]
    parts += [_html.table(each, f"{anchor}-table-{i}") for i, each in enumerate(section.tables)]
    if section.figures and report.undrawn:
        parts.append(f'<p class="warning">{_html.words(report.undrawn)}</p>')
    parts += [_html.figure(each, report.drawings.get(each.name)) for each in section.figures]
    return "\n".join(part for part in [*parts, "</section>"] if part)


def _state(chapter: Chapter, version: str) -> str:
    """What a reader must know before believing a table: runs that are not there, or are old."""
    remarks = []
    if chapter.done < chapter.planned:
        remarks.append(
            f"{chapter.done} of {chapter.planned} runs were made so far; "
            "the same command makes the others."
        )
    others = sum(not kept.record.failed for kept in chapter.results) - chapter.done
    if others > 0:
        remarks.append(
            f"{others} of the runs kept are not among these: they were made with other options, "
            "such as another time limit, and are shown where nothing else is."
        )
    old = Counter(
        kept.session.version for kept in chapter.results if kept.session.version != version
    )
    remarks += [
        f"{count} of the runs shown were made by multimargin {other}, not by {version}."
        for other, count in old.items()
    ]
    commits = Counter(kept.session.commit for kept in chapter.results)
    if len(commits) > 1:
        by = ", ".join(f"{count} by {commit}" for commit, count in commits.items())
        remarks.append(f"The runs shown were made by several commits of multimargin: {by}.")
    unlike = (str(kept.record.measured.get(UNLIKE, "")) for kept in chapter.results)
    remarks += [
        f"Other data than their name says: {each}." for each in dict.fromkeys(unlike) if each
    ]
    failed = [kept.record for kept in chapter.results if kept.record.failed]
    remarks += [f"Failed: {record.cell}: {record.measured['error']}" for record in failed]
    items = "".join(f"<li>{_html.words(remark)}</li>" for remark in remarks)
    return f'<div class="warning"><ul>{items}</ul></div>' if items else ""
