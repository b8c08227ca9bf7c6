"""Several processes at one socket, under uvicorn's supervisor, with the weights in one file.

Imports uvicorn, so only `_server` imports this, and late.
"""

from __future__ import annotations

import inspect
import os
import signal
import socket
from pathlib import Path
from typing import Any

from uvicorn import Server
from uvicorn.supervisors import Multiprocess

from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._feature_major import WeightsByFeature


class _Supervisor(Multiprocess):  # type: ignore[misc,unused-ignore]
    """uvicorn's supervisor; remembers Ctrl-C, and notices a process that dies while it starts."""

    interrupted = False

    def init_processes(self) -> None:
        super().init_processes()
        self._leave_ends_to_processes()

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        self._leave_ends_to_processes()

    def _leave_ends_to_processes(self) -> None:
        # With both ends of a pipe open here, a dead process looks like a slow one, and signals
        # wait until the time in which it has to start is over.
        for process in self.processes:
            process.child_conn.close()

    def handle_int(self) -> None:
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


def write_weights(weights: WeightsByFeature, model: list[int], path: Path) -> None:
    """Write the weights of a model file, whose `identity` was taken before it was opened."""
    meta = {"kind": "weights-by-feature", "model": model}
    write_arrays(path, meta, weights._asdict(), durable=False)


def read_weights(path: str, model_path: str) -> WeightsByFeature | None:
    """Map the weights from `write_weights`; None if the model file was replaced since."""
    meta, arrays = read_arrays(path)
    if meta["model"] != identity(model_path):
        return None
    return WeightsByFeature(*(arrays[name] for name in WeightsByFeature._fields))


def identity(path: str) -> list[int]:
    """Return numbers that change when a file is replaced."""
    about = os.stat(path)  # noqa: PTH116
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns]
