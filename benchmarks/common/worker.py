"""One measured run, in a process of its own: ``python -m benchmarks.common.worker JOB``.

JOB is the JSON of a `benchmarks.common.run.Job`. One line of JSON comes out: the measurements, or
``{"unavailable": reason}``, or ``{"missing": reason}`` where it is multimargin that cannot.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import evaluate
from benchmarks.common.data import DataSet, DataUnavailableError, load
from benchmarks.common.memory import PeakRise
from benchmarks.peers import (
    PeerUnavailableError,
    RefusedError,
    Task,
    folder_bytes,
    peak_mb,
    trainer,
)

_LARGEST_SAVED = 10**9  # bytes of dense weights


def own_rows(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which row of the weights belongs to each label, -1 for none."""
    row_of = np.full(int(max(classes.max(), labels.max())) + 1, -1)
    row_of[classes] = np.arange(len(classes))
    return np.where(labels >= 0, row_of[labels], -1)


def _judge(weights: Any, info: dict[str, Any], data: DataSet, C: float) -> dict[str, Any]:
    own = own_rows(info["classes"], data.y)
    primal = evaluate.primal(weights, data.X, own, C, info["loss"])
    judged = {
        "primal": primal,
        "gap": None if info["dual"] is None else (primal - info["dual"]) / primal,
    }
    if info["loss"] == "lee-lin-wahba":
        judged |= evaluate.at_bound(weights, data.X, own, C, info["dual"])
    return judged | _tested(weights, info, data)


def _tested(weights: Any, info: dict[str, Any], data: DataSet) -> dict[str, Any]:
    tested: dict[str, Any] = {"density": evaluate.density(weights)}
    if data.X_test is not None and data.y_test is not None:
        own = own_rows(info["classes"], data.y_test)
        tested |= evaluate.on_test(weights, data.X_test, own)
    return tested


def _saved(weights: Any, info: dict[str, Any]) -> dict[str, Any]:
    """How many bytes a model takes as its users save it, and what that is called.

    Gigabytes are not written: dense weights then count as ``numpy.save`` would write them.
    """
    if "saved" in info:
        name, size = info["saved"]
        return {"model_bytes": size, "model_file": name}
    if isinstance(weights, np.ndarray) and weights.nbytes > _LARGEST_SAVED:
        return {"model_bytes": weights.nbytes, "model_file": "numpy.save, not written"}
    name, save = info.get("save", ("numpy.save", lambda folder: np.save(folder / "model", weights)))
    with tempfile.TemporaryDirectory(prefix="multimargin-model-") as place:
        save(Path(place))
        return {"model_bytes": folder_bytes(Path(place)), "model_file": name}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Load, train, and judge what came out if the job asks for it."""
    train = trainer(job["peer"])
    data = load(job["dataset"], None if job["folder"] is None else Path(job["folder"]))
    task = Task(**job["task"])
    rise = PeakRise()
    weights, info = train(data.X, data.y, task)
    result = {
        "seconds": info["seconds"],
        "cpu_seconds": info["cpu_seconds"],
        # Loading and training: judging the model afterwards is the benchmark's own affair.
        "peak_mb": info.get("peak_mb", peak_mb()),
        "rise_mb": rise.mb(),
        "hash": evaluate.fingerprint(weights),
        "loss": info["loss"],
        "dual": info["dual"],
        "passes": info["passes"],
        "version": info["version"],
        "source": data.source,
        "shape": [*data.X.shape, len(info["classes"])],
        "nonzeros": int(data.X.nnz),
        "details": info["details"],
    }
    if job["judge"]:
        result |= _judge(weights, info, data, task.C)
    elif job["test"]:
        result |= _tested(weights, info, data)
    if job["size"]:
        result |= _saved(weights, info)
    return result


def main() -> None:
    """Do the job of the command line."""
    try:
        result = run(json.loads(sys.argv[1]))
    except (PeerUnavailableError, DataUnavailableError) as error:
        result = {"unavailable": str(error)}
    except RefusedError as error:
        result = {"missing": str(error)}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
