"""Which columns of a file are read."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from multimargin.io._compressed import DataFileError


class Selection:
    """Columns that are needed, and columns that are kept beside them.

    ``needed=None`` is all columns. ``kept=None`` is all others that have a name of their own;
    `left_out` has those that do not, once the file was read. Needed columns must have plain values,
    such as texts and numbers; kept ones may have any.
    """

    def __init__(self, needed: Sequence[str] | None, kept: Sequence[str] | None = ()) -> None:
        self.needed = None if needed is None else list(dict.fromkeys(needed))
        self.kept = None if kept is None else list(dict.fromkeys(kept))
        self.left_out: list[str] = []

    @property
    def named(self) -> list[str] | None:
        """All names; None where the file says which there are."""
        if self.needed is None or self.kept is None:
            return None
        return list(dict.fromkeys([*self.needed, *self.kept]))

    def must_be_plain(self, name: str) -> bool:
        return self.needed is None or name in self.needed

    def of(self, place: str, there: Sequence[str]) -> list[str]:
        """Return the columns to read of those that are there, in the order to have them in."""
        if (named := self.named) is None:
            named = list(there) if self.needed is None else self.needed
        require_columns(place, named, there)
        if self.needed is None or self.kept is not None:
            return named
        times = Counter(there)
        self.left_out = [name for name, n in times.items() if n > 1 or not name]
        return [name for name in times if name not in self.left_out]

    def leave_out(self, name: str) -> None:
        self.left_out.append(name)


def require_columns(place: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Raise DataFileError at the first column that is not there, or is there twice."""
    times = Counter(there)
    for name in wanted:
        if name not in times:
            near = difflib.get_close_matches(name, there, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            listed = ", ".join(map(repr, there[:20]))
            more = f" and {len(there) - 20} more" if len(there) > 20 else ""
            raise DataFileError(
                f"{place}: there is no column {name!r}{hint} There are {listed}{more}"
            )
        if times[name] > 1:
            raise DataFileError(
                f"{place}: {times[name]} columns are named {name!r}; rename all but one"
            )
