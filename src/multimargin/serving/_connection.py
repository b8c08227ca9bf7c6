"""Connections that do not wait without end for the head of a request.

Imports uvicorn, so only `_server` imports this.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type,unused-ignore]
    """uvicorn's HTTP protocol, which waits for ever for a first request, with a deadline for it.

    The deadline also covers the next request of a connection once its first byte is there; before,
    uvicorn's own keep-alive timeout does.

    Parameters
    ----------
    head_seconds : float
        Time in which the head of a request has to arrive.
    """

    def __init__(self, *args: Any, head_seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

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
