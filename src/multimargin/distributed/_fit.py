"""Training by several ranks, and the reading of data that they share."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.preprocessing import normalize

from multimargin.distributed._data_cache import shared
from multimargin.distributed._divided_file import load_divided
from multimargin.distributed._host_pool import solve_by_hosts
from multimargin.distributed._model import DistributedModel
from multimargin.distributed._rows import divide_trained
from multimargin.estimator._calibrate import calibrated_by_splits, calibration_splits
from multimargin.estimator._fit import CheckpointFolder, Fit, take
from multimargin.estimator._observers import note
from multimargin.estimator._options import checked_options
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.io._svmlight import load_part
from multimargin.parallel._collectives import require_same
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._divided_rows import DividedRows
from multimargin.parallel._mpi import world
from multimargin.parallel._threads import rank_thread_count
from multimargin.solvers._problem import fingerprint
from multimargin.solvers.active_set._divided_workspace import memory_of_host
from multimargin.solvers.active_set._solver import CANDIDATES, all_active

NORMS = ("none", "l2")
# How a run is carried out may differ between ranks; rank 0 draws the seed for all. An encoder may
# be an object of each rank; what it makes of the data is compared.
_OWN = ("n_jobs", "verbose", "random_state", "encoder")


def load(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: Any = np.float32,
    zero_based: bool = False,
    normalize: str = "none",
    n_threads: int | None = None,
    ignore_extra_features: bool = False,
    multilabel: bool = False,
    divide: str = "classes",
    comm: Communicator | None = None,
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    """Read a LIBSVM / SVMlight file once per host; the other ranks of the host map its memory.

    Called by all ranks.

    Parameters
    ----------
    path, n_features, dtype, zero_based, ignore_extra_features, multilabel
        As of `multimargin.load_svmlight`. Every host must see the file.
    normalize : {"none", "l2"}, default="none"
        "l2" scales each sample to unit length.
    n_threads : int, default=None
        Of the rank that reads; by default one per processor.
    divide : {"classes", "samples"}, default="classes"
        With "samples" each host reads and keeps a part of the rows. `fit` takes them for
        Weston-Watkins and Crammer-Singer; the model is the same. On one host nothing is divided.
    comm : Communicator, default=None
        The ranks; by default all of them.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Read-only where several ranks share it. Rows of other hosts have no entries where samples
        are divided.
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from multimargin import distributed, dump_svmlight
    >>> dump_svmlight("train.svm", [[3, 0], [0, 2]], ["cat", "dog"])
    >>> X, y = distributed.load("train.svm", normalize="l2")
    >>> X.toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if normalize not in NORMS:
        allowed = " or ".join(repr(name) for name in NORMS)
        raise ValueError(f"normalize must be {allowed}, got {normalize!r}")

    if divide not in ("classes", "samples"):
        raise ValueError(f"divide must be 'classes' or 'samples', got {divide!r}")

    def read(*part: int) -> tuple[csr_matrix[Any], NDArray[Any]]:
        X, y = load_part(
            path,
            *part,
            n_features=n_features,
            dtype=dtype,
            zero_based=zero_based,
            n_threads=n_threads,
            ignore_extra_features=ignore_extra_features,
            multilabel=multilabel,
        )
        return (X if normalize == "none" else _of_unit_length(os.fspath(path), X)), y

    comm = comm or world()
    if divide == "samples":
        if multilabel:
            raise ValueError("divide='samples' is for one label per sample: no multilabel=True")
        parts = load_divided(os.fspath(path), comm, read)
        if parts is not None:
            return parts
    return shared(comm, read)


def _of_unit_length(name: str, X: csr_matrix[Any]) -> csr_matrix[Any]:
    with np.errstate(over="ignore"):  # squares are added in float64
        if X.dtype == np.float64 and not np.isfinite(np.dot(X.data, X.data)):
            raise ValueError(
                f"{name}: values up to {np.abs(X.data).max():.3g} are too large to be squared, "
                "which the length of a sample needs: scale the features"
            )
    scaled: csr_matrix[Any] = normalize(X, norm="l2", copy=False)
    return scaled


