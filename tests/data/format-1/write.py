"""Write the files of this folder: models and checkpoints of format 1, with what they must give.

    PYTHONPATH=src python tests/data/format-1/write.py

Files that were written once have to stay readable, so this is not run again for a newer version:
the next format gets a folder of its own. Only public names are used.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multimargin import MulticlassSVC, TextClassifier, distributed, load_model, save_model

HERE = Path(__file__).parent
TEXTS = [
    *("a small dog kept as a pet", "a dog that herds sheep", "a big cat with stripes"),
    *("a small cat that purrs", "bread baked in an oven", "a loaf of white bread"),
]
LABELS = ["dog", "dog", "cat", "cat", "bread", "bread"]

# Samples, classes and features of the sets for models and for checkpoints; one-vs-rest takes 64
# classes at a time.
SIZES = (("", 60, 6, 20), ("run_", 24, 12, 40), ("many_", 66, 66, 66))

# Name of the file: parameters, and how it is saved.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ww": ({"formulation": "ww"}, {"preprocessing": {"normalize": "l2"}}),
    "cs": ({"formulation": "cs", "sparse_coef": True}, {}),
    "llw": ({"formulation": "llw"}, {}),
    "ovr": ({"formulation": "ovr", "fit_intercept": False}, {}),
    "ovr-squared": ({"formulation": "ovr", "loss": "squared_hinge"}, {}),
    "ww-dual": ({"formulation": "ww", "warm_start": True}, {"dual": True}),
    "llw-dual": ({"formulation": "llw", "warm_start": True}, {"dual": True}),
    "ovr-dual": ({"formulation": "ovr", "warm_start": True}, {"dual": True}),
    "ww-float16": ({"formulation": "ww"}, {"weights": "float16"}),
}
# Name of the folder: parameters, and the number of the checkpoint after which the run dies.
CHECKPOINTS: dict[str, tuple[dict[str, Any], int]] = {
    "ww": ({"formulation": "ww"}, 6),
    "ww-passes": ({"formulation": "ww", "solver": "passes"}, 6),
    "cs": ({"formulation": "cs"}, 6),
    "ovr": ({"formulation": "ovr"}, 1),
    "ovr-squared": ({"formulation": "ovr", "loss": "squared_hinge"}, 1),
    "ovr-passes": ({"formulation": "ovr", "solver": "passes"}, 1),
    "llw-extrapolated": ({"formulation": "llw"}, 3),
    "llw-alternating": ({"formulation": "llw", "solver": "alternating", "n_reductions": 4}, 3),
    "llw-hard-margin": ({"formulation": "llw", "C": np.inf}, 3),
}


def make_data() -> dict[str, np.ndarray]:
    """Each class has a feature of its own, the rest is noise."""
    found = {}
    for name, n, n_classes, n_features in SIZES:
        rng = np.random.default_rng(n)
        y = np.arange(n) % n_classes
        X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.1)
        X[np.arange(n), y] += 1
        found[f"{name}X"], found[f"{name}y"] = X.round(2).astype(np.float32), y
    return found


def checkpointed(name: str) -> MulticlassSVC:
    """The estimator of a run with checkpoints."""
    given = {"C": 1.0} | CHECKPOINTS[name][0]
    return MulticlassSVC(**given, tol=1e-3, n_bundles=4, random_state=0, n_jobs=1, verbose=1)


def samples(name: str, data: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What it is trained on."""
    which = "many_" if name in ("ovr", "ovr-passes") else "run_"
    return data[f"{which}X"], data[f"{which}y"]


def die_after(checkpoints: int) -> None:
    """End this process, as a kill would, when so many checkpoints are complete."""
    seen = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and len(seen) == checkpoints:
            os._exit(9)
        if event == "os.rename" and os.fspath(args[1]).endswith("manifest.json"):
            seen.append(args[1])

    sys.addaudithook(hook)


def write_models(data: dict[str, np.ndarray]) -> dict[str, Any]:
    X, y, expected = data["X"], data["y"], {}
    (HERE / "models").mkdir(exist_ok=True)
    for name, (options, saved) in MODELS.items():
        file = HERE / "models" / name
        save_model(MulticlassSVC(**options, tol=1e-4, random_state=0).fit(X, y), file, **saved)
        expected[name] = described(load_model(file, verify=True), X)
    text = TextClassifier(ngram_range=(1, 2), random_state=0).fit(TEXTS, LABELS)
    save_model(text, HERE / "models" / "text")
    expected["text"] = described(load_model(HERE / "models" / "text"), TEXTS)
    return expected


def described(model: MulticlassSVC, X: Any) -> dict[str, Any]:
    """What a model gives, in every digit: all labels, and the scores of some samples."""
    return {
        "predict": model.predict(X).tolist(),
        "decision_function": model.decision_function(X[:6]).tolist(),
        # Rounded weights have no objective that is known.
        "primal": getattr(model, "primal_objective_", None),
        "dual": model.dual_objective_,
    }


def write_checkpoints(data: dict[str, np.ndarray]) -> dict[str, Any]:
    expected = {}
    for name, (_, count) in CHECKPOINTS.items():
        X, y = samples(name, data)
        folder = HERE / "checkpoints" / name
        folder.mkdir(parents=True)
        child = os.fork()
        if child == 0:
            die_after(count)
            distributed.fit(checkpointed(name), X, y, checkpoint=folder, checkpoint_every=0)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, f"{name}: ran to its end"
        newest = max(path.parent.name for path in folder.glob("step-*/manifest.json"))
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()
            elif path.name != newest:
                shutil.rmtree(path)
        with tempfile.TemporaryDirectory() as copies:
            runs = []
            for k in "ab":
                shutil.copytree(folder, Path(copies) / k)
                resumed = distributed.fit(checkpointed(name), X, y, checkpoint=Path(copies) / k)
                runs.append(resumed.history_)
        times = [[record["time"] for record in run] for run in runs]
        shared = sum(a == b for a, b in zip(*times, strict=True))  # those of the checkpoint
        assert shared > 0 or name.startswith("ovr"), f"{name}: nothing was kept"
        whole = distributed.fit(checkpointed(name), X, y)
        expected[name] = {
            "times": times[0][:shared],
            "passes": whole.n_iter_,
            "primal": whole.primal_objective_,
            "dual": whole.dual_objective_,
            "predict": whole.predict(X).tolist(),
        }
        print(name, newest, shared, len(runs[0]), [r["passes"] for r in runs[0]][:5])
    return expected


def main() -> None:
    data = make_data()
    np.savez_compressed(HERE / "data.npz", **data)
    expected = {"models": write_models(data), "checkpoints": write_checkpoints(data)}
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
