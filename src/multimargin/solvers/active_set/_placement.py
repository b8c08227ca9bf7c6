"""Which rank has which matches and owns which bundles, and which bundles move between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from multimargin.parallel._communicator import Communicator, Message, Sending
from multimargin.solvers.active_set._round_robin import schedule


@dataclass(frozen=True)
class Move:
    """A bundle leaves a match for a match of another rank."""

    bundle: int
    match: int
    source: int
    target: int


class Placement:
    """The schedule of all bundles as one of the ranks sees it.

    Parameters
    ----------
    bundles : int
        An odd number is made even by a bundle without classes: the one that meets it rests.
    rank, size : int
        Which rank this is, and of how many. Ranks beyond the matches have none.

    Attributes
    ----------
    rounds : list of list of pairs
        The two bundles that meet at each match.
    bundles : int
        The one without classes included.
    mine : list of int
        Matches of this rank.
    owned : list of int
        Bundles that this rank owns: those of its matches in the first round.
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
        """The rank of a match. Neighbouring matches are at one rank, or at the next."""
        matches = len(self.rounds[0])
        return match * min(self._size, matches) // matches

    def owner_rank(self, bundle: int) -> int:
        """The rank that owns a bundle."""
        return self.rank_of(self._match_of(0)[bundle])

    def at(self, round_: int) -> list[int]:
        """Bundles that are at this rank in a round."""
        return [bundle for match in self.mine for bundle in self.rounds[round_][match]]

    def meetings(self) -> Iterator[tuple[int, int]]:
        """All meetings at this rank, round by round."""
        for meetings in self.rounds:
            for match in self.mine:
                yield meetings[match]

    def moves(self, before: int, after: int) -> list[Move]:
        """Bundles that come or leave between two rounds, in the order of the matches they leave."""
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


class Exchange:
    """Sends bundles that leave this rank, and receives those that come."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._pending: list[Sending] = []

    def start_sends(self, moves: list[Move], pack: Callable[[int], Message]) -> None:
        for move in moves:
            if move.source == self._comm.rank:
                self._pending.append(self._comm.send(pack(move.bundle), move.target))

    def finish_receives(self, moves: list[Move], unpack: Callable[[int, list[Any]], None]) -> None:
        """Receive in the order in which bundles were sent, and wait for all sends."""
        for move in moves:
            if move.target == self._comm.rank:
                unpack(move.bundle, self._comm.receive(move.source))
        while self._pending:
            self._pending.pop().wait()
