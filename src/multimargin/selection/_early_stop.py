"""Settings that cannot become the best: known on the first split, so that others are left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from multimargin.selection._measure import Measure
from multimargin.selection._regularization_path import PathPoint

_SPREADS = 3.0  # standard errors between the best and what cannot win
_FALLING = 2  # values of C in a row, beyond which larger ones are no better


def _limit(measure: Measure, points: Sequence[PathPoint]) -> float:
    """Return the cost above which a setting is worse than the best by more than chance.

    Three standard errors of the best one's share of the samples, counted with one more right and
    one more wrong: a share of 0 has a spread, too. Infinite for measures that are no share, such
    as macro-F1, whose spread one split does not tell.
    """
    best = min(
        (point.measures or {} for point in points), key=lambda m: measure.cost(measure.of(m))
    )
    if not measure.counts:
        return math.inf
    count = int(best["samples"])
    share = (measure.of(best) * count + 1) / (count + 2)
    return measure.cost(measure.of(best)) + _SPREADS * math.sqrt(share * (1 - share) / count)


def _cost(measure: Measure, point: PathPoint) -> float:
    return measure.cost(measure.of(point.measures or {}))


def is_falling(measure: Measure, points: Sequence[PathPoint]) -> bool:
    """Whether the last models along rising C are all worse than the best by more than chance."""
    if len(points) <= _FALLING:
        return False
    limit = _limit(measure, points)
    best = min(range(len(points)), key=lambda k: _cost(measure, points[k]))
    last = points[-_FALLING:]
    return best < len(points) - _FALLING and all(_cost(measure, p) > limit for p in last)


def able_to_win(
    measure: Measure, paths: Mapping[str, Sequence[PathPoint]]
) -> dict[str, tuple[float, ...]]:
    """Return the values of C of each formulation that may still be the best.

    The neighbours of the best stay, too, so that it is seen to lie between worse ones.
    """
    limit = _limit(measure, [point for points in paths.values() for point in points])
    best = min(paths, key=lambda name: min(_cost(measure, point) for point in paths[name]))
    left: dict[str, tuple[float, ...]] = {}
    for name, points in paths.items():
        costs = [_cost(measure, point) for point in points]
        at = costs.index(min(costs)) if name == best else -2
        kept = [p.C for k, p in enumerate(points) if costs[k] <= limit or abs(k - at) <= 1]
        if kept:
            left[name] = tuple(kept)
    return left
