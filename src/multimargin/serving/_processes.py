"""Several processes at one socket, under uvicorn's supervisor.

Imports uvicorn, so only `_server` imports this.
"""

from __future__ import annotations

import inspect
import signal
import socket
from typing import Any

from uvicorn import Server
from uvicorn.supervisors import Multiprocess


class _Supervisor(Multiprocess):  # type: ignore[misc,unused-ignore]
    """uvicorn's, which remembers Ctrl-C, and sees a process that dies before it could answer."""

    interrupted = False

    def init_processes(self) -> None:
        """Start all."""
        super().init_processes()
        self._leave_ends_to_processes()

    def keep_subprocess_alive(self) -> None:
        """Replace those that do not answer."""
        super().keep_subprocess_alive()
        self._leave_ends_to_processes()

    def _leave_ends_to_processes(self) -> None:
        # With both ends of a pipe open here, a process that is gone looks like one that is slow,
        # and signals wait until the time that it may take to start is over.
        for process in self.processes:
            process.child_conn.close()

    def handle_int(self) -> None:
        """End all, because of Ctrl-C."""
        self.interrupted = True
        super().handle_int()


def run_processes(config: Any, listening: socket.socket) -> None:
    """Serve until SIGTERM, or until SIGINT, which raises KeyboardInterrupt.

    A process that dies is replaced.
    """
    arguments: dict[str, Any] = {"config": config, "sockets": [listening]}
    if "target" in inspect.signature(Multiprocess.__init__).parameters:  # of older versions
        arguments["target"] = Server(config).run
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    supervisor = _Supervisor(**arguments)
    try:
        supervisor.run()
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
    if supervisor.interrupted:
        raise KeyboardInterrupt
