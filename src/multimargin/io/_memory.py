"""How much memory there is."""

from __future__ import annotations

import os
from pathlib import Path


def available() -> int:
    """Bytes that this machine has, or that this process's group may use if that is less."""
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
