"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(titles: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a ``<table>`` of escaped cells, the first column to the left, the others right."""
    head = "".join(_cell("th", title, j) for j, title in enumerate(titles))
    body = "".join(
        f"<tr>{''.join(_cell('td', cell, j) for j, cell in enumerate(row))}</tr>" for row in rows
    )
    return (
        f'<table class="multimargin"><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(tag: str, text: str, column: int) -> str:
    side = "right" if column else "left"
    return f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
