"""LIBLINEAR and its multicore variant: solvers, calls and output that both have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Clock, PeerUnavailableError, Task, tolerances

# Its default is 0.1.
LADDER = tolerances(1, 0.3, 0.1, 0.03, 0.01, 0.001)
# With the plain hinge, 1 ends more than 1 % above the optimum on lshtc1-dryrun-task2, dmoz-108 and
# hierarchical-1000, Crammer-Singer included.
HINGE_LADDER = LADDER[1:]
_SOLVERS = {"crammer-singer": 4, "one-vs-rest": 3, "one-vs-rest-squared": 1}


def command(task: Task) -> str:
    """LIBLINEAR's options for a task, with its own tolerance unless one is given.

    The option ``fit_intercept`` adds a constant feature of 1, which is the last one of the weights.

    Raises
    ------
    PeerUnavailableError
        If LIBLINEAR has no such problem or parameter.
    """
    solver = _SOLVERS.get(task.loss())
    if solver is None:
        raise PeerUnavailableError(f"LIBLINEAR does not train formulation {task.formulation!r}")
    task.check_options("LIBLINEAR", "loss", "fit_intercept")
    words = [f"-s {solver} -c {task.C:.17g}"]
    if task.options.get("fit_intercept"):
        words.append("-B 1")
    if task.tol is not None:
        words.append(f"-e {task.tol:g}")
    if task.threads != 1:
        words.append(f"-m {task.threads}")
    return " ".join(words)


def train(
    binding: Any, util: Any, X: sp.csr_matrix, y: np.ndarray, task: Task
) -> tuple[Any, dict[str, Any]]:
    """Train with the given Python modules of LIBLINEAR; see `benchmarks.peers`."""
    options = command(task)
    problem = util.problem(y.astype(np.float64), sp.csr_matrix(X, dtype=np.float64))
    parameter = util.parameter(options)
    if getattr(parameter, "nr_thread", 1) != task.threads:
        raise PeerUnavailableError(f"LIBLINEAR does not take {task.threads} threads for {options}")
    # What it prints holds its dual objective; this reference keeps the callback alive.
    said: list[bytes] = []
    parameter.print_func = binding.PRINT_STRING_FUN(said.append)
    with Clock() as clock:
        model = util.train(problem, parameter)
    n_classes, n_features = model.get_nr_class(), model.get_nr_feature() + (model.bias >= 0)
    # Stored by feature; a transposed view, since a copy of 12,582 classes would be 3.8 GB.
    by_feature = np.ctypeslib.as_array(model.w, (n_features, n_classes))
    text = b"".join(said).decode()
    n_problems = n_classes if task.formulation == "ovr" else 1
    return by_feature.T, {
        "owner": model,
        **clock.as_dict(),
        "classes": np.array(model.get_labels()),
        "loss": task.loss(),
        "dual": -sum(map(float, _found(r"Objective value = (\S+)", text, n_problems))),
        "passes": max(map(int, _found(r"#iter = (\d+)", text, n_problems))),
        "save": ("its text file", lambda folder: _save(util, model, folder)),
        "details": {
            "options": options,
            "support_vectors": sum(map(int, _found(r"nSV = (\d+)", text, n_problems))),
            "most_iterations_reached": "max number of iterations" in text,
        },
    }


def _save(util: Any, model: Any, folder: Path) -> None:
    util.save_model(str(folder / "model"), model)


def _found(pattern: str, text: str, count: int) -> list[str]:
    """The numbers that were printed, one for each of `count` problems."""
    found = re.findall(pattern, text)
    if len(found) != count:
        raise RuntimeError(
            f"LIBLINEAR's output has {len(found)} of '{pattern}', not {count}: {text[-300:]!r}"
        )
    return found
