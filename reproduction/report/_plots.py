"""Figures, drawn by matplotlib: the paper's curves dashed and hollow, ours solid and filled."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from reproduction.interface._document import Axes, Figure, Line
from reproduction.report._figure_numbers import label, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Canvas
    from matplotlib.figure import Figure as Sheet

# Told apart by people with any kind of colour vision (Okabe and Ito), the pale ones darkened so
# that all have a contrast of at least 3 to white. In a page they are the variables --series-0 ...
PALETTE = ("#0072b2", "#d55e00", "#00875f", "#a8518a", "#b37400", "#3a7ca5", "#5c5c5c")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")  # one more than colours: pairs repeat late
_INK = "#010203"  # of everything else: becomes the colour of the text around it
_ACROSS = 3  # plots of a figure side by side, in its file; further ones are below; of four two
_TITLE_WIDTH = 40  # letters
_BASES = {"log2": 2, "log10": 10}
_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # words are words, dollar signs included
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "multimargin",  # the same figure is the same file
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.titlecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True)
class Drawing:
    """A figure as files, and as one ``<svg>`` element per plot for a page.

    The elements share no ids, with each other or with other figures, and take the
    colours of the page.
    """

    svg: bytes
    png: bytes
    inline: tuple[str, ...]


def why_not() -> str:
    """Return why figures cannot be drawn here, with the remedy; "" if they can."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        return (
            f"The figures are not drawn: matplotlib cannot be imported ({error}). "
            "Get it by `pip install 'multimargin[plot]'`, and repeat the command with "
            "`--report-only`."
        )
    return ""


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        styles = _styles(line for axes in figure.plots for line in axes.lines)
        whole = _sheet(figure.plots, styles, width=5.2)
        # Narrower, so that words are no smaller than those around them on a phone.
        single = [_sheet((axes,), styles, width=4.4) for axes in figure.plots]
        inline = (
            _inline(_saved(sheet, "svg", transparent=True).decode(), f"{figure.name}-{i}", axes)
            for i, (sheet, axes) in enumerate(zip(single, figure.plots, strict=True))
        )
        return Drawing(_saved(whole, "svg"), _saved(whole, "png", dpi=150), tuple(inline))


def _styles(lines: Iterable[Line]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each series, the same in all plots of a figure."""
    series = dict.fromkeys(line.series for line in lines)
    return {
        name: (PALETTE[i % len(PALETTE)], _MARKERS[i % len(_MARKERS)])
        for i, name in enumerate(series)
    }


def _sheet(plots: tuple[Axes, ...], styles: dict[str, tuple[str, str]], width: float) -> Sheet:
    """Draw plots, each of a width in inches, above one legend."""
    from matplotlib.figure import Figure as Sheet

    labels = {label(line) for axes in plots for line in axes.lines}
    across = 2 if len(plots) == 4 else max(1, min(_ACROSS, len(plots)))
    down = -(-len(plots) // across)
    columns = max(1, min(2 * across, len(labels)))
    height = 0.65 * width * down + 0.22 * -(-len(labels) // columns)
    sheet = Sheet(figsize=(width * across, height), layout="constrained")
    places = sheet.subplots(max(1, down), across, squeeze=False).flatten()
    for canvas in places[len(plots) :]:
        canvas.set_axis_off()
    handles: dict[str, Any] = {}
    for axes, canvas in zip(plots, places[: len(plots)], strict=True):
        _arrange(canvas, axes)
        for line in axes.lines:
            handles[label(line)] = _curve(canvas, line, *styles[line.series])
        _ticks(canvas, axes)
    if handles:
        sheet.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            handlelength=3.2,
        )
    return sheet


def _arrange(canvas: Canvas, axes: Axes) -> None:
    canvas.set_title(fill(axes.title, _TITLE_WIDTH))
    canvas.set_xlabel(axes.x_label)
    canvas.set_ylabel(axes.y_label)
    canvas.grid(True, color=_INK, alpha=0.15, linewidth=0.6)
    if axes.x_scale != "linear":
        canvas.set_xscale("log", base=_BASES[axes.x_scale])
    if axes.y_scale != "linear":
        canvas.set_yscale("log", base=_BASES[axes.y_scale])


def _curve(canvas: Canvas, line: Line, colour: str, marker: str) -> Any:
    found = points(line)
    x, y = [p[0] for p in found], [p[1] for p in found]
    spread = None
    if line.low and line.high:
        spread = [[max(0.0, p[1] - p[2]) for p in found], [max(0.0, p[3] - p[1]) for p in found]]
    paper = line.source == "paper"
    return canvas.errorbar(
        x,
        y,
        yerr=spread,
        color=colour,
        linestyle="--" if paper else "-",
        marker=marker,
        markersize=5,
        markerfacecolor="none" if paper else colour,
        linewidth=1.3 if paper else 1.8,
        capsize=2.5,
    )


def _ticks(canvas: Canvas, axes: Axes) -> None:
    """Write numbers as people do: 16 and not 2⁴, 1000 and not 10³."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis, scale in ((canvas.xaxis, axes.x_scale), (canvas.yaxis, axes.y_scale)):
        if scale == "linear":
            continue
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        low, high = sorted(axis.get_view_interval())
        few = scale == "log10" and high < 100 * low
        axis.set_minor_formatter(FuncFormatter(_between) if few else NullFormatter())
    if axes.x_ticks:
        canvas.set_xticks(axes.x_ticks, minor=False)
        canvas.set_xticks([], minor=True)
    if axes.y_scale == "linear" and all(p[1] >= 0 for line in axes.lines for p in points(line)):
        canvas.set_ylim(bottom=0)


def _between(value: float, _: object) -> str:
    """Name 2 and 5 between the powers of ten, where few of these are in view."""
    return f"{value:,.4g}" if f"{value:e}"[0] in "25" else ""


def _saved(sheet: Sheet, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    sheet.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None, **options)
    return file.getvalue()


def _inline(svg: str, prefix: str, axes: Axes) -> str:
    """Return the element alone, with ids unique in the page, in the page's colours."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r'\bid="', f'id="{prefix}-', element)
    element = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", element)
    element = element.replace(_INK, "currentColor")
    for i, colour in enumerate(PALETTE):
        element = element.replace(colour, f"var(--series-{i})")
    # The width is the page's affair; the shape stays, from the viewBox.
    element = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", element, count=1)
    element = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", element, count=1)
    name = escape(f"{axes.title}: {axes.y_label} over {axes.x_label}")
    return element.replace("<svg", f'<svg role="img" aria-label="{name}"', 1)
