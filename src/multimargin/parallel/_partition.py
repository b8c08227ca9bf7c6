"""Who holds what: into how many bundles classes are divided, and how things are shared out.

The compiled core works on a cache line of classes at a time (`src/core/line.hpp`), and what comes
out of a line does not depend on the lines beside it. So where classes are trained by lines, they
are divided between lines only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import DTypeLike

_LINE_BYTES = 64
BUNDLES_PER_RANK = 2  # those that meet at its seat
MOST_BUNDLES = 1024  # whose meetings are half a million


def default_bundles(ranks: int, kept: bool) -> int | None:
    """Bundles of classes where nobody has chosen a number; None: as one machine is fastest.

    A run that is kept can be gone on with by any number of ranks, and so is one of bundles, if of
    a single one.
    """
    if ranks == 1:
        return 1 if kept else None
    return min(BUNDLES_PER_RANK * ranks, MOST_BUNDLES)


def line_lanes(dtype: DTypeLike) -> int:
    """Classes of a line."""
    return _LINE_BYTES // np.dtype(dtype).itemsize


def divided(count: int, parts: int) -> list[int]:
    """Cuts ``0 .. count`` of ``parts`` even ranges; where they differ, the first are longer."""
    least, longer = divmod(count, parts)
    return [k * least + min(k, longer) for k in range(parts + 1)]


def bundle_cuts(n_classes: int, lanes: int, bundles: int) -> list[int]:
    """Where bundles of whole lines begin, and the end. None is empty, so there may be fewer."""
    lines = -(-n_classes // lanes)
    return [min(n_classes, lanes * line) for line in divided(lines, min(bundles, lines))]


def stretches(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ranges ``begin, end`` of neighbours among ascending numbers."""
    begin = end = None
    for line in lines:
        if begin is not None and line == end:
            end = line + 1
            continue
        if begin is not None and end is not None:
            yield begin, end
        begin, end = line, line + 1
    if begin is not None and end is not None:
        yield begin, end
