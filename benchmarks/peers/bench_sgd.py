"""scikit-learn's SGDClassifier: one-vs-rest, hinge, by stochastic gradient descent.

It minimises ``alpha / 2 |w|^2 + (1 / n) sum of losses`` for each class. That is our primal over
``C n`` where ``alpha = 1 / (C n)``. ``fit_intercept=False``; it has no stopping rule that knows
the optimum, so its ladder is one of epochs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn

from benchmarks.peers import Clock, Offer, PeerUnavailableError, Task, _pickle, epochs

TITLE = "SGDClassifier"
DISTRIBUTION = "scikit-learn"
FOLDER = None
OFFERS = (Offer("ovr", epochs(5, 20, 100), how="hinge", threads="any"),)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    from sklearn.linear_model import SGDClassifier

    task.check_options(TITLE, "loss", "epochs")
    if task.formulation != "ovr" or task.tol is not None:
        raise PeerUnavailableError(f"SGDClassifier does not train {task}")
    passes = int(task.options.get("epochs", 20))
    model = SGDClassifier(
        loss=task.options.get("loss", "hinge"),
        alpha=1 / (task.C * X.shape[0]),
        fit_intercept=False,
        max_iter=passes,
        tol=None,
        n_jobs=task.threads,
        random_state=0,
    )
    with Clock() as clock:
        model.fit(X, y)
    return model.coef_, clock.as_dict() | {
        "classes": model.classes_,
        "loss": task.loss(),
        "dual": None,
        "version": sklearn.__version__,
        "passes": passes,
        "save": _pickle.saver(model),
        "details": {"alpha": model.alpha},
    }
