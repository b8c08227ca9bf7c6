"""Detection of lost hosts: a TCP connection from each rank on another host to rank 0.

MPI libraries wait for a host that was switched off, or cut off from the network, for a quarter of
an hour or for ever. With TCP keepalive the kernels check every few seconds whether the connection
still stands, however busy the ranks are. A rank that loses its connection reports it and ends the
run. Where no connection can be made (a firewall between the hosts), lost hosts are not detected.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import secrets
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from multimargin.parallel._collectives import allgather_value, broadcast_value
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._launch import say

LOST_AFTER = "MULTIMARGIN_LOST_AFTER"  # environment variable of rank 0: seconds without an answer
_DEFAULT = 20.0
_HELLO = struct.Struct("<16si")  # the token of the run, and the rank
_BYE = b"b"
_LAUNCHERS = ("prterun", "mpiexec", "mpirun", "orterun")


def watch_hosts(comm: Communicator) -> None:
    """Start to detect lost hosts. Called by all ranks.

    Ranks on the host of rank 0 need no connection: the launcher sees them end.
    """
    near = broadcast_value(comm.host, comm.rank == 0)
    ranks = allgather_value(comm, [socket.gethostname(), near])
    if all(beside_rank_0 for _, beside_rank_0 in ranks):
        return
    names = [name for name, _ in ranks]
    if comm.rank == 0:
        _Watch(comm, names, _patience()).invite()
    else:
        seconds, port, token, addresses = broadcast_value(comm, None)
        if not near and seconds > 0:
            _Watch(comm, names, seconds).join(addresses, port, bytes.fromhex(token))


def _patience() -> float:
    text = os.environ.get(LOST_AFTER, str(_DEFAULT))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (seconds == 0 or 5 <= seconds < 1e6):
        raise ValueError(
            f"{LOST_AFTER} is the number of seconds, at least 5, after which a silent host counts "
            f"as lost, or 0 for never; got {text!r}"
        )
    return seconds


class _Watch:
    """The connections of one rank, each with a thread that sleeps until the connection ends."""

    def __init__(self, comm: Communicator, names: list[str], seconds: float) -> None:
        self._comm, self._names, self._seconds = comm, names, seconds
        self._first = threading.Lock()

    def invite(self) -> None:
        """Rank 0: broadcast its addresses, and accept connections in a thread."""
        token = secrets.token_bytes(16)
        listener = _listen() if self._seconds else None
        port = listener.getsockname()[1] if listener else 0
        broadcast_value(self._comm, [self._seconds, port, token.hex(), _addresses()])
        if listener:
            _start(self._accept, listener, token)

    def join(self, addresses: list[str], port: int, token: bytes) -> None:
        """Other ranks: connect, in a thread, to the first address of rank 0 that answers."""
        _start(self._call, addresses, port, token)

    def _accept(self, listener: socket.socket, token: bytes) -> None:
        while True:
            line, _ = listener.accept()
            with contextlib.suppress(OSError, struct.error):
                line.settimeout(5)
                given, rank = _HELLO.unpack(line.recv(_HELLO.size, socket.MSG_WAITALL))
                if secrets.compare_digest(given, token):
                    line.sendall(token)
                    _start(self._hold, line, rank)
                    continue
            line.close()

    def _call(self, addresses: list[str], port: int, token: bytes) -> None:
        for address in addresses:
            with contextlib.suppress(OSError):
                line = socket.create_connection((address, port), timeout=5)
                line.sendall(_HELLO.pack(token, self._comm.rank))
                # Another host may have the same private address.
                if line.recv(len(token), socket.MSG_WAITALL) == token:
                    self._hold(line, 0)
                    return
                line.close()

    def _hold(self, line: socket.socket, other: int) -> None:
        """Wait until the connection ends; end the run unless the other rank said goodbye."""
        line.settimeout(None)
        _keep_alive(line, self._seconds)
        atexit.register(_say_bye, line)
        silent = False
        try:
            if line.recv(1) == _BYE:
                return
        except OSError as error:
            silent = not isinstance(error, ConnectionError)
        if self._first.acquire(blocking=False):
            self._end(other, silent)

    def _end(self, other: int, silent: bool) -> None:
        comm, name = self._comm, self._names[other]
        if silent:
            what = f"error: no sign of life from rank {other} on {name} for {self._seconds:g} s"
        else:
            what = f"rank {other} on {name} is gone"
            if comm.rank:
                time.sleep(3)  # rank 0 was ended, and ends this one: no need to report it
        say(f"multimargin: rank {comm.rank} of {comm.size}: {what}; the run ends\n")
        if not silent:
            time.sleep(3 if comm.rank == 0 else 0)  # the launcher may end this one, too
            comm.abort(1)
        time.sleep(0.5)  # until the message has reached the terminal
        if comm.rank == 0:
            _end_launcher()
            comm.abort(1)
        os._exit(1)  # every rank of this host notices by itself


def _start(function: Callable[..., None], *args: object) -> None:
    threading.Thread(target=function, args=args, daemon=True).start()


def _end_launcher() -> None:
    """Kill Open MPI's launcher, if this rank is its child, and the ranks it can still reach.

    An abort would not end the run: the launcher waits for its daemon on the lost host.
    """
    parent = os.getppid()
    with contextlib.suppress(OSError):
        if Path(f"/proc/{parent}/comm").read_text().strip() in _LAUNCHERS:
            os.kill(parent, signal.SIGKILL)
            time.sleep(0.5)
            os._exit(1)


def _say_bye(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.sendall(_BYE)


def _keep_alive(line: socket.socket, seconds: float) -> None:
    probes, interval = 4, max(1, int(seconds / 8))
    idle = max(1, int(seconds) - probes * interval)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", idle),
        ("TCP_KEEPALIVE", idle),  # its name on macOS
        ("TCP_KEEPINTVL", interval),
        ("TCP_KEEPCNT", probes),
    ):
        if hasattr(socket, option):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _listen() -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def _addresses() -> list[str]:
    found = _interface_addresses()
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)]
    return [a for a in dict.fromkeys(found) if not a.startswith(("127.", "::1", "fe80:"))]


def _interface_addresses() -> list[str]:
    """Return the IPv4 addresses of the interfaces; the host name often leads to none of them."""
    try:
        from fcntl import ioctl
    except ImportError:
        return []
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                answer = ioctl(probe, 0x8915, request)  # SIOCGIFADDR of Linux
                found.append(socket.inet_ntoa(answer[20:24]))
    return found
