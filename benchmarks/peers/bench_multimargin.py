"""multimargin itself: Weston-Watkins to a relative duality gap of 1 %."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

import multimargin
from multimargin import MulticlassSVC
from multimargin import _solver as solver_module

_TOL = 0.01
_PHASES = {"_work_inside": "passes_s", "_scan": "scans_s"}


def train(X: sp.csr_matrix, y: np.ndarray, C: float, threads: int) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    model = MulticlassSVC(C=C, tol=_TOL, fit_intercept=False, n_jobs=threads, random_state=0)
    with _phase_clock() as phases:
        began, cpu_began = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    return model.coef_, {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "classes": model.classes_,
        "loss": "weston-watkins",
        "dual": model.dual_objective_,
        "version": multimargin.__version__,
        "passes": model.n_iter_,
        "details": {
            "tol": _TOL,
            "scans": len(model.history_),
            "violation": model.violation_,
            "converged": model.converged_,
            "own_primal": model.primal_objective_,
            "own_gap": model.dual_gap_,
            "active_pairs": model.history_[-1]["active"],
            **phases,
        },
    }


@contextmanager
def _phase_clock() -> Iterator[dict[str, float]]:
    """Sum up the seconds of inner passes and of scans, which `history_` does not tell apart.

    A solver without these methods is timed as a whole: the dict then stays empty.
    """
    seconds: dict[str, float] = {}
    solver: Any = solver_module.Solver
    originals = {name: getattr(solver, name) for name in _PHASES if hasattr(solver, name)}

    def timed(original: Any, key: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                seconds[key] = seconds.get(key, 0.0) + time.perf_counter() - began

        return call

    for name, original in originals.items():
        setattr(solver, name, timed(original, _PHASES[name]))
    try:
        yield seconds
    finally:
        for name, original in originals.items():
            setattr(solver, name, original)
