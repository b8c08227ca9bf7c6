"""Tables for people who look at a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

# What moves the cursor, changes colours or the direction of writing, or ends a line. Of the marks
# that format text, scripts and emoji need the two joiners.
_COMMANDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"


def shown(text: str) -> str:
    """A text as a terminal may be sent it: what a terminal would obey is written as in Python."""
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode()
        if unicodedata.category(c) in _COMMANDS and c not in _JOINERS
        else c
        for c in text
    )


def text_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)
) -> str:
    """Lines with columns of names to the left and of numbers to the right.

    Parameters
    ----------
    titles : sequence of str
    rows : sequence of sequence of str
        As long as the titles.
    left : collection of int, default=(0,)
        The columns of names.
    """
    table = [[shown(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(len(row[j]) for row in table) for j in range(len(titles))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def elided(text: str, width: int = 24) -> str:
    """A text on one line and no longer than this; the middle is left out where it is."""
    line = shown(" ".join(text.split()))
    if len(line) <= width:
        return line
    front = (width - 1) * 2 // 3
    return f"{line[:front]}…{line[len(line) - (width - 1 - front) :]}"
