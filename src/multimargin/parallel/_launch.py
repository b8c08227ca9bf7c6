"""Ranks live and die together: a failure on one of them is told once and ends them all.

A rank that fails alone leaves the others waiting for its messages, for good. So it says what went
wrong and ends all of them. Often all ranks fail alike (a file that does not exist); then rank 0
speaks for them, and the others, who wait for a moment, are ended before they say it again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import NoReturn

from multimargin.parallel._communicator import Communicator

INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
_MOMENT = 1.5  # seconds that ranks fail apart when they fail alike


def status_of(error: BaseException) -> int:
    """Exit status of a process that ends with this exception."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 1


def end_all(comm: Communicator, message: str, status: int) -> NoReturn:
    """Say what went wrong, once for all ranks that fail alike, and end them all."""
    wait_for_rank_0(comm.rank)
    say(f"multimargin: rank {comm.rank} of {comm.size}: {message.rstrip()}\n")
    comm.abort(status)


def wait_for_rank_0(rank: int) -> None:
    """Give rank 0 the time to say it, if it has the same to say: then it ends this one, too."""
    if rank:
        time.sleep(_MOMENT)


def say(text: str) -> None:
    """Write to the process's stderr, even where `silence` is in force, in one piece."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))


@contextlib.contextmanager
def silence(rank: int) -> Iterator[None]:
    """Drop what this rank prints (progress, notes, warnings, results) unless it is rank 0."""
    if rank == 0:
        yield
        return
    with (
        open(os.devnull, "w") as null,  # noqa: PTH123
        contextlib.redirect_stdout(null),
        contextlib.redirect_stderr(null),
    ):
        yield


def end_all_when_uncaught(comm: Communicator) -> None:
    """From now on, an exception that nobody catches ends all ranks.

    Without this, Python would end MPI in good order, which waits for the other ranks, who wait for
    this one.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end_all(comm, "".join(traceback.format_exception(kind, error, trace)), status_of(error))

    if comm.size > 1:
        sys.excepthook = hook
