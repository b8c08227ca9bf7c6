"""Round robin: rounds of bundles of classes that can be worked on at the same time.

One dual coordinate touches the weights of two classes, the sample's own and another. Two pairs
of classes without a class in common can therefore be worked on at the same time. Arranging all
pairs into rounds of disjoint pairs is the 1-factorization of the complete graph, by the circle
method: put one team in the middle and the others around it; in round ``r`` the middle meets team
``r`` and everyone else meets the team across that line.

Teams here are bundles of classes: in the meeting of bundles A and B every class of A meets every
class of B. Pairs within one bundle are worked on in one of its meetings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

Round = list[tuple[int, int]]


def match_class(n: int, c: int, r: int) -> int | None:
    """Partner of team ``c`` in round ``r`` of a round robin of ``n`` teams, counted from zero.

    An even ``n`` has rounds ``0 .. n-2`` in which everybody meets somebody. An odd ``n`` has rounds
    ``0 .. n-1`` and one team a round sits out: its partner is None.

    Examples
    --------
    >>> from multimargin import match_class
    >>> [match_class(4, c, 0) for c in range(4)]
    [3, 2, 1, 0]
    >>> [match_class(3, c, 0) for c in range(3)]
    [None, 2, 1]
    """
    if not 0 <= c < n:
        raise ValueError(f"team {c} is not one of the {n} teams 0 .. {n - 1}")
    n_rounds = n - 1 if n % 2 == 0 else n
    if not 0 <= r < n_rounds:
        raise ValueError(f"round {r} is not one of the {n_rounds} rounds 0 .. {n_rounds - 1}")
    if n % 2 == 1:
        partner = (2 * r - c) % n
        return None if partner == c else partner
    if c == n - 1:
        return r
    if c == r:
        return n - 1
    return (2 * r - c) % (n - 1)


def rounds(n: int) -> list[Round]:
    """All rounds of ``n`` teams: in each, disjoint pairs ``(a, b)`` with ``a < b``.

    Every pair meets exactly once over all rounds.

    Examples
    --------
    >>> from multimargin import rounds
    >>> rounds(4)
    [[(0, 3), (1, 2)], [(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    """
    if n < 1:
        raise ValueError(f"a round robin needs at least one team, got {n}")
    n_rounds = n - 1 if n % 2 == 0 else (n if n > 1 else 0)
    found = []
    for r in range(n_rounds):
        pairs = [(c, partner) for c in range(n) if (partner := match_class(n, c, r)) is not None]
        found.append([(a, b) for a, b in pairs if a < b])
    return found


def schedule(n_bundles: int) -> list[Round]:
    """Return rounds in which every meeting has a match, for an even number of bundles.

    Entry ``s`` of a round are the two bundles at match ``s``. From round to round one of them stays
    and the other moves on to another match, so that as few as possible move; only from the last
    round back to the first one both may have to.

    Examples
    --------
    >>> from multimargin.solvers.active_set._round_robin import schedule
    >>> schedule(4)
    [[(0, 3), (1, 2)], [(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    """
    if n_bundles < 2 or n_bundles % 2:
        raise ValueError(f"a schedule needs an even number of bundles, got {n_bundles}")
    first, *others = rounds(n_bundles)
    matches = [first]
    for following in others:
        meets = {a: (a, b) for pair in following for a, b in (pair, pair[::-1])}
        before = {b: s for s, pair in enumerate(matches[-1]) for b in pair}
        placed: dict[int, tuple[int, int]] = {}
        for begin, (stays, _) in enumerate(matches[-1]):
            # The bundle that comes has left another match, which keeps its other bundle, ...
            match, kept = begin, stays
            while match not in placed:
                placed[match] = (min(meets[kept]), max(meets[kept]))
                comes = meets[kept][1]
                match = before[comes]
                kept = sum(matches[-1][match]) - comes
        matches.append([placed[s] for s in range(len(first))])
    return matches


def bundle_classes(
    own: ArrayLike, other: ArrayLike, work: ArrayLike, n_bundles: int
) -> NDArray[np.int32]:
    """Return the bundle of each class: about equal work, confusable classes together, none empty.

    Pairs within a bundle need no other bundle, so classes that compete for the same samples should
    share one. Classes are put in an order in which confusable ones are near each other (reverse
    Cuthill-McKee of the graph of confusions) and the order is cut where the ``work`` per class is
    even. A confusion is a sample's ``own`` class and an ``other`` that competes for it. Bundles are
    numbered so that the meetings of a round (`rounds`) are about equally long.
    """
    work = np.asarray(work, dtype=np.float64)
    n_classes = len(work)
    if not 1 <= n_bundles <= n_classes:
        raise ValueError(f"n_bundles must be between 1 and the {n_classes} classes: {n_bundles}")
    rows, cols = np.asarray(own), np.asarray(other)
    graph: Any = sp.coo_matrix((np.ones(len(rows)), (rows, cols)), shape=(n_classes, n_classes))
    order = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    before = np.cumsum(work[order]) - work[order] / 2
    total = max(float(work.sum()), np.finfo(float).tiny)
    cut = np.minimum((before / total * n_bundles).astype(np.int64), n_bundles - 1)
    # A heavy class can take the work of a whole bundle: shift the cuts so that none is empty.
    position = np.arange(n_classes)
    cut = np.minimum(cut, position)
    cut = np.maximum(cut, n_bundles - (n_classes - position))
    # ... and contiguous numbers: each step up is by one at most.
    cut = position - np.maximum.accumulate(position - cut)
    bundle_of = np.empty(n_classes, dtype=np.int32)
    bundle_of[order] = _team_numbers(n_bundles)[cut]
    return bundle_of


def _team_numbers(n_bundles: int) -> NDArray[np.int32]:
    """Return numbers for bundles in an order in which neighbours have most in common.

    In a round those meet whose numbers have the same sum, modulo the number of teams around the
    middle. Counted 0, 1, -1, 2, -2, ... along the order, the sums 0 and 1 are neighbours, the next
    ones are three places apart, and so on: long meetings fall into the same rounds, and nobody
    waits for the only long one.
    """
    around = n_bundles - 1 if n_bundles % 2 == 0 else n_bundles
    place = np.arange(n_bundles)
    zigzag = np.where(place % 2, (place + 1) // 2, -(place // 2)) % max(1, around)
    if n_bundles % 2 == 0:
        zigzag[-1] = n_bundles - 1
    return zigzag.astype(np.int32)
