"""napkinXC: its one-vs-rest with LIBLINEAR inside, squared hinge.

Its primal is ours with ``liblinear_c = C``; ``bias=0`` and ``norm=False`` leave the rows as they
are, ``weights_threshold=0`` keeps all weights (users get 0.1). It writes the model while it
trains, so its seconds hold that. Weights can be had from that file alone, whose layout `_weights`
reads. Its probabilities of hinge losses grow with the scores, so it predicts as they do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
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
    folder_bytes,
)

TITLE = "napkinXC"
DISTRIBUTION = "napkinxc"
FOLDER = "napkinxc"
OFFERS = (Offer("ovr", _liblinear.LADDER, squared=True, how="OVR", threads="any"),)
# Weight 0 is not used, weight 1 is the bias.
_FIRST_FEATURE = 2
_MORE_WEIGHTS = 8


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "loss")
    if task.loss() != "one-vs-rest-squared":
        raise PeerUnavailableError(f"napkinXC does not train {task}")
    _, models = _folder.modules(FOLDER, "napkinxc", "napkinxc.models")
    labels = [int(label) for label in y]
    with tempfile.TemporaryDirectory(prefix="multimargin-napkinxc-") as place:
        model = models.OVR(
            place,
            norm=False,
            bias=0.0,
            loss="l2",
            weights_threshold=0.0,
            liblinear_c=task.C,
            liblinear_eps=0.1 if task.tol is None else task.tol,
            liblinear_max_iter=1000,
            seed=0,
            threads=task.threads,
        )
        with Clock() as clock:
            model.fit(X, labels)
        size = folder_bytes(Path(place))
        weights = _weights(Path(place) / "weights.bin", X.shape[1])
    return weights, clock.as_dict() | {
        "classes": np.arange(weights.shape[0]),
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": None,
        "saved": ("its folder", size),
        "details": {"eps": 0.1 if task.tol is None else task.tol},
    }


def _weights(path: Path, n_features: int) -> np.ndarray:
    """The weights of its file, of shape (n_classes, n_features).

    The file has the number of classes, and for each: number of labels (2), first label (0: the
    weights are those against the class) and loss, 32 bits each; number of weights and of those
    that are not zero, both twice, 64 bits each; a byte that tells whether pairs (position, weight)
    follow or all weights; these, in 32 bits each; a byte for gradients, of which there are none.
    """
    content = np.memmap(path, dtype=np.uint8, mode="r")

    def read(kind: str, at: int, count: int) -> np.ndarray:
        width = np.dtype(kind).itemsize
        return np.frombuffer(content[at : at + width * count].tobytes(), kind)

    at = 4
    weights = np.zeros((int(read("<i4", 0, 1)[0]), n_features), dtype=np.float32)
    for row in weights:
        n_labels, first, _ = read("<i4", at, 3)
        n_weights, n_nonzero = map(int, read("<i8", at + 28, 2))
        if n_labels != 2 or not n_nonzero <= n_weights <= n_features + _MORE_WEIGHTS:
            raise RuntimeError(
                f"{path.name} has {n_labels} labels and {n_nonzero} of {n_weights} weights at {at}"
            )
        is_sparse, at = bool(content[at + 44]), at + 45
        if is_sparse:
            pairs = read("<i4,<f4", at, n_nonzero)
            kept = pairs["f0"] >= _FIRST_FEATURE
            row[pairs["f0"][kept] - _FIRST_FEATURE] = pairs["f1"][kept]
            at += 8 * n_nonzero + 1
        else:
            # They end with the last one that is not zero, or a little after.
            given = read("<f4", at, n_weights)[_FIRST_FEATURE : _FIRST_FEATURE + n_features]
            row[: len(given)] = given
            at += 4 * n_weights + 1
        if first == 0:
            np.negative(row, out=row)
    return weights
