"""LIBLINEAR: Crammer-Singer (``-s 4``) and one-vs-rest (``-s 3``, ``-s 1``), one thread."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import PeerUnavailableError, Task, _liblinear

try:
    binding: Any = import_module("liblinear.liblinear")
    util: Any = import_module("liblinear.liblinearutil")
except ImportError as error:
    raise PeerUnavailableError(
        f"LIBLINEAR cannot be imported ({error}): pip install liblinear-official"
    ) from error


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    if task.threads != 1:
        raise PeerUnavailableError(f"LIBLINEAR trains with one thread, not {task.threads}")
    weights, info = _liblinear.train(binding, util, X, y, task)
    return weights, info | {"version": version("liblinear-official")}
