"""How much memory a part of a program takes at most, beside what was there before."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from pathlib import Path

from benchmarks.peers import peak_mb


class PeakRise:
    """The rise of this process's memory to its peak, in millions of bytes, since this was made.

    Where the system does not let a process forget its earlier peak, a higher one from before counts
    as well.
    """

    def __init__(self) -> None:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # what was freed is to count as free
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._before = peak_mb()

    def mb(self) -> float:
        return peak_mb() - self._before
