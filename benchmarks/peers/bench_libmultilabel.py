"""LibMultiLabel: its linear one-vs-rest, multicore LIBLINEAR inside, squared hinge.

Its primal is ours: it hands LIBLINEAR's options on, and adds no bias without ``-B``. Classes are
divided over as many threads as the machine has cores; here over those of the task. Its package
imports trees and a graph library before anything else, none of which one-vs-rest uses: only the
module that has it is loaded.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import (
    Clock,
    Offer,
    PeerUnavailableError,
    Task,
    _folder,
    _liblinear,
    _pickle,
)

TITLE = "LibMultiLabel"
DISTRIBUTION = "libmultilabel"
FOLDER = "libmultilabel"
OFFERS = (Offer("ovr", _liblinear.LADDER, squared=True, how="train_1vsrest", threads="any"),)


def _linear(threads: int) -> Any:
    """Its module of linear models, which uses so many threads."""
    package = ModuleType("libmultilabel.linear")
    package.__path__ = [str(_folder.ROOT / FOLDER / "libmultilabel" / "linear")]
    sys.modules["libmultilabel.linear"] = package
    _, psutil, linear = _folder.modules(
        FOLDER, "libmultilabel", "psutil", "libmultilabel.linear.linear"
    )
    psutil.cpu_count = lambda logical=True: threads
    return linear


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "loss")
    if task.formulation != "ovr":
        raise PeerUnavailableError(f"LibMultiLabel does not train formulation {task.formulation!r}")
    linear = _linear(task.threads)
    n_samples, n_classes = len(y), int(y.max()) + 1
    Y = sp.csr_matrix((np.ones(n_samples), (np.arange(n_samples), y)), (n_samples, n_classes))
    X = sp.csr_matrix(X, dtype=np.float64)
    solver = 1 if task.loss() == "one-vs-rest-squared" else 3
    options = f"-s {solver} -c {task.C:.17g} -e {0.1 if task.tol is None else task.tol:g}"
    with Clock() as clock:
        model = linear.train_1vsrest(Y, X, options=options, verbose=False)
    return np.asarray(model.weights).T, clock.as_dict() | {
        "classes": np.arange(n_classes),
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": None,
        "save": _pickle.saver(model),
        "details": {"options": options},
    }
