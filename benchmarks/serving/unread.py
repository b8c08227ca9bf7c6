"""Clients that ask for large answers and read nothing, and what others notice of them."""

from __future__ import annotations

import asyncio
import select
import socket
import time
from typing import Any, NamedTuple

# Small, so that the answers wait in the server and not in the network.
_SEGMENT = 536
_BUFFER = 4096
_PAUSE = 0.05
_AFTERWARDS = 2.0  # seconds


class Other(NamedTuple):
    """A request of a client that does read: when, how long, and whether it was answered."""

    at: float
    seconds: float
    answered: bool


class Unread:
    """So many connections, each with two large answers, of which the second waits for the first.

    Parameters
    ----------
    address : tuple of str and int
    request : bytes
        For a large answer.
    clients : int
    """

    def __init__(self, address: tuple[str, int], request: bytes, clients: int) -> None:
        self._address = address
        self._request = request
        self._sockets = [_connected(address) for _ in range(clients)]
        self._began: dict[socket.socket, float] = {}
        self._cut: dict[socket.socket, float] = {}
        self.others: list[Other] = []

    async def run(self, small: bytes, seconds: float) -> None:
        """Ask, and go on asking for something small until all are cut off, and a little longer.

        At most for so many seconds.
        """
        loop = asyncio.get_running_loop()
        sends = [
            asyncio.create_task(loop.sock_sendall(one, 2 * self._request)) for one in self._sockets
        ]
        until = time.perf_counter() + seconds
        all_cut = False
        while time.perf_counter() < until:
            if not all_cut and self._look() == len(self._sockets):
                all_cut, until = True, time.perf_counter() + _AFTERWARDS
            self.others.append(await self._ask(small))
            await asyncio.sleep(_PAUSE)
        for task in sends:
            task.cancel()
        await asyncio.gather(*sends, return_exceptions=True)
        for one in self._sockets:
            one.close()

    def rows(self, answer_seconds: float) -> list[tuple[str, str]]:
        """Return the measurements as lines of a table."""
        late = [self._cut[one] - began for one, began in self._began.items() if one in self._cut]
        last = max(self._began.values(), default=0.0) + answer_seconds
        before = [other for other in self.others if other.at < last]
        after = [other for other in self.others if other.at >= last]
        first = next((other.at + other.seconds - last for other in after if other.answered), None)
        return [
            ("clients that read nothing", f"{len(self._sockets)}"),
            ("of these cut off", f"{len(self._cut)}"),
            ("after, at most", f"{max(late, default=float('nan')):.2f} s"),
            ("others before the last deadline", _summary(before)),
            ("others after it", _summary(after)),
            ("first answer after it", "none" if first is None else f"{first:.2f} s"),
        ]

    def _look(self) -> int:
        """Note which answers have begun and which have ended; how many of the latter."""
        poll = select.poll()
        by_number = {one.fileno(): one for one in self._sockets}
        for number in by_number:
            poll.register(number, select.POLLIN)
        now = time.perf_counter()
        for number, events in poll.poll(0):
            if events & select.POLLIN:
                self._began.setdefault(by_number[number], now)
            if events & (select.POLLHUP | select.POLLERR):
                self._cut.setdefault(by_number[number], now)
        return len(self._cut)

    async def _ask(self, request: bytes) -> Other:
        begin = time.perf_counter()
        reader, writer = await asyncio.open_connection(*self._address)
        writer.write(request)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            head = b""
        writer.close()
        seconds = time.perf_counter() - begin
        return Other(begin, seconds, head.startswith(b"HTTP/1.1 200"))


def _connected(address: tuple[str, int]) -> socket.socket:
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    one.connect(address)
    one.setblocking(False)
    return one


def _summary(others: list[Any]) -> str:
    answered = [other.seconds for other in others if other.answered]
    longest = f", in {1000 * max(answered):.0f} ms at most" if answered else ""
    return f"{len(answered)} of {len(others)} answered{longest}"
