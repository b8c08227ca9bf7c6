"""A context in which BLAS uses one thread, so that bits do not depend on the number of threads.

The number is a setting of the whole process in some libraries, as in most builds of OpenBLAS, and
of the calling thread in others. So open contexts are counted: the first changes the setting of the
process, the last restores it, and every thread restores its own setting.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import scipy.linalg  # noqa: F401  brings a BLAS of its own, which the search has to find
from threadpoolctl import ThreadpoolController


class _Library:
    """The number of threads that one library uses, by its `threadpoolctl.LibController`."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self.is_shared: bool | None = None  # by all threads of the process; None: not known yet

    def seen(self) -> int | None:
        """Return the number for the calling thread; None if the library does not say."""
        found: int | None = self._controller.get_num_threads()
        return found

    def set(self, threads: int) -> None:
        # Recent versions of threadpoolctl let only one thread change OpenBLAS and silently ignore
        # the others; here another thread may restore the number than changed it.
        give_up = getattr(self._controller, "clear_controlling_thread", lambda force: None)
        give_up(force=True)
        self._controller.set_num_threads(threads)
        give_up(force=True)

    def find_out_if_shared(self) -> None:
        """Set `is_shared`. Called by a thread that has just changed the number to 1."""
        seen: list[int | None] = []
        other = threading.Thread(target=lambda: seen.append(self.seen()))
        try:
            other.start()
            other.join()
            self.is_shared = seen == [1]
        except RuntimeError:  # no more threads can be started: then it does not matter
            self.is_shared = True


class _Own(threading.local):
    """The numbers that a thread has to restore."""

    def __init__(self) -> None:
        self.before: dict[_Library, int] = {}


# Held briefly. Reentrant, since signals and the garbage collector may end a context anywhere.
_lock = threading.RLock()
_blocks: dict[object, int] = {}  # open contexts, and the thread of each
_shared: dict[_Library, int] = {}  # numbers of the process, to be restored
_own = _Own()


@functools.cache
def _libraries() -> tuple[_Library, ...]:
    # The search takes milliseconds. NumPy and SciPy have loaded their libraries by now.
    return tuple(map(_Library, ThreadpoolController().lib_controllers))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, whatever other threads of the process do.

    Contexts may be nested and may overlap in any order. While one is open, BLAS may have a single
    thread elsewhere in the process, too.
    """
    block = object()
    try:
        _begin(block)
        yield
    finally:
        with _lock:
            _blocks.pop(block, None)
            if threading.get_ident() not in _blocks.values():
                _restore(_own.before)
            if not _blocks:
                _restore(_shared)


def _begin(block: object) -> None:
    with _lock:
        _blocks[block] = threading.get_ident()
        own = _own.before
        for library in _libraries():
            threads = library.seen()
            if threads is None or threads == 1:
                continue
            kept = own if library.is_shared is False else _shared
            kept[library] = threads
            library.set(1)
            if library.is_shared is None:
                library.find_out_if_shared()
                if not library.is_shared:
                    own[library] = _shared.pop(library)


def _restore(kept: dict[_Library, int]) -> None:
    for library, threads in list(kept.items()):
        if library.seen() == 1:  # otherwise somebody else has changed it meanwhile
            library.set(threads)
        kept.pop(library, None)


def _after_fork() -> None:
    """In a forked child: forget the contexts of threads, which do not exist here."""
    for block, thread in list(_blocks.items()):
        if thread != threading.get_ident():
            del _blocks[block]
    if not _blocks:
        _restore(_shared)
    _lock.release()


if hasattr(os, "register_at_fork"):
    # No thread is halfway through a change while the process forks.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork
    )
