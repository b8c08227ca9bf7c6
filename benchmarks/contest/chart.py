"""Bars of the table that ``python -m benchmarks --csv FILE`` writes.

    python -m benchmarks.contest.chart FILE.csv CHART.svg

One panel for each problem that a peer solves, too. A bar is the processor seconds of one thread
until the weights are close to the optimum of that problem.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.contest.climbs import GOAL
from benchmarks.contest.table import TITLES
from benchmarks.peers import peer
from multimargin.io._atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS = "#0072b2", "#b8c0cc"
_CUT = 2.5  # a bar that is so many times as long as the next one is cut
_SETTINGS = {
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "multimargin",  # the same chart is the same file
    "font.size": 10,
}


@dataclass(frozen=True)
class Bar:
    """One trainer and one problem.

    Attributes
    ----------
    above : float or None
        How far above the optimum it ended, if that is more than the goal.
    """

    title: str
    seconds: float
    ours: bool
    above: float | None = None


def panels(table: str, dataset: str | None = None) -> tuple[str, dict[str, list[Bar]]]:
    """Find the bars of a table.

    Parameters
    ----------
    table : str
        The text of the CSV.
    dataset : str or None
        One of its data sets; None: the first.

    Returns
    -------
    dataset : str
    panels : dict of list of Bar
        By the loss; ours is the first bar, the others follow by their seconds.

    Raises
    ------
    ValueError
        If no run of one thread on that data set has a peer beside it.
    """
    rows = [row for row in csv.DictReader(io.StringIO(table)) if row["threads"] == "1"]
    rows = [row for row in rows if row["cpu_seconds"]]
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    if not names or (dataset is not None and dataset not in names):
        raise ValueError(
            f"the table has no measured runs with one thread on {dataset or 'any data set'}; "
            f"it has: {', '.join(names) or 'none'}"
        )
    dataset = dataset or names[0]
    found: dict[str, list[Bar]] = {loss: [] for loss in TITLES}
    for row in rows:
        if row["dataset"] == dataset:
            ours = row["peer"] == "multimargin"
            above = None if row["reached"] == "True" else float(row["above_optimum"])
            seconds = float(row["cpu_seconds"])
            found[row["loss"]].append(Bar(peer(row["peer"]).TITLE, seconds, ours, above))
    compared = {
        loss: sorted(bars, key=lambda bar: (not bar.ours, bar.seconds))
        for loss, bars in found.items()
        if len(bars) > 1 and any(bar.ours for bar in bars)
    }
    if not compared:
        raise ValueError(f"the table has no peer beside multimargin on {dataset}")
    return dataset, compared


def edge(found: dict[str, list[Bar]]) -> float:
    """Where the axis ends: at the longest bar, or at the next one if the longest dwarfs it."""
    *_, following, longest = sorted(bar.seconds for bars in found.values() for bar in bars)
    return 1.3 * following if longest > _CUT * following else longest


def draw(dataset: str, found: dict[str, list[Bar]]) -> bytes:
    """Draw the panels one below the other on the same scale, as SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    heights = [len(bars) for bars in found.values()]
    with matplotlib.rc_context(_SETTINGS):
        size = (7.5, 0.5 + 0.45 * len(heights) + 0.27 * sum(heights))
        figure = Figure(figsize=size, layout="constrained")
        every = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (loss, bars) in zip(every, found.items(), strict=True):
            axes.set_title(TITLES[loss], loc="left", fontweight="bold", fontsize=10)
            _panel(axes, bars, edge(found))
        figure.suptitle(
            f"Processor seconds to within {GOAL:.0%} of the optimum ({dataset}, C = 1, one thread)",
            fontsize=11,
        )
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _panel(axes: Axes, bars: Sequence[Bar], end: float) -> None:
    for place, bar in enumerate(bars):
        colour = _OURS if bar.ours else _THEIRS
        axes.barh(place, min(bar.seconds, end), color=colour, height=0.75)
        cut = "… " if bar.seconds > end else ""
        ratio = "" if bar.ours else f"  ({bar.seconds / bars[0].seconds:.1f}×)"
        more = "" if bar.above is None else f", {bar.above:.0%} above the optimum"
        text = f" {cut}{bar.seconds:.2f} s{ratio}{more}"
        axes.text(min(bar.seconds, end), place, text, va="center")
    axes.set_yticks(range(len(bars)), [bar.title for bar in bars])
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, 1.7 * end)  # room for the figures behind the bars
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the chart that the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contest.chart", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("table", type=Path, help="a file of `python -m benchmarks --csv`")
    parser.add_argument("chart", type=Path, help="the SVG file to write")
    parser.add_argument("--dataset", help="one of the table's data sets (default: the first)")
    args = parser.parse_args(argv)
    try:
        drawn = draw(*panels(args.table.read_text(encoding="utf-8"), args.dataset))
    except (OSError, ValueError, KeyError) as error:
        reason = f"it lacks the column {error}" if isinstance(error, KeyError) else error
        print(f"{args.table}: {reason}", file=sys.stderr)
        return 1
    with atomic_write(args.chart) as file:
        file.write(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
