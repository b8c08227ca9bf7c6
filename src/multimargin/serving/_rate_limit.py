"""How often one client may ask: a bucket of tokens for each."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

# What a client may have saved up, in seconds of its rate: a page that loads asks several at once.
_RESERVE_SECONDS = 2.0


class RateLimit:
    """Token buckets of the clients seen last, in bounded memory.

    Parameters
    ----------
    rate : float
        Tokens that a client gets per second; 0 is no limit.
    most_clients : int, default=10000
        Buckets to keep. The client not seen for longest is forgotten, and so starts anew.
    clock : callable, default=time.monotonic
    """

    def __init__(
        self,
        rate: float,
        *,
        most_clients: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._full = max(1.0, rate * _RESERVE_SECONDS)
        self._most_clients = most_clients
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, client: str) -> float:
        """Take a token: 0.0 if there was one, else the seconds until there is."""
        if self._rate == 0:
            return 0.0
        name = _household(client)
        now = self._clock()
        tokens, before = self._buckets.get(name, (self._full, now))
        tokens = min(self._full, tokens + (now - before) * self._rate)
        allowed = tokens >= 1
        self._buckets[name] = (tokens - 1 if allowed else tokens, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > self._most_clients:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._rate


def _household(client: str) -> str:
    """The client; of IPv6 its network, since one household has 2**64 addresses."""
    if ":" not in client:
        return client
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if not isinstance(address, IPv6Address):
        return client
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> 64:x}::/64"
