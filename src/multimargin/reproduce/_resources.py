"""What this process may use of the machine: cores, memory, and ranks."""

from __future__ import annotations

import os
from pathlib import Path

from multimargin._threads import thread_count
from multimargin.reproduce._experiment import Missing, Options
from multimargin.reproduce._ranks import MPIEXEC, why_not

_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def usable_cores(options: Options) -> int:
    """Cores that fits may use: those asked for, and no more than there are."""
    return max(1, min(options.threads, thread_count(-1)))


def memory_bytes() -> int:
    """Memory of the machine, or what the container allows of it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in _CONTAINER_LIMITS:
        try:
            total = min(total, int(file.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return total


def possible_ranks(
    names: dict[int, str], cores: int
) -> tuple[tuple[int, ...], tuple[Missing, ...]]:
    """Which numbers of ranks can be measured on so many cores, and what is missing for the others.

    Parameters
    ----------
    names : dict of int to str
        What runs on so many ranks are called, such as "WW-MPI-2"; one rank needs no MPI.
    cores : int
    """
    reason = why_not()
    possible, missing = [], []
    for ranks, name in names.items():
        if ranks > 1 and reason is not None:
            remedy = f'pip install "multimargin[mpi]", or name an mpiexec by {MPIEXEC}'
            missing.append(Missing(name, f"no MPI: {reason}", remedy))
        elif ranks > cores:
            plural = "core" if cores == 1 else "cores"
            why = f"{ranks} ranks need {ranks} cores, and {cores} {plural} may be used"
            missing.append(Missing(name, why, f"a machine with {ranks} cores"))
        else:
            possible.append(ranks)
    return tuple(possible), tuple(missing)
