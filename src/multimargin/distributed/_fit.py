"""Fits, predictions and model files by several ranks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import normalize
from tqdm import tqdm

from multimargin.checkpoints._store import Checkpoints
from multimargin.distributed._data_cache import shared
from multimargin.distributed._file import save_share
from multimargin.distributed._rows import ClassShare, collect_rows, share_trained, take_rows
from multimargin.distributed._scores import SharedScores
from multimargin.estimator._fit import CheckpointFolder, solve
from multimargin.estimator._options import check_parameters
from multimargin.estimator._samples import checked_samples, problem_of
from multimargin.estimator._svc import MulticlassSVC
from multimargin.inspection import Certificate
from multimargin.io._svmlight import load_svmlight
from multimargin.models._file import load_model as load_whole_model
from multimargin.models._scores import LinearScores, Scores, best_k_labels, best_labels
from multimargin.parallel._agreement import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._mpi import world
from multimargin.parallel._same_on_all import parameters, require_same
from multimargin.parallel._threads import rank_thread_count
from multimargin.solvers._problem import as_core_csr, fingerprint

NORMS = ("none", "l2")


def load(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: Any = np.float32,
    zero_based: bool = False,
    normalize: str = "none",
    n_threads: int | None = None,
    ignore_extra_features: bool = False,
    comm: Communicator | None = None,
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    """Read a LIBSVM / SVMlight file once per host; the other ranks of the host map its memory.

    Called by all ranks.

    Parameters
    ----------
    path, n_features, dtype, zero_based, ignore_extra_features
        As of `multimargin.load_svmlight`. Every host must see the file.
    normalize : {"none", "l2"}, default="none"
        "l2" scales each sample to unit length.
    n_threads : int, default=None
        Of the rank that reads; by default one per processor.
    comm : Communicator, default=None
        The ranks; by default all of them.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Read-only where several ranks share it.
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

    def read() -> tuple[csr_matrix[Any], NDArray[Any]]:
        X, y = load_svmlight(
            path,
            n_features=n_features,
            dtype=dtype,
            zero_based=zero_based,
            n_threads=n_threads,
            ignore_extra_features=ignore_extra_features,
        )
        return (X if normalize == "none" else _of_unit_length(os.fspath(path), X)), y

    return shared(comm or world(), read)


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
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
    checkpoint : path-like, default=None
        A folder in which the state of the run is kept, for the same call to go on from after a
        rank or a machine died, on any number of ranks; the model is that of a run that was not
        interrupted. All ranks must see the folder. `DistributedModel.save` removes the state when
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
    check_parameters(template)
    require_same(comm, {**parameters(template), "checkpoint": _folder_name(checkpoint)})
    threads = rank_thread_count(template.n_jobs, comm)
    X, y = checked_samples(template, X, y)
    classes, problem = problem_of(template, as_core_csr(X), y, sample_weight)
    if comm.size > 1:
        require_same(comm, {"data with the fingerprint": fingerprint(problem)})
    spoken = bool(template.verbose) and comm.rank == 0
    folder = None
    if checkpoint is not None:
        folder = CheckpointFolder(
            checkpoint, checkpoint_every, _resume_note(checkpoint) if spoken else lambda: None
        )
    solved = solve(
        template,
        problem,
        [template._bar()] if spoken else [],
        threads=threads,
        comm=comm,
        folder=folder,
    )
    share, density = share_trained(comm, solved.solution.weights, problem, template.sparse_coef)
    template._take(solved, {"classes_": classes, "model_density_": density})
    if comm.rank == 0:
        template._warn_unless_converged(solved.solution, stacklevel=3)
    if solved.checkpoints is not None and not template.converged_:
        solved.checkpoints.close()  # they stay, to go on from with other limits
        return DistributedModel(template, share, comm)
    return DistributedModel(template, share, comm, solved.checkpoints)


def _folder_name(folder: str | os.PathLike[str] | None) -> str:
    return "None" if folder is None else os.fsdecode(folder)


def _check_local_only(model: MulticlassSVC) -> None:
    """Refuse what would have no effect."""
    if not isinstance(model, MulticlassSVC):
        raise TypeError(f"model must be a MulticlassSVC, got {type(model).__name__}")
    if model.warm_start:
        raise ValueError(
            "warm_start=True is for fits in one process; here checkpoint= is what a run goes on "
            "from"
        )
    if getattr(model, "_skl_callbacks", None):
        raise ValueError(
            "callbacks are for fits in one process: no rank has the whole model to show them"
        )


def _resume_note(folder: str | os.PathLike[str]) -> Callable[[], None]:
    def note() -> None:
        # Not through the progress bar, which may be there already.
        text = f"multimargin: going on from the checkpoint in {os.fspath(folder)}"
        tqdm.write(text, file=sys.stderr)

    return note


