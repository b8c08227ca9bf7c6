"""Which cores a measured process may use: whole ones before second threads of the same core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def _siblings(cpu: int) -> str:
    """A name of the core that a processor is a thread of."""
    try:
        return Path(_TOPOLOGY.format(cpu)).read_text(encoding="utf-8").strip()
    except OSError:
        return str(cpu)


def cores(count: int) -> frozenset[int] | None:
    """So many processors, on as many cores as there are; None where none can be chosen.

    The last ones: the first often serves the machine's interrupts.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    free = sorted(os.sched_getaffinity(0), reverse=True)
    seen: set[str] = set()
    first, second = [], []
    for cpu in free:
        core = _siblings(cpu)
        (second if core in seen else first).append(cpu)
        seen.add(core)
    return frozenset([*first, *second][:count])


@contextmanager
def on_cores(count: int | None) -> Iterator[None]:
    """Processes that are started in this block have so many cores; None: all.

    They inherit them from this process. A ``preexec_fn`` could choose them, too, but Ctrl-C gets
    lost in the functions that Python calls around it.
    """
    chosen = None if count is None else cores(count)
    if chosen is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
