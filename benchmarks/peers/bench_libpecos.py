"""PECOS: its linear model of one layer and one cluster, which is one-vs-rest.

Hinge and squared hinge by LIBLINEAR's dual coordinate descent in float32. Its primal is ours with
``Cp = Cn = C``; ``bias`` below 0 adds none, and ``threshold=0`` keeps all weights (users get 0.1,
which drops most of them and leaves no solution of the problem).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Clock, Offer, PeerUnavailableError, Task, _folder, _liblinear

TITLE = "PECOS"
DISTRIBUTION = "libpecos"
FOLDER = "libpecos"
OFFERS = (
    Offer("ovr", _liblinear.HINGE_LADDER, how="L2R_L1LOSS_SVC_DUAL", threads="any"),
    Offer("ovr", _liblinear.LADDER, squared=True, how="L2R_L2LOSS_SVC_DUAL", threads="any"),
)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "loss")
    if task.formulation != "ovr":
        raise PeerUnavailableError(f"PECOS does not train formulation {task.formulation!r}")
    _, base = _folder.modules(FOLDER, "pecos", "pecos.xmc.base")
    n_samples, n_classes = len(y), int(y.max()) + 1
    ones = np.ones(n_samples, dtype=np.float32)
    Y = sp.csr_matrix((ones, (np.arange(n_samples), y)), shape=(n_samples, n_classes))
    problem = base.MLProblem(X, Y, threads=task.threads)
    squared = task.loss() == "one-vs-rest-squared"
    parameters = {
        "threshold": 0.0,
        "solver_type": "L2R_L2LOSS_SVC_DUAL" if squared else "L2R_L1LOSS_SVC_DUAL",
        "Cp": task.C,
        "Cn": task.C,
        "max_iter": 1000,
        "eps": 0.1 if task.tol is None else task.tol,
        "bias": -1.0,
        "threads": task.threads,
    }
    with Clock() as clock:
        model = base.MLModel.train(problem, train_params=parameters)
    weights = sp.csr_matrix(model.W.T)
    weights.sort_indices()

    def save(folder: Path) -> None:
        model.save(str(folder))

    return weights, clock.as_dict() | {
        "classes": np.arange(n_classes),
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": None,
        "save": ("its folder", save),
        "details": parameters,
    }
