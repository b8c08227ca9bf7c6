"""Fits side by side: jobs in threads of this process, which share its memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from multimargin.solvers._records import ScanRecord, Weights

T = TypeVar("T")
_POLL = 0.2  # seconds


class _AbandonedError(Exception):
    """Nobody waits for the fit any more."""


class Jobs:
    """Runs jobs, which yield results, some at a time; an observer of their fits.

    The compiled core works without the interpreter's lock, so fits in threads use several cores,
    and a model has the same bits for any number of threads: who runs beside whom changes nothing.
    Signals reach the main thread alone. It waits for results, and whatever is raised there ends
    the fits under way after their present pass.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._at_once = self._left = 1
        self._abandoned = threading.Event()

    def threads(self) -> int:
        """Return how many threads the next fit may have: its share of all."""
        return max(1, self._threads // min(self._at_once, max(1, self._left)))

    def run(
        self, jobs: Sequence[Callable[[], Iterator[T]]], most_at_once: int | None = None
    ) -> Generator[T, None, None]:
        """Yield what the jobs yield, in the order in which it comes; close it to end them."""
        self._left = len(jobs)
        self._at_once = max(1, min(self._threads, len(jobs), most_at_once or len(jobs)))
        if self._at_once > 1:
            yield from self._in_threads(jobs)
            return
        for job in jobs:  # in this thread, which Ctrl-C interrupts within a pass
            yield from job()
            self._left -= 1

    def _in_threads(self, jobs: Sequence[Callable[[], Iterator[T]]]) -> Generator[T, None, None]:
        waiting = iter(jobs)
        lock = threading.Lock()
        found: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

        def work() -> None:
            try:
                while True:
                    with lock:
                        job = next(waiting, None)
                    if job is None or self._abandoned.is_set():
                        break
                    for result in job():
                        found.put(("result", result))
                        self._check()
                    with lock:
                        self._left -= 1
            except BaseException as error:
                found.put(("error", error))
            found.put(("end", None))

        workers = [threading.Thread(target=work, daemon=True) for _ in range(self._at_once)]
        self._abandoned.clear()
        try:
            for worker in workers:
                worker.start()
            running = len(workers)
            while running:
                try:
                    kind, value = found.get(timeout=_POLL)
                except queue.Empty:  # a signal that came in another thread is heard now
                    continue
                if kind == "error":
                    raise value
                if kind == "result":
                    yield value
                else:
                    running -= 1
        finally:
            self._abandoned.set()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
            self._abandoned.clear()

    def _check(self) -> None:
        if self._abandoned.is_set():
            raise _AbandonedError

    # ------------------------------------------------------------ an observer of fits

    def on_pass(self, passes: int, done: float | None = None) -> None:
        self._check()

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        self._check()
        return False

    def close(self) -> None:
        pass
