"""The memory of this computer."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def available() -> int:
    """Return the bytes of memory, or the limit of the control group if that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # no such group, or "max"
            total = min(total, int(Path("/sys/fs/cgroup", limit).read_text()))
    return total
