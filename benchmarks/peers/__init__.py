"""One module per trainer, all with the same function.

``train(X, y, C, threads)`` trains on a CSR matrix of shape (n_samples, n_features) and integer
labels, without an intercept, and returns the weights, of shape (n_classes, n_features), dense or
CSR, and a dict with

seconds : float
    Of the training alone: the data were in the peer's own form before.
cpu_seconds : float
    Of all threads in that time: on a busy machine less than the time taken.
classes : ndarray of shape (n_classes,)
    The labels of the rows of the weights.
loss : "weston-watkins" or "crammer-singer"
    What it minimises, next to half the squared norm of the weights.
dual : float
    Its dual objective, a lower bound of the optimum.
version : str
passes : int
    Over the training samples.
owner : object, optional
    What holds the memory of the weights and must outlive them.
details : dict
    Other numbers worth keeping, which JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

Train = Callable[[sp.csr_matrix, np.ndarray, float, int], tuple[Any, dict[str, Any]]]

PEERS = {
    "multimargin": "benchmarks.peers.bench_multimargin",
    "liblinear": "benchmarks.peers.bench_liblinear",
}


class PeerUnavailableError(RuntimeError):
    """A peer is not installed, or cannot do what is asked."""


def trainer(name: str) -> Train:
    """The ``train`` of a peer.

    Parameters
    ----------
    name : str
        A key of ``PEERS``.

    Raises
    ------
    PeerUnavailableError
        If the peer is not installed.
    """
    module = import_module(PEERS[name])
    train: Train = module.train
    return train
