"""A server for one model file: its socket, its processes and its end."""

from __future__ import annotations

import errno
import functools
import ipaddress
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from multimargin.models._feature_major import weights_by_feature
from multimargin.serving._build import application, require_serving, served_model
from multimargin.serving._columns import identity, read_columns, write_columns
from multimargin.serving._guard import HOST_NAME
from multimargin.serving._limits import Limits

_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
# Connections end after so many idle seconds; requests that are under way at the end get as many.
_IDLE_SECONDS = 5
# In which a process has to start, on a slow and busy machine; then it is replaced.
_START_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """What to serve, where and how.

    Parameters
    ----------
    model : str
        The model file.
    host, port : str and int, default="127.0.0.1" and 8000
        Where to listen; port 0 takes a free one.
    processes : int, default=1
        Processes that answer; they share the memory of the model.
    threads : int, default=1
        Threads of each for requests of many texts.
    limits : Limits
        Rates are counted by each process.
    allow_hosts : sequence of str, default=()
        More names by which a server that listens on this machine alone may be called; on other
        addresses the only ones, if there are any.
    proxy : str or None, default=None
        Address of a reverse proxy whose X-Forwarded-For says who the client is.
    examples : sequence of str, default=()
        Texts that the page offers.
    """

    model: str
    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 1
    threads: int = 1
    limits: Limits = field(default_factory=Limits)
    allow_hosts: Sequence[str] = ()
    proxy: str | None = None
    examples: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.allow_hosts:
            if not HOST_NAME.fullmatch(name.lower()):
                raise ValueError(f"{name!r} is not a name of a host: give it without a port")

    def run(self, started: Callable[[str], None] = lambda url: None) -> None:
        """Serve until SIGTERM, or until SIGINT, which raises KeyboardInterrupt.

        Parameters
        ----------
        started : callable, default does nothing
            Called with the address when the socket is there and the model is read.
        """
        require_serving()
        with bound(self.host, self.port) as listening:
            url = _url(self.host, listening)
            if self.processes == 1:
                app = self._app()
                started(url)
                self._serve_alone(app, listening)
            else:
                self._serve_together(listening, lambda: started(url))

    @property
    def is_local(self) -> bool:
        """Whether no other machine can connect."""
        return is_local(self.host)

    def _app(self, columns: str | None = None, parent: int | None = None) -> Any:
        return application(
            served_model(self.model),
            name=Path(self.model).name,
            columns=None if columns is None else read_columns(columns, self.model),
            threads=self.threads,
            limits=self.limits,
            hosts=self._hosts(),
            examples=self.examples,
            parent=parent,
        )

    def _hosts(self) -> frozenset[str] | None:
        given = {name.lower() for name in self.allow_hosts}
        if self.is_local:
            return frozenset({*_LOCAL_NAMES, _bracketed(self.host).lower(), *given})
        return frozenset(given) or None

    def _config(self, app: Any, *, factory: bool) -> Any:
        import uvicorn

        from multimargin.serving._connection import PatientProtocol

        return uvicorn.Config(
            app,
            factory=factory,
            http=functools.partial(  # type: ignore[arg-type,unused-ignore]
                PatientProtocol,
                head_seconds=self.limits.head_seconds,
                answer_seconds=self.limits.answer_seconds,
            ),
            ws="none",
            lifespan="on",
            log_level="error",
            access_log=False,
            server_header=False,
            # A client that says whom it asks for would choose whose rate it uses up.
            proxy_headers=self.proxy is not None,
            forwarded_allow_ips=self.proxy,
            limit_concurrency=self.limits.connections,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_IDLE_SECONDS,
            # A process that is still importing cannot say that it is well.
            timeout_worker_healthcheck=_START_SECONDS,
            workers=self.processes,
        )

    def _serve_alone(self, app: Any, listening: socket.socket) -> None:
        import uvicorn

        server = uvicorn.Server(self._config(app, factory=False))
        if threading.current_thread() is not threading.main_thread():
            server.run(sockets=[listening])  # signals are others' affair there
            return
        # uvicorn ends in good order and raises the signal again: SIGTERM is no failure then.
        before = signal.signal(signal.SIGTERM, lambda number, frame: None)
        try:
            server.run(sockets=[listening])
        finally:
            signal.signal(signal.SIGTERM, before)

    def _serve_together(self, listening: socket.socket, started: Callable[[], None]) -> None:
        from multimargin.serving._processes import run_processes

        with tempfile.TemporaryDirectory(prefix="multimargin-serve-") as folder:
            columns = None
            # Before the model is opened: whoever replaces the file meanwhile makes another one.
            opened = identity(self.model)
            coef = served_model(self.model).coef_
            weights = weights_by_feature(coef) if sp.issparse(coef) else None
            if weights is not None:
                # Once, in a file that all processes map, as they do the model.
                columns = str(Path(folder) / "columns")
                write_columns(weights, opened, Path(columns))
            app = functools.partial(self._app, columns, os.getpid())
            started()
            run_processes(self._config(app, factory=True), listening)


def is_local(host: str) -> bool:
    """Whether a server at this address can be reached from its own machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises
    ------
    OSError, ValueError
        With what to do about it.
    """
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (socket.gaierror, UnicodeError) as error:
        raise ValueError(
            f"--host {host!r} is not an address of this machine: {error}; use 127.0.0.1 for this "
            "machine alone, 0.0.0.0 for all its addresses"
        ) from error
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1)  # so that a second server fails here, and not when it is told to serve
    except OSError as error:
        listening.close()
        raise _explained(error, host, port) from error
    listening.set_inheritable(True)
    return listening


def _explained(error: OSError, host: str, port: int) -> Exception:
    where = f"{_bracketed(host)}:{port}"
    if error.errno == errno.EADDRINUSE:
        return ValueError(
            f"{where} is in use by another program: choose another port with --port, or 0 for a "
            "free one"
        )
    if error.errno == errno.EACCES:
        return ValueError(
            f"no permission to listen at {where}: ports below 1024 are for the administrator; "
            "choose another with --port"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return ValueError(f"--host {host} is not an address of this machine")
    return ValueError(f"cannot listen at {where}: {error.strerror or error}")


def _bracketed(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host


def _url(host: str, listening: socket.socket) -> str:
    return f"http://{_bracketed(host)}:{listening.getsockname()[1]}/"
