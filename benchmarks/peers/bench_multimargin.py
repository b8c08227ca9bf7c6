"""multimargin itself, to a relative duality gap of 1 % unless told otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

import multimargin
from benchmarks.peers import Clock, Offer, RefusedError, Task, tolerances
from multimargin import MulticlassSVC
from multimargin.solvers.active_set import _solver as solver_module

TITLE = "multimargin"
DISTRIBUTION = "multimargin"
FOLDER = None
TOL = 0.01
_LADDER = tolerances(0.1, 0.03, 0.01)
OFFERS = (
    Offer("ww", _LADDER, threads="any"),
    Offer("cs", _LADDER, threads="any"),
    Offer("ovr", _LADDER, threads="any"),
    Offer("ovr", _LADDER, squared=True, threads="any"),
)
_PHASES = {
    "_begin": "start_s",
    "_work_inside": "passes_s",
    "_look": "scans_s",
    "_scan": "scans_s",
    "_after": "merging_s",
    "_weights": "export_s",
}
"""Steps of the solver with many classes, and what they are counted as. `_after` lets violators
become active."""


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned.

    Raises
    ------
    RefusedError
        If the estimator does not take the parameters, or not with these data.
    """
    tol = TOL if task.tol is None else task.tol
    model = estimator(task, tol)
    with _phase_clock() as phases, Clock() as clock:
        try:
            model.fit(X, y)
        except ValueError as error:
            raise RefusedError(str(error)) from error
    return model.coef_, {
        **clock.as_dict(),
        "classes": model.classes_,
        "loss": task.loss(),
        "dual": model.dual_objective_,
        "version": multimargin.__version__,
        "passes": model.n_iter_,
        "save": ("its model file", lambda folder: multimargin.save_model(model, folder / "model")),
        "details": {
            "tol": tol,
            "scans": len(model.history_),
            "violation": model.violation_,
            "converged": model.converged_,
            "own_primal": model.primal_objective_,
            "own_gap": model.dual_gap_,
            "active": [record.get("active") for record in model.history_],
            "active_pairs": model.history_[-1].get("active") if model.history_ else None,
            **phases,
        },
    }


def estimator(task: Task, tol: float) -> MulticlassSVC:
    """The estimator that a task asks for."""
    fixed: dict[str, Any] = {"fit_intercept": False, "n_jobs": task.threads, "random_state": 0}
    try:
        return MulticlassSVC(task.formulation, task.C, tol=tol, **fixed | task.options)
    except TypeError as error:  # a parameter by a name it does not have
        raise RefusedError(str(error)) from error


@contextmanager
def _phase_clock() -> Iterator[dict[str, float]]:
    """Sum up the seconds of each kind of step, which `history_` does not tell apart.

    A solver without these methods is timed as a whole: the dict then stays empty.
    """
    seconds: dict[str, float] = {}
    solver: Any = solver_module.ActiveSetSolver
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
