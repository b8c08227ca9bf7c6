"""Problems in several processes: one that hangs or dies is reported, and replaced."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from benchmarks.stress.checks import Finding
from benchmarks.stress.problem import name
from benchmarks.stress.run import Outcome, run

_LONGEST_FIT = 60.0  # seconds
_CONTEXT = get_context("spawn")


def outcomes(first: int, jobs: int, goes_on: Callable[[int], bool]) -> Iterator[Outcome]:
    """Yield the outcomes of the problems from a seed on, in the order in which they end.

    Parameters
    ----------
    first : int
        The first seed.
    jobs : int
        Processes.
    goes_on : callable
        Told how many problems have begun: whether there is to be one more.
    """
    seeds = itertools.count(first)
    lanes: list[_Lane] = []
    try:
        for _ in range(jobs):
            if goes_on(len(lanes)):
                lanes.append(_Lane(next(seeds)))
        begun = len(lanes)
        while lanes:
            wait([lane.pipe for lane in lanes], timeout=1.0)
            for lane in list(lanes):
                outcome = lane.poll()
                if outcome is None:
                    continue
                yield outcome
                if goes_on(begun):
                    begun += 1
                    lane.begin(next(seeds))
                else:
                    lane.end()
                    lanes.remove(lane)
    finally:
        for lane in lanes:
            lane.end()


class _Lane:
    """A process that solves one problem after the other."""

    def __init__(self, seed: int) -> None:
        self._start()
        self.begin(seed)

    def _start(self) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        # No daemon: joblib would allow these no threads.
        self._process = _CONTEXT.Process(target=_work, args=(theirs,))
        self._process.start()
        theirs.close()

    def begin(self, seed: int) -> None:
        self._seed, self._heard = seed, time.monotonic()
        self.pipe.send(seed)

    def poll(self) -> Outcome | None:
        """Return the outcome of the problem if it has ended or must end."""
        try:
            while self.pipe.poll():
                self._heard = time.monotonic()
                message = self.pipe.recv()
                if isinstance(message, Outcome):
                    return message
        except (EOFError, OSError):
            self._process.join()
            return self._lost(Finding("crash", f"exit code {self._process.exitcode}"))
        if time.monotonic() - self._heard > _LONGEST_FIT:
            return self._lost(Finding("hang", f"a fit takes more than {_LONGEST_FIT:.0f} s"))
        return None

    def _lost(self, finding: Finding) -> Outcome:
        self.end()
        self._start()
        return Outcome(self._seed, name(self._seed), [(0, finding)])

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(pipe: Connection) -> None:
    with contextlib.suppress(EOFError):  # whoever asks is gone
        while True:
            pipe.send(run(pipe.recv(), beat=lambda: pipe.send(None)))
