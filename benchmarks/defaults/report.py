"""What the study says, as text and as tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from benchmarks.defaults import analysis
from benchmarks.defaults.analysis import Candidate, Standing
from benchmarks.defaults.choices import FEW_CLASSES_KINDS, KINDS, LINEAR_SVC, Kind
from benchmarks.defaults.results import Row
from benchmarks.defaults.sets import SETS

_HEAD = ("default", "sets", "rank", "regret", "worst", "on", "strict", "F1", "top-5")
_TIMES = ("time", "most")
_BEST_RULES = 5
# In the tables of the guide.
_SHOWN = (
    Kind("cs", intercept=True),
    Kind("cs"),
    Kind("ww", intercept=True),
    Kind("ovr", "squared_hinge", True),
)


def text(rows: Sequence[Row]) -> str:
    """Rules, standings on both halves and on all sets, and the tables of the guide."""
    there = list(dict.fromkeys(row.dataset for row in rows))
    halves = {
        "sets that chose the numbers": [n for n in there if SETS[n].chooses],
        "the other sets": [n for n in there if not SETS[n].chooses and not SETS[n].large],
        "all sets but the large ones": [n for n in there if not SETS[n].large],
    }
    parts = [_rules(rows)]
    which = analysis.candidates(rows)
    for title, names in halves.items():
        found = analysis.standings(rows, names, which)
        if found:
            parts.append(f"{title}: {', '.join(names)}\n\n{_standings(found)}")
    return "\n\n".join([*parts, markdown(rows)])


def _rules(rows: Sequence[Row]) -> str:
    lines = ["Rules for C by mean error on the sets that choose, %"]
    for kind in (*KINDS, *FEW_CLASSES_KINDS):
        errors = list(analysis.rule_errors(rows, kind).items())[:_BEST_RULES]
        said = "; ".join(f"{rule} {100 * error:.2f}" for rule, error in errors)
        lines += [f"{kind}: {said}"] if said else []
    return "\n".join(lines)


def _standings(found: Sequence[Standing]) -> str:
    lines = [_markdown_line((*_HEAD, *_TIMES)), "|---|" + "---|" * (len(_HEAD) + 1)]
    for each in found:
        numbers = (each.rank, each.regret, each.worst, each.strict, each.f1_regret)
        rank, regret, worst, strict, f1 = (f"{number:.2f}" for number in numbers)
        time = (f"{each.slowdown:.1f}", f"{each.most_slowdown:.1f}")
        cells = (str(each.candidate), str(each.sets), rank, regret, worst, each.worst_set, strict)
        lines.append(_markdown_line((*cells, f1, f"{each.top5_regret:.2f}", *time)))
    return "\n".join(lines)


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown(rows: Sequence[Row]) -> str:
    """Tables of errors and of seconds for the guide: sets by candidates, tuned and LinearSVC."""
    every = analysis.candidates(rows, customary=False)
    which = [each for each in every if each.kind in _SHOWN] or every
    columns = {f"`{each.kind.formulation}`, {_about(each)}": each for each in which}
    at = {title: analysis.at_candidate(rows, each) for title, each in columns.items()}
    linear = {"`LinearSVC`": {row.dataset: row for row in rows if row.kind == LINEAR_SVC}}
    tuned = {
        f"`{name}`, tuned": analysis.tuned(rows, [k for k in KINDS if k.formulation == name])
        for name in dict.fromkeys(kind.formulation for kind in KINDS)
    }
    errors = _table("Test error, %", rows, at | linear | tuned, _percent)
    seconds = _table("Seconds", rows, at | linear, _time)
    return "\n\n".join([errors, _summary(rows, columns), seconds]) + "\n"


def _about(candidate: Candidate) -> str:
    squared = "squared hinge, " if candidate.kind.loss == "squared_hinge" else ""
    without = "" if candidate.kind.intercept else ", no intercept"
    return f"{squared}{candidate.rule}{without}"


def _table(
    title: str,
    rows: Sequence[Row],
    columns: Mapping[str, Mapping[str, Row]],
    cell: Callable[[Row | None], str],
) -> str:
    facts = {row.dataset: row for row in rows}
    lines = [
        _markdown_line((title, "classes", *columns)),
        "|---|" + "---|" * (len(columns) + 1),
    ]
    for name in (name for name in SETS if name in facts):
        cells = [cell(found.get(name)) for found in columns.values()]
        lines.append(_markdown_line((name, f"{facts[name].classes:,}", *cells)))
    return "\n".join(lines)


def _summary(rows: Sequence[Row], columns: Mapping[str, Candidate]) -> str:
    """How the shown candidates stand among all."""
    names = [name for name in SETS if not SETS[name].large]
    found = {s.candidate: s for s in analysis.standings(rows, names, analysis.candidates(rows))}
    shown = {title: found[each] for title, each in columns.items() if each in found}
    figures: dict[str, Callable[[Standing], str]] = {
        "mean rank": lambda s: f"{s.rank:.1f}",
        "mean regret, points": lambda s: f"{s.regret:.2f}",
        "worst regret, points": lambda s: f"{s.worst:.1f} ({s.worst_set})",
        "regret in top-5 error, points": lambda s: f"{s.top5_regret:.2f}",
        "regret in macro-F1, points": lambda s: f"{s.f1_regret:.2f}",
        "time over the fastest": lambda s: f"{s.slowdown:.1f}",
    }
    lines = [_markdown_line(("On all sets", *shown)), "|---|" + "---|" * len(shown)]
    for title, text in figures.items():
        lines.append(_markdown_line((title, *(text(each) for each in shown.values()))))
    return "\n".join(lines)


def _percent(row: Row | None) -> str:
    return "–" if row is None or math.isnan(row.error) else f"{100 * row.error:.1f}"


def _time(row: Row | None) -> str:
    if row is None or not row.cold:
        return "–"
    return f"{row.seconds:.2g}" if row.converged else f"> {row.seconds:.0f}"
