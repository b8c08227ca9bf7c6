"""Ctrl-C: it ends the process while modules are imported, and may be a request during a run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it


def end_process(*_: object) -> NoReturn:
    """End the process at once; may be a handler of signals."""
    try:
        os.write(2, b"multimargin: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def _is_default() -> bool:
    """Return whether Ctrl-C raises KeyboardInterrupt here; nohup, for one, has it ignored."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    if not _is_default():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ended_by_interrupts() -> contextlib.AbstractContextManager[None]:
    """Let Ctrl-C end the process.

    Not by an exception: code that is being imported may turn it into another one.
    """
    return _handled_by(end_process)


class StopRequest:
    """A request that runs end as they do at a time limit."""

    def __init__(self) -> None:
        self.asked = False
        self._runs = 0
        self._engine: Any = None

    @property
    def heard(self) -> bool:
        """Whether there is a run that will notice."""
        return self._runs > 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        self._runs += 1
        try:
            yield
        finally:
            self._runs -= 1
            self._engine = None

    def passes_in(self, engine: Any) -> None:
        """Note the compiled engine that passes now and can stop within a pass; None: it ended."""
        self._engine = engine

    def ask(self) -> None:
        self.asked = True
        if self._engine is not None:
            self._engine.set_time_limit(0.0)


_PRESENT: ContextVar[StopRequest | None] = ContextVar("stop request", default=None)


def present_request() -> StopRequest | None:
    """Return the request that runs have to obey, if Ctrl-C is one at present."""
    return _PRESENT.get()


@contextlib.contextmanager
def interrupts_ask(told: Callable[[], None]) -> Iterator[StopRequest]:
    """Let the first Ctrl-C during a run be a request; `told` is called then, in the handler.

    Before and after a run, and the second time, Ctrl-C raises KeyboardInterrupt as ever; so it does
    in other threads than the main one, and where somebody else handles the signal.
    """
    request = StopRequest()

    def handler(number: int, frame: FrameType | None) -> None:
        if request.asked or not request.heard:
            signal.default_int_handler(number, frame)
        request.ask()
        told()

    token = _PRESENT.set(request)
    try:
        with _handled_by(handler):
            yield request
    finally:
        _PRESENT.reset(token)
