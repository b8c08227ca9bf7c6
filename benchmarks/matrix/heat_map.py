"""The heat map: a panel per formulation, a row per data set, a column per C and intercept.

The colour is the ratio over its bar: white at the bar, red below, blue above. matplotlib draws it.
"""

from __future__ import annotations

import io
import math
from typing import Any

from benchmarks.matrix.cells import RULES
from benchmarks.matrix.result import Result
from benchmarks.matrix.table import by_formulation, ratio_text

_ENDS = 3.0  # of the colours, as powers of two
_DARK = 2.0  # from here on letters are white


def draw(results: list[Result]) -> dict[str, bytes]:
    """The files by their ending: svg and png."""
    import matplotlib
    from matplotlib.figure import Figure

    panels = by_formulation([result for result in results if not result.skipped])
    rows = [len({r.cell.dataset for r in part}) for part in panels.values()]
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "multimargin"}):
        sheet = Figure(figsize=(7.0, 0.9 * len(rows) + 0.32 * sum(rows)), layout="constrained")
        grid = sheet.subplots(len(panels), 1, squeeze=False, height_ratios=rows)
        for axes, (name, part) in zip(grid[:, 0], panels.items(), strict=True):
            _panel(axes, name, part)
        files = {}
        for ending in ("svg", "png"):
            file = io.BytesIO()
            about = {"Date": None} if ending == "svg" else None  # the same map is the same file
            sheet.savefig(file, format=ending, dpi=150, metadata=about)
            files[ending] = file.getvalue()
    return files


def _panel(axes: Any, name: str, part: list[Result]) -> None:
    rule = RULES[name]
    sets = list(dict.fromkeys(r.cell.dataset for r in part))
    columns = sorted({(r.cell.C, r.cell.intercept) for r in part}, key=lambda c: (c[1], c[0]))
    colours = [[math.nan] * len(columns) for _ in sets]
    for result in part:
        row = sets.index(result.cell.dataset)
        column = columns.index((result.cell.C, result.cell.intercept))
        value = _colour(result)
        colours[row][column] = value
        ink = "white" if abs(value) > _DARK else "black"
        axes.text(column, row, ratio_text(result), ha="center", va="center", color=ink, fontsize=8)
    axes.imshow(colours, cmap="RdBu", vmin=-_ENDS, vmax=_ENDS, aspect="auto")
    axes.set_title(
        f"{rule.title}: times as fast as {rule.rival_title} (bar {rule.bar:.2g})", fontsize=9
    )
    axes.set_yticks(range(len(sets)), [each.removesuffix(".npz") for each in sets], fontsize=8)
    names = [f"C = {C:g}" + ("\nintercept" if intercept else "") for C, intercept in columns]
    axes.set_xticks(range(len(columns)), names, fontsize=8)
    axes.tick_params(length=0)


def _colour(result: Result) -> float:
    """The logarithm of the ratio over its bar; the darkest red where ours did not get there."""
    if result.ratio is None:
        return -_ENDS if result.red else 0.0
    return max(-_ENDS, min(_ENDS, math.log2(result.ratio / result.cell.rule.bar)))
