"""Connections that do not wait without end: for the head of a request, for answers to be read.

Imports uvicorn, so only `_server` imports this.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from multimargin.serving._unread import UnreadAnswer


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type,unused-ignore]
    """uvicorn's HTTP protocol, which waits for ever for requests and readers, with deadlines.

    That of a request also covers the next one of a connection once its first byte is there; before,
    uvicorn's own keep-alive timeout does. That of an answer covers what is done with the connection
    after it as well: to close it, or to answer the next request, waits for the client to read.

    Parameters
    ----------
    head_seconds : float
        Time in which the head of a request has to arrive.
    answer_seconds : float
        Time in which a part of an answer has to be read; see `UnreadAnswer`.
    """

    def __init__(
        self, *args: Any, head_seconds: float, answer_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._answer_seconds = answer_seconds
        self._deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        # So that writing pauses while anything at all is unread, and is resumed when nothing is.
        transport.set_write_buffer_limits(high=0)
        self._unread = UnreadAnswer(self.loop, transport, self._answer_seconds)
        super().connection_made(transport)
        self._wait()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        self._unread.begin()
        super().pause_writing()

    def resume_writing(self) -> None:
        """All that was written is read."""
        self._unread.end()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Wait on while no request is under way."""
        super().data_received(data)
        if self._between_requests():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        self._unread.end()
        super().connection_lost(exc)

    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._head_seconds, self._expired)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expired(self) -> None:
        self._deadline = None
        if self._between_requests() and not self.transport.is_closing():
            self.transport.close()
