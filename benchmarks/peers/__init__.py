"""One module per trainer, all with the same function.

``train(X, y, task)`` trains on a CSR matrix of shape (n_samples, n_features) and integer labels
of at least three classes, without an intercept, and returns the weights, of shape
(n_classes, n_features), dense or CSR, and a dict with

seconds : float
    Of the training alone: the data were in the peer's own form before.
cpu_seconds : float
    Of all threads in that time: on a busy machine less than the time taken.
classes : ndarray of shape (n_classes,)
    The labels of the rows of the weights.
loss : a key of `benchmarks._evaluate.LOSSES`
    What it minimises, next to half the squared norm of the weights.
dual : float
    Its dual objective, a lower bound of the optimum.
version : str
passes : int
    Over the training samples; the most of any class where each class is a problem of its own.
owner : object, optional
    What holds the memory of the weights and must outlive them.
details : dict
    Other numbers worth keeping, which JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Task:
    """What a peer is asked to minimise, how far and how.

    Attributes
    ----------
    formulation : {"ww", "cs", "ovr", "llw"}, default="ww"
    C : float, default=1.0
    threads : int, default=1
    tol : float or None, default=None
        In the peer's own terms: a relative duality gap for multimargin, ``-e`` for LIBLINEAR.
        None takes 0.01 for multimargin and LIBLINEAR's default.
    options : mapping of str to JSON value
        Further parameters of the estimator, such as loss="squared_hinge" or
        solver="alternating". A peer that does not know one refuses.
    """

    formulation: str = "ww"
    C: float = 1.0
    threads: int = 1
    tol: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = {"C": f"{self.C:g}"} if self.C != 1 else {}
        given |= {} if self.tol is None else {"tol": f"{self.tol:g}"}
        given |= self.options
        words = [self.formulation, *(f"{name}={value}" for name, value in given.items())]
        return " ".join([*words, f"{self.threads} thread{'s' if self.threads > 1 else ''}"])

    def loss(self) -> str:
        """The loss, as a key of `benchmarks._evaluate.LOSSES`."""
        if self.formulation == "ovr":
            squared = self.options.get("loss", "hinge") == "squared_hinge"
            return "one-vs-rest-squared" if squared else "one-vs-rest"
        return {"ww": "weston-watkins", "cs": "crammer-singer", "llw": "lee-lin-wahba"}[
            self.formulation
        ]


Train = Callable[[sp.csr_matrix, np.ndarray, Task], tuple[Any, dict[str, Any]]]

PEERS = {
    "multimargin": "benchmarks.peers.bench_multimargin",
    "liblinear": "benchmarks.peers.bench_liblinear",
    "liblinear-multicore": "benchmarks.peers.bench_liblinear_multicore",
}


class PeerUnavailableError(RuntimeError):
    """A peer is not installed, or cannot do what is asked."""


class RefusedError(RuntimeError):
    """multimargin itself does not take the parameters it is given."""


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
