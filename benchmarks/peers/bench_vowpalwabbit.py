"""Vowpal Wabbit: one against all (``--oaa``), hinge, by its default online gradient descent.

It minimises the mean loss plus ``l2 / 2 |w|^2``, and shrinks all weights once for every class it
visits, so ``l2 = 1 / (C n n_classes)`` is our primal over ``C n``; ``--noconstant``. With its
rates, one for each weight, that holds in name only: more passes do not lead to the optimum. (On
the generator's 1,000 classes it ends 50 % above; with 30 times that l2 28 %, with 1,000 times,
which is 1 / (C n), far off.) It has no stopping rule that knows the optimum, so its ladder is one
of passes over the data. Feature and class are the position of a weight, in a table with room for
all of them: nothing is hashed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Clock, Offer, PeerUnavailableError, Task, _folder, epochs

TITLE = "Vowpal Wabbit"
DISTRIBUTION = "vowpalwabbit"
FOLDER = "vowpalwabbit"
OFFERS = (Offer("ovr", epochs(1, 5, 20), how="--oaa, hinge"),)
_PROBED = 20  # samples
_MOST_BITS = 29  # of the table: 16 bytes a place, so 8.6 GB


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "epochs")
    if task.formulation != "ovr" or task.threads != 1 or task.tol is not None:
        raise PeerUnavailableError(f"Vowpal Wabbit does not train {task}")
    (module,) = _folder.modules(FOLDER, "vowpalwabbit")
    (n_samples, n_features), n_classes = X.shape, int(y.max()) + 1
    passes = int(task.options.get("epochs", 1))
    stride = 1 << (n_classes - 1).bit_length()  # positions from one feature to the next
    bits = max(18, (n_features * stride - 1).bit_length())
    if bits > _MOST_BITS:
        raise PeerUnavailableError(
            f"its table for {n_classes:,} classes and {n_features:,} features would take "
            f"{16 * 2**bits / 1e9:.0f} GB"
        )
    options = (
        f"--oaa {n_classes} --scores --loss_function hinge --noconstant --quiet "
        f"--l2 {1 / (task.C * n_samples * n_classes):.9g} --predict_only_model "
        f"-b {bits}"
    )
    workspace = module.Workspace(options)
    with tempfile.TemporaryDirectory(prefix="multimargin-vw-") as place:
        empty, full = Path(place) / "empty", Path(place) / "full"
        workspace.save(empty)
        examples = [workspace.parse(line) for line in _lines(X, y)]
        with Clock() as clock:
            for _ in range(passes):
                for example in examples:
                    workspace.learn(example)
        workspace.save(full)
        weights = _weights(full, empty.stat().st_size, (n_classes, n_features), stride)
    weights *= _scale(workspace, X[:_PROBED], weights)
    return weights, clock.as_dict() | {
        "owner": (workspace, examples),
        "classes": np.arange(n_classes),
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": passes,
        "save": ("its model file", lambda folder: workspace.save(folder / "model")),
        "details": {"options": options},
    }


def _lines(X: sp.csr_matrix, y: np.ndarray) -> Iterator[str]:
    """The samples as it reads them; its classes count from 1."""
    for label, begin, end in zip(y, X.indptr, X.indptr[1:], strict=False):
        pairs = zip(X.indices[begin:end], X.data[begin:end], strict=True)
        yield f"{int(label) + 1} | " + " ".join(f"{at}:{value:.9g}" for at, value in pairs)


def _weights(path: Path, header: int, shape: tuple[int, int], stride: int) -> np.ndarray:
    """The weights of its model file: pairs (position, weight) after a header of known length."""
    pairs = np.fromfile(path, dtype="<u4,<f4", offset=header)
    feature, label = np.divmod(pairs["f0"].astype(np.int64), stride)
    weights = np.zeros(shape, dtype=np.float32)
    weights[label, feature] = pairs["f1"]
    return weights


def _scale(workspace: Any, X: sp.csr_matrix, weights: np.ndarray) -> float:
    """Return the factor of all weights: regularisation is one factor, which it does not save.

    It cuts scores at -1 and 1, so it is asked for those of samples that are short enough.

    Raises
    ------
    RuntimeError
        If its scores are not those of the weights: then they are not read as it means them.
    """
    short = X * (0.5 / max(1e-9, float(np.abs(X @ weights.T).max())))
    computed = short @ weights.T
    said = np.array([workspace.predict(line) for line in _lines(short, np.zeros(len(computed)))])
    scale = float((said * computed).sum() / np.square(computed).sum())
    if not np.allclose(scale * computed, said, atol=1e-3 * np.abs(said).max()):
        raise RuntimeError("Vowpal Wabbit's scores do not come from the weights that were read")
    return scale
