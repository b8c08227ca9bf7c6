"""The places of matches and bundles on ranks, and the moves of bundles between them."""

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
    """The schedule of all bundles as one of the ranks sees it. Ranks beyond the matches have none.

    An odd number of bundles is made even by one without classes: the one that meets it rests.
    """

    def __init__(self, bundles: int, rank: int, size: int) -> None:
        self.rounds = schedule(bundles + bundles % 2)  # the two bundles that meet at each match
        matches = range(len(self.rounds[0]))
        self.bundles = 2 * len(matches)  # the one without classes included
        self._rank, self._size = rank, size
        self.mine = [s for s in matches if self.rank_of(s) == rank]  # matches
        self.owned = sorted(self.at(0))  # bundles at these in the first round
        self._moves: dict[tuple[int, int], list[Move]] = {}

    def rank_of(self, match: int) -> int:
        """Return the rank of a match. Neighbouring matches are at one rank, or at the next."""
        matches = len(self.rounds[0])
        return match * min(self._size, matches) // matches

    def owner_rank(self, bundle: int) -> int:
        return self.rank_of(self._match_of(0)[bundle])

    def at(self, round_: int) -> list[int]:
        """Return the bundles that are at this rank in a round."""
        return [bundle for match in self.mine for bundle in self.rounds[round_][match]]

    def meetings(self) -> Iterator[tuple[int, int]]:
        """Yield all meetings at this rank, round by round."""
        return (meetings[match] for meetings in self.rounds for match in self.mine)

    def moves(self, before: int, after: int) -> list[Move]:
        """Return who comes or leaves between two rounds, in the order of the matches they leave."""
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
