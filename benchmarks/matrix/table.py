"""The matrix for readers: a table per formulation, a summary, and CSV."""

from __future__ import annotations

import csv
import io
from statistics import median

from benchmarks.matrix.cells import RULES, Cell
from benchmarks.matrix.result import Result

HEAD = (
    "set",
    "C",
    "intercept",
    "ours",
    "rival",
    "ratio",
    "",
    "processor",
    "tol",
    "objective",
    "rival's",
)
RIGHT = frozenset((1, 3, 4, 5, 7, 8, 9, 10))
# Weston-Watkins to a gap of 1 %: the most seconds.
SECONDS = {
    Cell("usps", "ww", 1.0, False): 3.0,
    Cell("letter", "ww", 10.0, False): 3.0,
}


def by_formulation(results: list[Result]) -> dict[str, list[Result]]:
    """Those of each key of `RULES` that has any."""
    found = {name: [r for r in results if r.cell.name == name] for name in RULES}
    return {name: part for name, part in found.items() if part}


def title(name: str) -> str:
    """What the ratios of a formulation are, and their bar."""
    rule = RULES[name]
    how = "until its objective" if rule.against_peer else "to a gap of 1 %"
    return f"{rule.title} next to {rule.rival_title}, {how}; ratio at least {rule.bar:.3g}"


def lines(results: list[Result]) -> list[tuple[str, ...]]:
    """A head and a line for each cell of one formulation."""
    return [HEAD, *map(_line, results)]


def _line(result: Result) -> tuple[str, ...]:
    cell, row = result.cell, result.as_dict()
    mark = "red" if result.red else "skipped" if result.skipped else ""
    return (
        cell.dataset,
        f"{cell.C:g}",
        "yes" if cell.intercept else "no",
        _seconds(row["seconds"], result, stopped=result.ours.problem),
        _seconds(row["rival_seconds"], result, stopped=result.rival.problem),
        ratio_text(result),
        mark,
        "-" if result.cpu_ratio is None else f"{result.cpu_ratio:.2f}",
        "-" if result.tol is None else f"{result.tol:g}",
        *(
            "-" if row[key] is None else f"{row[key]:.7g}"
            for key in ("objective", "rival_objective")
        ),
    )


def _seconds(seconds: float | None, result: Result, stopped: str | None) -> str:
    if seconds is not None:
        return f"{seconds:.4f}" if seconds < 1 else f"{seconds:.2f}"
    return f">{result.limit_s:g}" if (stopped or "").startswith("stopped") else "-"


def ratio_text(result: Result) -> str:
    """The ratio, as a bound where one of the two was stopped."""
    return "-" if result.ratio is None else f"{result.bound}{result.ratio:.2f}"


def summary(results: list[Result]) -> list[str]:
    """Per formulation the median ratio and the red cells; then seconds that have a bar."""
    said = []
    for name, part in by_formulation(results).items():
        rule = RULES[name]
        # Where ours failed, the ratio counts as 0.
        ratios = [result.ratio or 0.0 for result in part if result.ratio is not None or result.red]
        red = [result for result in part if result.red]
        middle = f"median {median(ratios):.2f}" if ratios else "no ratio"
        bar = "" if rule.median_bar is None else f" (bar {rule.median_bar:g})"
        said.append(f"{name}: {middle}{bar}, {len(red)} red of {len(part)} cells")
        said += [f"  red: {result.cell}: {ratio_text(result)}" for result in red]
    for result in results:
        bar_s = SECONDS.get(result.cell)
        if bar_s is not None and result.ours.results:
            said.append(f"{result.cell}: {result.ours.seconds:.2f} s (bar {bar_s:g} s)")
    return said


def problems(results: list[Result]) -> list[str]:
    """Why cells have no ratio, once for each reason."""
    return list(dict.fromkeys(result.problem for result in results if result.problem))


def as_csv(results: list[Result]) -> bytes:
    """All cells and columns."""
    rows = [result.as_dict() for result in results]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
