"""One measured run of the matrix: ``python -m benchmarks.matrix.worker JOB``.

JOB is the JSON of a `benchmarks.common.run.Job` of "liblinear" or "multimargin". Both get the same
samples in double precision, after a fit of a few samples that brings all code into memory. The
objective is computed here from the weights, for both by the same code.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import multimargin
from benchmarks.common import evaluate
from benchmarks.common.data import DataUnavailableError, load
from benchmarks.common.worker import own_rows
from benchmarks.matrix.cells import LIBLINEAR
from benchmarks.peers import Clock, PeerUnavailableError, Task, peak_mb, trainer
from multimargin import MulticlassSVC
from multimargin.estimator._fit import Fit, take
from multimargin.estimator._options import checked_options
from multimargin.solvers._records import ScanRecord, Weights

_ROUNDING = 1e-9  # relative, of objectives that count as equal
_MOST_PASSES = 10**9  # the time limit ends a run


class StopAt:
    """An observer that ends a fit at the first certificate with an objective at or below one."""

    def __init__(self, objective: float | None) -> None:
        self.objective = -math.inf if objective is None else objective * (1 + _ROUNDING)

    def on_pass(self, passes: int, done: float | None = None) -> None:
        pass

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        return record.primal <= self.objective

    def close(self) -> None:
        pass


def _ours(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """What `MulticlassSVC.fit` does, with an observer of certificates."""
    options = dict(task.options)
    observer = StopAt(options.pop("stop_at", None))
    fixed: dict[str, Any] = {"n_jobs": 1, "random_state": 0, "max_iter": _MOST_PASSES}
    model = MulticlassSVC(task.formulation, task.C, tol=task.tol, **fixed, **options)
    with Clock() as clock:
        fit = Fit.of(model, checked_options(model), X, y, None)
        solved = fit.solve([observer], threads=1)
        take(model, solved, fit.linear_model(solved.solution.weights))
    weights = model.coef_
    if model.fit_intercept:
        both = [weights, model.intercept_[:, None]]
        weights = sp.hstack(both, format="csr") if sp.issparse(weights) else np.hstack(both)
    return weights, clock.as_dict() | {
        "classes": model.classes_,
        "version": multimargin.__version__,
        "reached": model.primal_objective_ <= observer.objective,
        "certified": model.primal_objective_,
        "gap": model.dual_gap_,
        "passes": model.n_iter_,
        "certificates": len(model.history_),
    }


def _warm_up(train: Any, task: Task) -> None:
    """Train on a few samples: the first fit of a process reads code and imports modules."""
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.normal(size=(30, 4)))
    options = {name: value for name, value in task.options.items() if name != "stop_at"}
    tol = None if task.tol is None else 0.1
    train(X, np.arange(30) % 3, Task(task.formulation, task.C, 1, tol, options))


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Load, train, and compute the objective where the loss is known."""
    task = Task(**job["task"])
    train = trainer(LIBLINEAR) if job["peer"] == LIBLINEAR else _ours
    data = load(job["dataset"], None if job["folder"] is None else Path(job["folder"]))
    X = sp.csr_matrix(data.X, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ours is stopped on purpose
        _warm_up(train, task)
        weights, info = train(X, data.y, task)
    memory = peak_mb()
    if task.options["fit_intercept"]:
        X = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    own = own_rows(info["classes"], data.y)
    known = task.formulation in ("ww", "cs", "ovr", "llw")
    names = ("seconds", "cpu_seconds", "version", "reached", "certified", "gap", "passes")
    return {
        **{name: info[name] for name in (*names, "certificates") if name in info},
        "objective": evaluate.primal(weights, X, own, task.C, task.loss()) if known else None,
        "peak_mb": memory,
        "hash": evaluate.fingerprint(weights),
        "shape": [*data.X.shape, len(info["classes"])],
    }


def main() -> None:
    """Do the job of the command line."""
    try:
        result = run(json.loads(sys.argv[1]))
    except (PeerUnavailableError, DataUnavailableError) as error:
        result = {"unavailable": str(error)}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
