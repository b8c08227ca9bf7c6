"""What one request, one client and all of them together may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of a server. What exceeds them is answered with an error that names the bound.

    Parameters
    ----------
    max_bytes : int, default=1048576
        Bytes of the body of a request.
    max_texts : int, default=256
        Texts in one request.
    max_chars : int, default=100000
        Characters of one text.
    max_k : int, default=100
        Best classes to ask for.
    rate : float, default=100.0
        Requests per second of one client, with a reserve of two seconds; 0 is no limit.
    concurrency : int, default=64
        Requests that are read or answered at the same time.
    connections : int, default=512
        Open connections, idle ones included; fewer than the files that a process may have open,
        which is often 1024.
    body_seconds : float, default=10.0
        Time in which the body of a request has to arrive.
    head_seconds : float, default=10.0
        Time in which the head of a request has to arrive.
    answer_seconds : float, default=10.0
        Time in which a part of an answer has to be read, again and again until all of it is: 4 KiB
        for each second, or the rest. Otherwise the connection is cut.

    Examples
    --------
    >>> from multimargin.serving import Limits
    >>> Limits(rate=5).max_texts
    256
    """

    max_bytes: int = 1 << 20
    max_texts: int = 256
    max_chars: int = 100_000
    max_k: int = 100
    rate: float = 100.0
    concurrency: int = 64
    connections: int = 512
    body_seconds: float = 10.0
    head_seconds: float = 10.0
    answer_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_texts", "max_chars", "max_k", "concurrency", "connections"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1: {value!r}")
        for name in ("body_seconds", "head_seconds", "answer_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive number: {getattr(self, name)!r}")
        if not 0 <= self.rate < float("inf"):
            raise ValueError(f"rate must be a number of at least 0 (0: no limit): {self.rate!r}")
