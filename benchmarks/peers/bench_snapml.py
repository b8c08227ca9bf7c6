"""Snap ML's SupportVectorMachine: one-vs-rest, hinge and squared hinge.

It minimises ``regularizer / 2 |w|^2 + sum of losses`` for each class, which is our primal over C
where ``regularizer = 1 / C``; ``fit_intercept=False``. It computes in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import (
    Clock,
    Offer,
    PeerUnavailableError,
    Task,
    _folder,
    _pickle,
    tolerances,
)

TITLE = "Snap ML"
DISTRIBUTION = "snapml"
FOLDER = "snapml"
# Of the change of the weights; its default is 0.001.
_LADDER = tolerances(0.1, 0.03, 0.01, 0.003, 0.001, 0.0001)
OFFERS = (
    Offer("ovr", _LADDER, how="hinge", threads="any"),
    Offer("ovr", _LADDER, squared=True, how="squared_hinge", threads="any"),
)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "loss")
    if task.formulation != "ovr":
        raise PeerUnavailableError(f"Snap ML does not train formulation {task.formulation!r}")
    (snapml,) = _folder.modules(FOLDER, "snapml")
    model = snapml.SupportVectorMachine(
        loss=task.options.get("loss", "hinge"),
        regularizer=1 / task.C,
        max_iter=10_000,
        tol=0.001 if task.tol is None else task.tol,
        n_jobs=task.threads,
        fit_intercept=False,
        random_state=0,
    )
    with Clock() as clock:
        model.fit(X, y)
    weights = np.asarray(model.coef_)
    n_classes = len(model.classes_)
    if weights.shape != (n_classes, X.shape[1]):
        weights = weights.reshape(X.shape[1], n_classes).T
    return weights, clock.as_dict() | {
        "classes": model.classes_,
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": None,
        "save": _pickle.saver(model),
        "details": {"tol": model.tol},
    }
