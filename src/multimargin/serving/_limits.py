"""Limits of one request, of one client and of all together."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address

# How many seconds of its rate a client may save up: a page that loads asks several times at once.
_RESERVE_SECONDS = 2.0
HOST_NAME = re.compile(r"\[[0-9a-f:.]+\]|[^:/@\s]+")  # or an address, lower case


@dataclass(frozen=True)
class Limits:
    """Bounds of a server. A request that exceeds one gets an error that names it.

    Parameters
    ----------
    max_bytes : int, default=1048576
        Bytes of the body of a request.
    max_texts : int, default=256
        Texts, or rows, in one request.
    max_chars : int, default=100000
        Characters of one text, counted in Unicode code points: an emoji or a letter with marks,
        which people count as one, can be several.
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
        Length of the periods in each of which a client has to read 4 KiB per second of an answer,
        or the rest of it. Otherwise the connection is cut.

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


@dataclass
class RateLimit:
    """A bucket of tokens for each of the clients seen last, in bounded memory.

    A client gets ``rate`` tokens per second; 0 is no limit. The client not seen for longest is
    forgotten, and so starts anew.
    """

    rate: float
    most_clients: int = 10_000
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._full = max(1.0, self.rate * _RESERVE_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, client: str) -> float:
        """Take a token: 0.0 if there was one, else the seconds until there is."""
        if self.rate == 0:
            return 0.0
        name = _household(client)
        now = self.clock()
        tokens, before = self._buckets.get(name, (self._full, now))
        tokens = min(self._full, tokens + (now - before) * self.rate)
        allowed = tokens >= 1
        self._buckets[name] = (tokens - 1 if allowed else tokens, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > self.most_clients:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self.rate


def _household(client: str) -> str:
    """Return the client's address; its network for IPv6: one household has 2**64 addresses."""
    if ":" not in client:
        return client
    try:
        address = IPv6Address(client.partition("%")[0])
    except ValueError:
        return client
    return str(address.ipv4_mapped or f"{int(address) >> 64:x}::/64")
