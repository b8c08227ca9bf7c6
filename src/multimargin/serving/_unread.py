"""An answer that waits for its client to read it, and how long it does."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import Any

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None  # type: ignore[assignment]

# Bytes a second. A modem reads faster; a client that reads a byte now and then does not, and
# would keep its connection for days otherwise.
LEAST_RATE = 4096
_DROP_THE_REST = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class UnreadAnswer:
    """Ends a connection whose client does not read, or hardly does.

    In every period the client has to read as much as `LEAST_RATE` asks for, or all that is left.
    That is a bound on the whole answer as well, which grows with its size.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
    transport : asyncio.Transport
        The connection.
    seconds : float
        Length of a period.
    """

    def __init__(self, loop: Any, transport: Any, seconds: float) -> None:
        self._loop = loop
        self._transport = transport
        self._seconds = seconds
        self._left = 0
        self._timer: Any = None

    def begin(self) -> None:
        """Something waits to be read."""
        self.end()
        self._left = self._waiting()
        self._timer = self._loop.call_later(self._seconds, self._period_over)

    def end(self) -> None:
        """All of it is read, or never will be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _period_over(self) -> None:
        if self._left - self._waiting() < LEAST_RATE * self._seconds:
            self._abort()
        else:
            self.begin()

    def _waiting(self) -> int:
        # A kernel that holds much takes nothing more before a third of it is read: of a slow
        # reader's progress only its own queue tells.
        return int(self._transport.get_write_buffer_size()) + _queued(self._transport)

    def _abort(self) -> None:
        # To close would be to wait until the rest is read, here and then in the kernel.
        with contextlib.suppress(OSError):
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _DROP_THE_REST
            )
        self._transport.abort()


def _queued(transport: Any) -> int:
    """Bytes that the kernel has and the client's does not; 0 where that is not known."""
    if fcntl is None:
        return 0
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:
        return 0
    return int(struct.unpack("i", found)[0])
