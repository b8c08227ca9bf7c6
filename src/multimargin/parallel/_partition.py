"""Partitions of classes into bundles, and of ranges among ranks.

The compiled core trains a cache line of classes at a time (`src/core/lines/line.hpp`), and no line
depends on another: so classes are divided between lines only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import DTypeLike

_LINE_BYTES = 64
BUNDLES_PER_RANK = 2  # which meet there
MOST_BUNDLES = 1024  # they have half a million meetings


def default_bundles(ranks: int, kept: bool) -> int | None:
    """Return the number of bundles if the user gave none; None: no bundles, the fastest way.

    A run with checkpoints (``kept``) may be resumed by any number of ranks, so it has bundles: a
    single one if it begins on one rank.
    """
    if ranks == 1:
        return 1 if kept else None
    return min(BUNDLES_PER_RANK * ranks, MOST_BUNDLES)


def line_lanes(dtype: DTypeLike) -> int:
    return _LINE_BYTES // np.dtype(dtype).itemsize


def divided(count: int, parts: int) -> list[int]:
    """Return the cuts ``0 .. count`` of ``parts`` even ranges, the longer ones first."""
    least, longer = divmod(count, parts)
    return [k * least + min(k, longer) for k in range(parts + 1)]


def bundle_cuts(n_classes: int, lanes: int, bundles: int) -> list[int]:
    """Return where bundles of whole lines begin, and the end. No bundle is empty."""
    lines = -(-n_classes // lanes)
    return [min(n_classes, lanes * line) for line in divided(lines, min(bundles, lines))]


def stretches(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges ``begin, end`` of consecutive numbers among ascending ones."""
    # In a run of consecutive numbers, number and position rise alike.
    for _, run in itertools.groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        numbers = [line for _, line in run]
        yield numbers[0], numbers[-1] + 1
