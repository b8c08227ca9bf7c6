"""Multicore LIBLINEAR: one-vs-rest (``-s 3 -m N``, ``-s 1 -m N``).

Its Python package is called ``liblinear`` like that of LIBLINEAR itself, and pip would write the
one over the other. So it lives in a folder of its own, which only this process looks into.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import PeerUnavailableError, Task, _liblinear

FOLDER = Path(sys.prefix) / "peers" / "liblinear-multicore"


def _modules() -> tuple[Any, Any]:
    """The binding and its utilities, from the folder and from nowhere else."""
    if not (FOLDER / "liblinear").is_dir():
        raise PeerUnavailableError(
            f"multicore LIBLINEAR is not there: pip install --no-deps --target {FOLDER} "
            "liblinear-multicore"
        )
    sys.path.insert(0, str(FOLDER))
    try:
        binding = import_module("liblinear.liblinear")
        util = import_module("liblinear.liblinearutil")
    except (ImportError, OSError) as error:
        raise PeerUnavailableError(f"multicore LIBLINEAR cannot be imported: {error}") from error
    if Path(str(binding.__file__)).parent.parent != FOLDER:
        raise PeerUnavailableError(f"another LIBLINEAR was imported before: {binding.__file__}")
    return binding, util


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    binding, util = _modules()
    weights, info = _liblinear.train(binding, util, X, y, task)
    return weights, info | {"version": version("liblinear-multicore")}
