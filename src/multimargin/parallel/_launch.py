"""The end of a run of several ranks: a failure of one is reported once and ends all.

A rank that failed alone would leave the others waiting for its messages for ever. So it reports the
error and ends all ranks. Often all ranks fail alike (a file that does not exist): rank 0 reports at
once, the others wait for a moment and are ended before they repeat it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from multimargin.parallel._communicator import Communicator

INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
_MOMENT = 1.5  # seconds that ranks fail apart when they fail alike


def status_of(error: BaseException) -> int:
    """Return the exit status of a process that ends with this exception."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 1


def end_all(comm: Communicator, message: str, status: int) -> NoReturn:
    """Report an error, once for all ranks that fail alike, and end all ranks."""
    wait_for_rank_0(comm.rank)
    say(f"multimargin: rank {comm.rank} of {comm.size}: {message.rstrip()}\n")
    comm.abort(status)


def wait_for_rank_0(rank: int) -> None:
    """Wait, on other ranks than 0: if rank 0 fails alike, it reports and ends this one."""
    if rank:
        time.sleep(_MOMENT)


def say(text: str) -> None:
    """Write to the stderr of the process in one piece, even inside `silence`."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))


@contextlib.contextmanager
def silence(rank: int) -> Iterator[None]:
    """Drop everything that this rank prints unless it is rank 0."""
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
    """Let an uncaught exception end all ranks from now on.

    Otherwise Python would finalize MPI, which waits for the other ranks, which wait for this one.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end_all(comm, "".join(traceback.format_exception(kind, error, trace)), status_of(error))

    if comm.size > 1:
        sys.excepthook = hook