def load_model(
    path: str | os.PathLike[str],
    *,
    verify: bool = False,
    n_jobs: int | None = None,
    comm: Communicator | None = None,
) -> DistributedModel:
    """Open a model file, each rank a share of the classes; called by all ranks.

    Parameters
    ----------
    path : path-like
        A file written by `DistributedModel.save` or `multimargin.save_model`. Every host must
        see it.
    verify : bool, default=False
        Read the whole file, on one rank of each host, and compare its checksums.
    n_jobs : int, default=None
        Threads that a rank predicts with; -1 is its part of its host's processors.
    comm : Communicator, default=None
        The ranks; by default all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, distributed
    >>> X, y = load_iris(return_X_y=True)
    >>> distributed.fit(MulticlassSVC(random_state=0), X, y).save("model")
    >>> model = distributed.load_model("model", verify=True)
    >>> model.predict(X[:2]).tolist()
    [0, 0]
    """
    comm = comm or world()
    with raise_on_all(comm):
        # One rank of a host looks for what is wrong, and says so, on behalf of all.
        if comm.host.rank == 0:
            load_whole_model(path, verify=verify)
    template = load_whole_model(path).set_params(n_jobs=n_jobs)
    coef, intercept = template.coef_, template.intercept_
    del template.coef_, template.intercept_
    return DistributedModel(template, take_rows(comm, coef, intercept), comm)


class DistributedModel:
    """A trained model of which each rank holds a share of the classes.

    Made by `fit` and `load_model`. All methods are called by all ranks, with the same arguments.

    Attributes
    ----------
    classes_, n_features_in_, n_iter_, primal_objective_, dual_objective_, dual_gap_, violation_, \
converged_, history_, model_density_, n_bundles_
        As of `MulticlassSVC`, the same on all ranks. A loaded model has no `history_`.
    features_ : TextFeatures
        Only of a `TextClassifier`, which makes its features of raw texts, on every rank.
    preprocessing_ : dict
        What was done to the samples before training, as far as the model was told. Only of a
        loaded model.
    comm : Communicator
        The ranks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, distributed
    >>> X, y = load_iris(return_X_y=True)
    >>> model = distributed.fit(MulticlassSVC(random_state=0), X, y)
    >>> model.score(X, y) == model.gather().score(X, y)
    True
    """

    classes_: NDArray[Any]
    n_features_in_: int
    n_iter_: int
    primal_objective_: float
    dual_objective_: float
    dual_gap_: float
    violation_: float
    converged_: bool
    history_: list[dict[str, float]]
    model_density_: float
    n_bundles_: int | None
    preprocessing_: dict[str, Any]

    def __init__(
        self,
        template: MulticlassSVC,
        share: ClassShare,
        comm: Communicator,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.comm = comm
        self._template = template  # fitted but for its coefficients
        self._share = share
        self._checkpoints = checkpoints
        for name, value in vars(template).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)

    def get_params(self) -> dict[str, Any]:
        """Parameters of the estimator that was trained."""
        return self._template.get_params(deep=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """Best class of each sample, on all ranks; as `MulticlassSVC.predict`."""
        return best_labels(self._scores(), self.classes_, self._template._validated(X))

    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.floating]]:
        """The ``k`` best classes of each sample and their scores, on all ranks.

        As `MulticlassSVC.predict_topk`.
        """
        X = self._template._validated(X)
        halved = self._template._halves_scores()
        return best_k_labels(self._scores(), self.classes_, X, k, halved=halved)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the samples whose best class is theirs."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def certify(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """Compute the objectives and the duality gap anew, for all ranks.

        As `MulticlassSVC.certify`, by rank 0, which needs memory for the whole model. A model
        that was trained over ranks has no dual variables: its dual is `dual_objective_`.

        Parameters
        ----------
        X, y, sample_weight
            What the model was trained on.

        Returns
        -------
        Certificate
        """
        whole, found = self.gather(), None
        with raise_on_all(self.comm):
            if whole is not None:
                found = asdict(whole.certify(X, y, sample_weight))
        return Certificate(**broadcast_value(self.comm, found))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        preprocessing: Mapping[str, Any] | None = None,
        weights: str | None = None,
    ) -> None:
        """Write the model to one file, atomically, each rank its share.

        The file is, byte for byte, what `multimargin.save_model` writes for the same model
        trained by one process with as many bundles. All ranks must see its folder. Checkpoints
        of the training are removed afterwards, if it reached its tolerance.

        Parameters
        ----------
        path : path-like
            The file to write; its folder must exist.
        preprocessing : dict of JSON values, default=None
            As of `multimargin.save_model`.
        weights : {"float16", "float32"} or None, default=None
            As of `multimargin.save_model`.
        """
        save_share(
            self._template,
            self._share,
            path,
            self.comm,
            preprocessing=preprocessing,
            weights=weights,
        )
        if self._checkpoints is not None:
            self._checkpoints.remove()
            self._checkpoints = None

    def gather(self) -> MulticlassSVC | None:
        """The whole model as a fitted estimator on rank 0; None on the other ranks."""
        rows = collect_rows(self.comm, self._share)
        if rows is None:
            return None
        whole = copy(self._template)
        whole.coef_, whole.intercept_ = rows
        return whole

    def _scores(self) -> Scores:
        threads = rank_thread_count(self._template.n_jobs, self.comm)
        if self.comm.size == 1:
            return LinearScores(self._share.coef, self._share.intercept, threads)
        return SharedScores(self.comm, self._share, threads)
