"""One module per trainer, all with the same names.

``TITLE``, ``DISTRIBUTION`` and ``FOLDER``
    What it is called, its distribution, and the folder of its own that this is installed in; None
    where it is installed like everything else.
``OFFERS``
    The problems it solves and its ladder for each, from loose to tight: a tuple of `Offer`.
``train(X, y, task)``
    Trains on a CSR matrix of shape (n_samples, n_features) and integer labels of at least three
    classes, without an intercept, and returns the weights, of shape (n_classes, n_features),
    dense or CSR, and a dict with

    seconds : float
        Of the training alone: the data were in the peer's own form before.
    cpu_seconds : float
        Of all threads in that time: on a busy machine less than the time taken.
    classes : ndarray of shape (n_classes,)
        The labels of the rows of the weights.
    loss : a key of `benchmarks.common.evaluate.LOSSES`
        What it minimises, next to half the squared norm of the weights.
    dual : float or None
        Its dual objective, a lower bound of the optimum; None where it tells none.
    version : str
    passes : int or None
        Over the training samples; the most of any class where each class is a problem of its own.
    save : (str, function of a folder), optional
        How its users save a model: what that is called, and a function that writes it into a
        folder. Without one the weights are written by ``numpy.save``.
    saved : (str, int), optional
        The same where training writes the model: what that is called, and how many bytes it has.
    peak_mb : float, optional
        Where another process did the work: the memory that one took.
    owner : object, optional
        What holds the memory of the weights and must outlive them.
    details : dict
        Other numbers worth keeping, which JSON can hold.

Importing such a module needs nothing but NumPy and SciPy; a peer that is not there is noticed by
`train`, which raises `PeerUnavailableError`.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Task:
    """The problem of a peer, its tolerance and its threads.

    Attributes
    ----------
    formulation : {"ww", "cs", "ovr", "llw"}, default="ww"
    C : float, default=1.0
    threads : int, default=1
    tol : float or None, default=None
        In the peer's own terms: a relative duality gap for multimargin, ``-e`` for LIBLINEAR.
        None takes 0.01 for multimargin and the peer's default.
    options : mapping of str to JSON value
        Further parameters, such as loss="squared_hinge", solver="alternating" or epochs=5. A peer
        that does not know one refuses.
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
        """The loss, as a key of `benchmarks.common.evaluate.LOSSES`."""
        if self.formulation == "ovr":
            squared = self.options.get("loss", "hinge") == "squared_hinge"
            return "one-vs-rest-squared" if squared else "one-vs-rest"
        return {"ww": "weston-watkins", "cs": "crammer-singer", "llw": "lee-lin-wahba"}[
            self.formulation
        ]

    def check_options(self, peer: str, *known: str) -> None:
        """Refuse what a peer does not know.

        Raises
        ------
        PeerUnavailableError
            If an option is not among the known ones.
        """
        unknown = set(self.options) - set(known)
        if unknown:
            raise PeerUnavailableError(f"{peer} has no parameter {', '.join(sorted(unknown))}")


@dataclass(frozen=True)
class Offer:
    """A problem that a peer solves, and how far it can be told to go.

    Attributes
    ----------
    formulation : {"ww", "cs", "ovr"}
    ladder : tuple of dict
        Fields of a `Task`, from the loosest to the tightest: ``{"tol": 0.1}`` or
        ``{"options": {"epochs": 5}}``.
    squared : bool, default=False
        The squared hinge loss; of one-vs-rest alone.
    how : str, default=""
        What tells this problem from the peer's others, as its users know it: "-s 3".
    threads : "one", "many" or "any", default="one"
        How many it can be told to use; "many": one thread of it is another peer.
    """

    formulation: str
    ladder: tuple[Mapping[str, Any], ...]
    squared: bool = False
    how: str = ""
    threads: str = "one"

    def task(self, rung: int, threads: int) -> Task:
        """The task of one rung of the ladder."""
        fields = dict(self.ladder[rung])
        options = dict(fields.pop("options", {}))
        if self.squared:
            options["loss"] = "squared_hinge"
        return Task(self.formulation, threads=threads, options=options, **fields)

    def can_use(self, threads: int) -> bool:
        """Whether it can be told to use so many threads."""
        return self.threads == "any" or (threads == 1) == (self.threads == "one")


def tolerances(*values: float) -> tuple[Mapping[str, Any], ...]:
    """A ladder of tolerances."""
    return tuple({"tol": value} for value in values)


def epochs(*values: int) -> tuple[Mapping[str, Any], ...]:
    """A ladder of passes over the data, for trainers that know no optimum."""
    return tuple({"options": {"epochs": value}} for value in values)


Train = Callable[[sp.csr_matrix, np.ndarray, Task], tuple[Any, dict[str, Any]]]

PEERS = {
    "multimargin": "benchmarks.peers.bench_multimargin",
    "liblinear": "benchmarks.peers.bench_liblinear",
    "liblinear-multicore": "benchmarks.peers.bench_liblinear_multicore",
    "linearsvc": "benchmarks.peers.bench_linearsvc",
    "sgd": "benchmarks.peers.bench_sgd",
    "snapml": "benchmarks.peers.bench_snapml",
    "libpecos": "benchmarks.peers.bench_libpecos",
    "napkinxc": "benchmarks.peers.bench_napkinxc",
    "vowpalwabbit": "benchmarks.peers.bench_vowpalwabbit",
    "libmultilabel": "benchmarks.peers.bench_libmultilabel",
    "lightning": "benchmarks.peers.bench_lightning",
}


class PeerUnavailableError(RuntimeError):
    """A peer is not installed, or cannot do what is asked."""


class RefusedError(RuntimeError):
    """multimargin itself does not take the parameters it is given."""


def peer(name: str) -> Any:
    """The module of a peer, a key of ``PEERS``."""
    return import_module(PEERS[name])


def folder_bytes(folder: Path) -> int:
    """Of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def peak_mb() -> float:
    """The most memory this process has held, in millions of bytes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    # On Linux this one begins with what the process that started this one held.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def trainer(name: str) -> Train:
    """The ``train`` of a peer, a key of ``PEERS``."""
    train: Train = peer(name).train
    return train


class Clock:
    """Seconds of a block, and processor seconds of all threads in it."""

    def __enter__(self) -> Clock:
        self._began = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu_seconds = (
            now - then for now, then in zip(self._now(), self._began, strict=True)
        )

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def as_dict(self) -> dict[str, float]:
        """As ``train`` returns them."""
        return {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds}
