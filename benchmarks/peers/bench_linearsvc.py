"""scikit-learn's LinearSVC, LIBLINEAR inside: one-vs-rest, squared hinge, and Crammer-Singer.

Its primal is ours: half the squared norm plus C times the losses; ``fit_intercept=False``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn

from benchmarks.peers import Clock, Offer, PeerUnavailableError, Task, _liblinear, _pickle

TITLE = "LinearSVC"
DISTRIBUTION = "scikit-learn"
FOLDER = None
OFFERS = (
    Offer("cs", _liblinear.HINGE_LADDER, how="crammer_singer"),
    Offer("ovr", _liblinear.LADDER, squared=True, how="ovr"),
)
_MAX_ITER = 100_000


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    task.check_options(TITLE, "loss")
    if task.threads != 1 or task.formulation not in ("cs", "ovr"):
        raise PeerUnavailableError(f"LinearSVC does not train {task}")
    loss = task.options.get("loss", "hinge")
    model = LinearSVC(
        C=task.C,
        loss=loss if task.formulation == "ovr" else "squared_hinge",  # ignored by the other
        multi_class="ovr" if task.formulation == "ovr" else "crammer_singer",
        dual=True,
        tol=1e-4 if task.tol is None else task.tol,
        max_iter=_MAX_ITER,
        fit_intercept=False,
        random_state=0,
    )
    X = sp.csr_matrix(X, dtype=np.float64)
    with warnings.catch_warnings(), Clock() as clock:
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model.coef_, clock.as_dict() | {
        "classes": model.classes_,
        "loss": task.loss(),
        "dual": None,
        "version": sklearn.__version__,
        "passes": int(np.max(model.n_iter_)),
        "save": _pickle.saver(model),
        "details": {"tol": model.tol, "converged": int(np.max(model.n_iter_)) < _MAX_ITER},
    }
