"""The number of threads that a call may use."""

from __future__ import annotations

import os

import joblib
import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._communicator import Communicator

_MOST_THREADS = 1024


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs`` as scikit-learn means it.

    None is one thread unless a joblib context says otherwise; -1 is all processors that this
    process may use (CPU affinity and container limits respected); inside a joblib worker the
    share of that worker.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or int(n_jobs) != n_jobs):
        raise ValueError(f"n_jobs must be None or an integer, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None or 1 for one thread, -1 for all cores")
    threads = max(1, int(joblib.effective_n_jobs(n_jobs)))
    if threads > _MOST_THREADS:
        raise ValueError(f"n_jobs={n_jobs} is more than the {_MOST_THREADS} threads allowed")
    return threads


def rank_thread_count(n_jobs: int | None, comm: Communicator) -> int:
    """Return the number of threads of this rank; -1 is its part of the processors of its host.

    Called by all ranks, which may ask for different numbers. A rank has processors to which the
    launcher bound it alone all to itself.
    """
    if comm.host.size == 1:
        return thread_count(n_jobs)
    usable = usable_processors()
    of_all = np.concatenate([cpus for (cpus,) in comm.host.allgather([usable])])
    if n_jobs is None or n_jobs >= 0:
        return thread_count(n_jobs)
    ranks_on = np.bincount(of_all)[usable]
    own = int(np.floor(np.sum(1 / ranks_on) + 1e-9))
    if joblib.cpu_count() < len(usable):  # a container's limit, for all ranks in it together
        own = min(own, joblib.cpu_count() // comm.host.size)
    return min(_MOST_THREADS, max(1, own + n_jobs + 1))


def usable_processors() -> NDArray[np.int64]:
    """Return the numbers of the processors that this thread may run on."""
    if hasattr(os, "sched_getaffinity"):
        return np.array(sorted(os.sched_getaffinity(0)), dtype=np.int64)
    return np.arange(os.cpu_count() or 1, dtype=np.int64)
