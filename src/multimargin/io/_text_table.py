"""Text for a terminal: tables, and labels made safe to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

# Categories that move the cursor, change colours or the direction of writing, or end a line.
# Scripts and emoji need two of the format marks, the joiners.
_COMMANDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"


def shown(text: str) -> str:
    """Return a text with the characters that a terminal obeys written as in Python."""
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
    """Return a table: names, in the columns `left`, aligned to the left, numbers to the right."""
    table = [[shown(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(len(row[j]) for row in table) for j in range(len(titles))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number and a noun in singular or plural: "1 class", "1,200 classes"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def elided(text: str, width: int = 24) -> str:
    """Return a text on one line, at most this long; the middle of longer ones is left out."""
    line = shown(" ".join(text.split()))
    if len(line) <= width:
        return line
    front = (width - 1) * 2 // 3
    return f"{line[:front]}…{line[len(line) - (width - 1 - front) :]}"
