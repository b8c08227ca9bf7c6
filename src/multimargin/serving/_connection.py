"""Connections with deadlines: for the head of a request, and for a client to read its answer.

Imports uvicorn, so only `_server` imports this, and late.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None  # type: ignore[assignment]

# Bytes a second. A modem reads faster; a client that reads a byte now and then does not, and
# would keep its connection for days.
_LEAST_RATE = 4096
_DROP_THE_REST = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


@dataclass
class UnreadAnswer:
    """End a connection whose client does not read, or hardly does.

    In every period the client has to read 4 KiB per second, or all that is left. This also bounds
    the time of the whole answer, in proportion to its size. ``seconds`` is the length of a period.
    """

    loop: Any
    transport: Any
    seconds: float
    _left: int = 0
    _timer: Any = None

    def begin(self) -> None:
        """Start a period: something waits to be read."""
        self.end()
        self._left = self._waiting()
        self._timer = self.loop.call_later(self.seconds, self._period_over)

    def end(self) -> None:
        """Stop: all of it is read, or never will be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _period_over(self) -> None:
        if self._left - self._waiting() < _LEAST_RATE * self.seconds:
            self._abort()
        else:
            self.begin()

    def _waiting(self) -> int:
        # A kernel whose queue is full takes nothing more before a third of it is read: only the
        # queue itself shows that a slow reader gets on.
        return int(self.transport.get_write_buffer_size()) + _queued(self.transport)

    def _abort(self) -> None:
        # Closing would wait until the rest is read, here and then in the kernel.
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _DROP_THE_REST
            )
        self.transport.abort()


def _queued(transport: Any) -> int:
    """Return how many bytes wait in the kernel's queue; 0 where that is not known."""
    if fcntl is None:
        return 0
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:
        return 0
    return int(struct.unpack("i", found)[0])


class DeadlineProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type,unused-ignore]
    """uvicorn's HTTP protocol, which by itself waits for ever for requests and readers.

    The deadline of a head also covers the next request of a connection once its first byte is
    there; until then uvicorn's keep-alive timeout does. The deadline of an answer also covers what
    waits for it to be read: closing the connection, or answering the next request.
    """

    def __init__(
        self, *args: Any, head_seconds: float, answer_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._answer_seconds = answer_seconds
        self._deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        # Writing pauses while anything at all is unread, and resumes when nothing is.
        transport.set_write_buffer_limits(high=0)
        self._unread = UnreadAnswer(self.loop, transport, self._answer_seconds)
        super().connection_made(transport)
        self._start_deadline()

    def pause_writing(self) -> None:
        self._unread.begin()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread.end()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._between_requests():
            self._start_deadline()
        else:
            self._end_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        self._unread.end()
        super().connection_lost(exc)

    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._head_seconds, self._expired)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expired(self) -> None:
        self._deadline = None
        if self._between_requests() and not self.transport.is_closing():
            self.transport.close()
