"""LIBLINEAR: Crammer-Singer (``-s 4``) and one-vs-rest (``-s 3``, ``-s 1``), one thread.

Its primal is ours: half the squared norm plus C times the losses, without a bias unless ``-B``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Offer, PeerUnavailableError, Task, _folder, _liblinear

TITLE = "LIBLINEAR"
DISTRIBUTION = "liblinear-official"
FOLDER = None
OFFERS = (
    Offer("cs", _liblinear.HINGE_LADDER, how="-s 4"),
    Offer("ovr", _liblinear.HINGE_LADDER, how="-s 3"),
    Offer("ovr", _liblinear.LADDER, squared=True, how="-s 1"),
)


def train(X: sp.csr_matrix, y: np.ndarray, task: Task) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    if task.threads != 1:
        raise PeerUnavailableError(f"LIBLINEAR trains with one thread, not {task.threads}")
    try:
        binding = import_module("liblinear.liblinear")
        util = import_module("liblinear.liblinearutil")
    except ImportError as error:
        raise PeerUnavailableError(
            f"LIBLINEAR cannot be imported ({error}): pip install {DISTRIBUTION}"
        ) from error
    weights, info = _liblinear.train(binding, util, X, y, task)
    return weights, info | {"version": _folder.version(DISTRIBUTION, FOLDER)}
