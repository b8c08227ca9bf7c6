"""The memory of this computer."""

from __future__ import annotations

import os
from pathlib import Path


def available() -> int:
    """Return the bytes of memory, or the limit of the control group if that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [
        Path("/sys/fs/cgroup/memory.max"),
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ]
    for file in limits:
        try:
            total = min(total, int(file.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return total
