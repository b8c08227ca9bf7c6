"""Tables for people who look at a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(titles: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> str:
    """Lines with columns of names to the left and of numbers to the right.

    Parameters
    ----------
    titles : sequence of str
    rows : sequence of sequence of str
        As long as the titles.
    names : int, default=1
        The first so many columns are names.
    """
    table = [titles, *rows]
    widths = [max(len(row[j]) for row in table) for j in range(len(titles))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if j >= names else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def elided(text: str, width: int = 24) -> str:
    """A text on one line and no longer than this; the middle is left out where it is."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    front = (width - 1) * 2 // 3
    return f"{line[:front]}…{line[len(line) - (width - 1 - front) :]}"