def fit(
    model: MulticlassSVC,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    comm: Communicator | None = None,
) -> DistributedModel:
    """Train by all ranks together, each of which calls this with the same arguments.

    Parameters
    ----------
    model : MulticlassSVC
        What to train; it is not changed. `warm_start` and callbacks are for fits in one process.
        With ``random_state=None`` rank 0 draws a seed for all. ``n_jobs=-1`` is a rank's part of
        its host's processors.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All samples, or what a `TextClassifier` takes; see `load` for how ranks of a host share
        them.
    y : array-like of shape (n_samples,), or sets of labels as of `MulticlassSVC`
    sample_weight : array-like of shape (n_samples,), default=None
    checkpoint : path-like, default=None
        A folder in which the state of the run is kept, for the same call to go on from after a
        rank or a computer died, on any number of ranks; the model is the same as without the
        interruption. All ranks must see the folder. `DistributedModel.save` removes the state when
        the tolerance was reached.
    checkpoint_every : float, default=60.0
        Seconds between two states.
    comm : Communicator, default=None
        The ranks; by default all of ``mpiexec``, or this process alone.

    Returns
    -------
    DistributedModel

    Raises
    ------
    ValueError
        If ranks were given different data or parameters, or if the folder holds the state of
        another run.

    Examples
    --------
    The same lines run in one process and, under ``mpiexec``, in several:

    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, distributed
    >>> X, y = load_iris(return_X_y=True)
    >>> model = distributed.fit(MulticlassSVC(n_bundles=2, random_state=0), X, y)
    >>> model.dual_gap_ <= 0.01
    True
    """
    comm = comm or world()
    _check_local_only(model)
    template: MulticlassSVC = clone(model)
    options = checked_options(template)
    named = "None" if checkpoint is None else os.fsdecode(checkpoint)
    require_same(comm, {**_parameters(template), "checkpoint": named})
    threads = rank_thread_count(options.n_jobs, comm)
    divided = isinstance(X, DividedRows)
    if divided:
        check_divisible(template, checkpoint)
        if not hasattr(X, "starts"):
            raise ValueError("divided samples cannot be selected or changed: give them as loaded")
    fit = Fit.of(template, options, X, y, sample_weight)
    if comm.size > 1:
        require_same(comm, {"data with the fingerprint": fingerprint(fit.problem)})
    splits = calibration_splits(template.calibration, fit)
    spoken = bool(options.verbose) and comm.rank == 0
    folder = None
    if checkpoint is not None:
        folder = CheckpointFolder(checkpoint, checkpoint_every, spoken)
    if spoken and divided:
        classes = len(fit.classes)
        first = classes - 1 if all_active(classes, X) else min(classes - 1, CANDIDATES)
        note(memory_of_host(X, classes, first))
    watching = [fit.bar()] if spoken else []
    solved = solve_by_hosts(fit, watching, threads=threads, comm=comm, folder=folder)
    solution = solved.solution
    owned, density = divide_trained(comm, solution.weights, fit.problem, options.sparse_coef)
    take(template, solved, {"classes_": fit.classes, "model_density_": density, **fit.learned})
    if splits:
        data, train = fit.given(X, sample_weight), partial(_trained, comm=comm)
        template.calibration_ = calibrated_by_splits(template, data, splits, train, spoken=spoken)
    if comm.rank == 0:
        fit.warn_unless_converged(solution, stacklevel=3)
    if solved.checkpoints is not None and not solution.converged:
        solved.checkpoints.close()  # they stay, to go on from with other limits
        return DistributedModel(template, owned, comm)
    return DistributedModel(template, owned, comm, solved.checkpoints)


def check_divisible(model: MulticlassSVC, checkpoint: Any) -> None:
    """Refuse what does not work with divided samples."""
    able = [name for name, facts in FORMULATIONS.items() if facts.sparse_dual]
    if model.formulation not in able:
        raise ValueError(
            f"samples are divided with formulation={' or '.join(map(repr, able))}, got "
            f"{model.formulation!r}: others need all of them on every host"
        )
    for name, given in (("checkpoint", checkpoint), ("calibration", model.calibration)):
        if given is not None:
            raise ValueError(f"{name} does not work with divided samples: leave it out")


def _trained(model: MulticlassSVC, *data: Any, comm: Communicator) -> DistributedModel:
    return fit(model, *data, comm=comm)


def _parameters(model: MulticlassSVC) -> dict[str, str]:
    given = model.get_params(deep=False)
    return {name: repr(value) for name, value in sorted(given.items()) if name not in _OWN}


def _check_local_only(model: MulticlassSVC) -> None:
    if not isinstance(model, MulticlassSVC):
        raise TypeError(f"model must be a MulticlassSVC, got {type(model).__name__}")
    if model.warm_start:
        raise ValueError(
            "warm_start=True is for fits in one process; here a run goes on from checkpoint="
        )
    if getattr(model, "_skl_callbacks", None):
        raise ValueError(
            "callbacks are for fits in one process: no rank has the whole model to show them"
        )
