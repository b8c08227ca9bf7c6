"""Multicore LIBLINEAR: one-vs-rest (``-s 3 -m N``, ``-s 1 -m N``); the problems are LIBLINEAR's.

Its Python package is called ``liblinear`` like that of LIBLINEAR itself, and pip would write the
one over the other. So it lives in a folder of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Offer, Task, _folder, _liblinear

TITLE = "multicore LIBLINEAR"
DISTRIBUTION = "liblinear-multicore"
FOLDER = "liblinear-multicore"
OFFERS = (
    Offer("ovr", _liblinear.HINGE_LADDER, how="-s 3", threads="many"),
    Offer("ovr", _liblinear.LADDER, squared=True, how="-s 1", threads="many"),
)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    binding, util = _folder.modules(FOLDER, "liblinear.liblinear", "liblinear.liblinearutil")
    weights, info = _liblinear.train(binding, util, X, y, task)
    return weights, info | {"version": _folder.version(DISTRIBUTION, FOLDER)}
