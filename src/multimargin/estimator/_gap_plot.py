"""A small plot of the duality gap over time, for notebooks: SVG, without matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT = 420, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 408, 26, 136  # of the area of the curve
_LEAST = 1e-12  # a gap of zero is drawn here


class GapPlotMixin:
    """Adds the plot to scikit-learn's HTML representation of an estimator that was fitted."""

    def _repr_html_inner(self) -> str:
        base: Any = super()
        return str(base._repr_html_inner()) + self._gap_plot()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        base: Any = super()
        bundle: dict[str, Any] = base._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._gap_plot()
        return bundle

    def _gap_plot(self) -> str:
        history: Any = getattr(self, "history_", None)  # a loaded model has none
        tol = self.__dict__.get("tol") if self.__dict__.get("stopping") == "gap" else None
        return gap_plot(history, tol) if history else ""


def gap_plot(history: Sequence[Mapping[str, Any]], tol: float | None) -> str:
    """Return an SVG element: the gap of each scan over time, and the tolerance; or ""."""
    points = [(float(each["time"]), float(each["gap"])) for each in history]
    points = [(x, max(y, _LEAST)) for x, y in points if math.isfinite(x + y)]
    if not points:
        return ""
    last = max(x for x, _ in points) or 1.0
    values = [y for _, y in points] + ([tol] if tol else [])
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x_of(x: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * x / last:.1f}"

    def y_of(y: float) -> str:
        return f"{_BOTTOM - (_BOTTOM - _TOP) * (math.log10(y) - low) / (high - low):.1f}"

    step = max(1, math.ceil((high - low) / 5))
    parts = [
        f'<path d="M{_LEFT} {y_of(10.0**k)}H{_RIGHT}" stroke="currentColor" opacity=".2"/>'
        + _text(_LEFT - 6, float(y_of(10.0**k)) + 4, f"{10.0**k:g}", "end")
        for k in range(low, high + 1, step)
    ]
    if tol:
        dashed = 'stroke="#d55e00" stroke-dasharray="4 3"'
        parts.append(f'<path d="M{_LEFT} {y_of(tol)}H{_RIGHT}" {dashed}/>')
    line = " ".join(f"{x_of(x)},{y_of(y)}" for x, y in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    parts += [f'<circle cx="{x_of(x)}" cy="{y_of(y)}" r="2.5" fill="#0072b2"/>' for x, y in points]
    title = f"Relative duality gap: {points[-1][1]:.2g} after {points[-1][0]:.3g} s"
    title += f" (tol={tol:g}, dashed)" if tol else ""
    parts.append(_text(_LEFT, 16, title, "start"))
    parts += [_text(_LEFT, 154, "0"), _text(_RIGHT, 154, f"{last:.3g} s", "end")]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" style="max-width:100%" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="11" fill="none">'
        f"{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">'
        f"{escape(text)}</text>"
    )
