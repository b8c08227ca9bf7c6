"""Who is where in the league: which rank has which matches, where bundles live, who moves when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from multimargin.solvers.active_set._round_robin import schedule


@dataclass(frozen=True)
class Move:
    """A bundle leaves a match for one of another rank."""

    bundle: int
    match: int
    source: int
    target: int


class Placement:
    """The tour of a league as one of the ranks sees it.

    Parameters
    ----------
    bundles : int
        An odd number is made even by a bundle without classes: whoever meets it rests.
    rank, size : int
        Which rank this is, and of how many. Ranks beyond the matches have none.

    Attributes
    ----------
    rounds : list of list of pairs
        Who meets at each match.
    bundles : int
        The one without classes included.
    mine : list of int
        Placement of this rank.
    owned : list of int
        Bundles that live at this rank: those that begin the tour here.
    """

    def __init__(self, bundles: int, rank: int, size: int) -> None:
        self.rounds = schedule(bundles + bundles % 2)
        self.bundles = 2 * len(self.rounds[0])
        self._rank, self._size = rank, size
        matches = range(len(self.rounds[0]))
        self.mine = [s for s in matches if self.rank_of(s) == rank]
        self.owned = sorted(self.at(0))
        self._moves: dict[tuple[int, int], list[Move]] = {}

    def rank_of(self, match: int) -> int:
        """Placement that are next to each other are at one rank, or at the next."""
        matches = len(self.rounds[0])
        return match * min(self._size, matches) // matches

    def owner_rank(self, bundle: int) -> int:
        """Where a bundle lives."""
        return self.rank_of(self._match_of(0)[bundle])

    def at(self, round_: int) -> list[int]:
        """Bundles that are at this rank in a round."""
        return [bundle for match in self.mine for bundle in self.rounds[round_][match]]

    def meetings(self) -> Iterator[tuple[int, int]]:
        """All meetings at this rank, in the order of the tour."""
        for meetings in self.rounds:
            for match in self.mine:
                yield meetings[match]

    def moves(self, before: int, after: int) -> list[Move]:
        """Who comes to this rank or leaves it between two rounds, by the match that is left."""
        if (before, after) not in self._moves:
            now, then = self._match_of(before), self._match_of(after)
            moves = [
                Move(b, now[b], self.rank_of(now[b]), self.rank_of(then[b])) for b in sorted(now)
            ]
            mine = [m for m in moves if m.source != m.target and self._rank in (m.source, m.target)]
            self._moves[before, after] = sorted(mine, key=lambda move: move.match)
        return self._moves[before, after]

    def _match_of(self, round_: int) -> dict[int, int]:
        return {b: match for match, pair in enumerate(self.rounds[round_]) for b in pair}
