"""lightning's LinearSVC: one-vs-rest, hinge and squared hinge, by dual coordinate descent.

Its primal is ours with the same C, and it has no intercept. It wants older releases of NumPy,
SciPy and scikit-learn than multimargin does, so it lives in an environment of its own: this module
is also the program that trains there. Time and memory are of that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
    peak_mb,
    tolerances,
)

TITLE = "lightning"
DISTRIBUTION = "sklearn-contrib-lightning"
FOLDER = "lightning"
_LADDER = tolerances(1, 0.3, 0.1, 0.03, 0.01, 0.001)  # its default is 0.001
_MOST_BYTES = 8e9
OFFERS = (
    Offer("ovr", _LADDER[1:], how="LinearSVC, hinge"),  # as LIBLINEAR's
    Offer("ovr", _LADDER, squared=True, how="LinearSVC, squared_hinge"),
)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    task.check_options(TITLE, "loss")
    if task.formulation != "ovr" or task.threads != 1:
        raise PeerUnavailableError(f"lightning does not train {task}")
    place = _folder.ROOT / FOLDER
    if not (place / ".installed").exists():
        raise PeerUnavailableError(_folder.why_not(FOLDER))
    held = 16 * len(y) * (int(y.max()) + 1)  # labels and dual variables, dense, in float64
    if held > _MOST_BYTES:
        raise PeerUnavailableError(f"its labels and dual variables would take {held / 1e9:.0f} GB")
    python = place / "environment" / "bin" / "python"
    parameters = {
        "C": task.C,
        "loss": task.options.get("loss", "hinge"),
        "tol": 0.001 if task.tol is None else task.tol,
        "max_iter": 1000,
        "random_state": 0,
    }
    with tempfile.TemporaryDirectory(prefix="multimargin-lightning-") as place:
        folder = Path(place)
        sp.save_npz(folder / "X.npz", X, compressed=False)
        np.save(folder / "y.npy", y)
        done = subprocess.run(
            [str(python), "-m", "benchmarks.peers.bench_lightning", place, json.dumps(parameters)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise RuntimeError(f"lightning's process: exit status {done.returncode}: {said[-1]}")
        weights = np.load(folder / "weights.npy")
        inside = json.loads((folder / "measured.json").read_text())
    return weights, inside | {
        "classes": np.arange(weights.shape[0]),
        "loss": task.loss(),
        "dual": None,
        "version": _folder.version(DISTRIBUTION, FOLDER),
        "passes": None,
        "details": parameters,
    }


def _inside(folder: Path, parameters: dict[str, Any]) -> None:
    """Train, in a process of lightning's own environment."""
    from lightning.classification import LinearSVC

    X = sp.csr_matrix(sp.load_npz(folder / "X.npz"), dtype=np.float64)
    y = np.load(folder / "y.npy")
    model = LinearSVC(**parameters)
    with Clock() as clock:
        model.fit(X, y)
    measured = clock.as_dict() | {"peak_mb": peak_mb()}
    np.save(folder / "weights.npy", model.coef_)
    (folder / "measured.json").write_text(json.dumps(measured))


if __name__ == "__main__":
    _inside(Path(sys.argv[1]), json.loads(sys.argv[2]))
