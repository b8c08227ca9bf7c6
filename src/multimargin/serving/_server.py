"""Serve one model file: the socket, the processes and how they end."""

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
from multimargin.serving._build import about_model, require_serving, served
from multimargin.serving._limits import HOST_NAME, Limits
from multimargin.serving.samples._examples import given_example

_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
# Idle connections end after this; requests that are under way at the end get as long.
_IDLE_SECONDS = 5
# A process that has not started by then is replaced; enough for a slow and busy computer.
_START_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A model file, an address and the limits to serve it with.

    Parameters
    ----------
    model : str
        The model file.
    host, port : str and int, default="127.0.0.1" and 8000
        Where to listen; port 0 takes a free one.
    processes : int, default=1
        Processes that answer; they share the memory of the model.
    threads : int, default=1
        Threads of each for requests of many samples.
    limits : Limits
        Rates are counted by each process.
    allow_hosts : sequence of str, default=()
        Names by which the server may be called: besides ``localhost`` and its address if only this
        machine can connect, else these alone, or any if there are none.
    proxy : str or None, default=None
        Address of a reverse proxy whose X-Forwarded-For says who the client is.
    examples : sequence of str, default=()
        Texts, or rows as JSON, that the page offers; without any they are made from the model.
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
            Called with the address when the socket is open and the model is read.
        """
        require_serving()
        with bound(self.host, self.port) as listening:
            url = f"http://{_bracketed(self.host)}:{listening.getsockname()[1]}/"
            if self.processes == 1:
                app = self._app()
                started(url)
                self._serve_alone(app, listening)
            else:
                self._serve_together(listening, lambda: started(url))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def _app(self, weights: str | None = None, parent: int | None = None) -> Any:
        from multimargin.serving._answers import Answers
        from multimargin.serving._processes import read_weights
        from multimargin.serving._routes import build

        by_feature = None if weights is None else read_weights(weights, self.model)
        answers = Answers(served(self.model), by_feature, self.threads)
        about = about_model(answers, Path(self.model).name, self.limits, self.examples)
        return build(answers, about, self.limits, self._hosts(), parent)

    def _hosts(self) -> frozenset[str] | None:
        given = {name.lower() for name in self.allow_hosts}
        if self.is_local:
            return frozenset({*_LOCAL_NAMES, _bracketed(self.host).lower(), *given})
        return frozenset(given) or None

    def _config(self, app: Any, *, factory: bool) -> Any:
        import uvicorn

        from multimargin.serving._connection import DeadlineProtocol

        return uvicorn.Config(
            app,
            factory=factory,
            http=functools.partial(  # type: ignore[arg-type,unused-ignore]
                DeadlineProtocol,
                head_seconds=self.limits.head_seconds,
                answer_seconds=self.limits.answer_seconds,
            ),
            ws="none",
            lifespan="on",
            log_level="error",
            access_log=False,
            server_header=False,
            # Otherwise a client could choose whose rate it uses up.
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
            server.run(sockets=[listening])  # signals belong to the main thread
            return
        # uvicorn ends in good order, then raises the signal again, which would be status 143.
        before = signal.signal(signal.SIGTERM, lambda number, frame: None)
        try:
            server.run(sockets=[listening])
        finally:
            signal.signal(signal.SIGTERM, before)

    def _serve_together(self, listening: socket.socket, started: Callable[[], None]) -> None:
        from multimargin.serving._processes import identity, run_processes, write_weights

        with tempfile.TemporaryDirectory(prefix="multimargin-serve-") as folder:
            path = None
            opened = identity(self.model)  # before it is opened: it may be replaced meanwhile
            kind = served(self.model)
            for text in self.examples:  # here: a process that cannot start would be replaced
                given_example(text, kind, self.limits)
            coef = kind.model.coef_
            by_feature = weights_by_feature(coef) if sp.issparse(coef) else None
            if by_feature is not None:
                # Made once, in a file that all processes map, as they map the model.
                path = str(Path(folder) / "weights")
                write_weights(by_feature, opened, Path(path))
            app = functools.partial(self._app, path, os.getpid())
            started()
            run_processes(self._config(app, factory=True), listening)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket at an address, or raise a ValueError that says what to do."""
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
        listening.listen(1)  # a second server at this port fails here, before it reads its model
    except OSError as error:
        listening.close()
        raise _explained(error, host, port) from error
    listening.set_inheritable(True)
    return listening


def _explained(error: OSError, host: str, port: int) -> Exception:
    where = f"{_bracketed(host)}:{port}"
    known = {
        errno.EADDRINUSE: f"{where} is in use by another program: choose another port with --port, "
        "or 0 for a free one",
        errno.EACCES: f"no permission to listen at {where}: ports below 1024 are for the "
        "administrator; choose another with --port",
        errno.EADDRNOTAVAIL: f"--host {host} is not an address of this machine",
    }
    unknown = f"cannot listen at {where}: {error.strerror or error}"
    return ValueError(known.get(error.errno or 0, unknown))


def _bracketed(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host
