"""How many threads a call may use."""

from __future__ import annotations

import joblib

_MOST_THREADS = 1024


def thread_count(n_jobs: int | None) -> int:
    """Threads for ``n_jobs`` as scikit-learn means it.

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
