"""DistributedModel: a trained model whose classes are divided over ranks, and how to open one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict
from typing import Any

from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score

from multimargin.checkpoints._store import Checkpoints
from multimargin.distributed._file import save_owned
from multimargin.distributed._rows import OwnedRows, collect_rows, take_rows
from multimargin.distributed._scores import RankScores
from multimargin.estimator._probabilities import ProbabilityMixin
from multimargin.estimator._svc import MulticlassSVC
from multimargin.inspection import Certificate
from multimargin.models._coef import ClassRows
from multimargin.models._scores import ClassScores, LinearScores
from multimargin.models.label_sets._measures import subset_accuracy
from multimargin.models.label_sets._sets import predictions
from multimargin.parallel._collectives import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._mpi import world
from multimargin.parallel._threads import rank_thread_count
from multimargin.persistence import load_model as load_whole_model


def load_model(
    path: str | os.PathLike[str],
    *,
    verify: bool = False,
    n_jobs: int | None = None,
    comm: Communicator | None = None,
    encoder: Any = None,
) -> DistributedModel:
    """Open a model file, each rank some of its classes; called by all ranks.

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
    encoder : str, object or callable, default=None
        As of `multimargin.load_model`.

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
        # One rank of each host looks for damage, and reports it for all.
        if comm.host.rank == 0:
            load_whole_model(path, verify=verify)
    template = load_whole_model(path, encoder=encoder).set_params(n_jobs=n_jobs)
    coef, intercept = template.coef_, template.intercept_
    del template.coef_, template.intercept_
    return DistributedModel(template, take_rows(comm, coef, intercept), comm)


class DistributedModel(ProbabilityMixin):
    """A trained model of which each rank holds some of the classes.

    Made by `fit` and `load_model`. All methods are called by all ranks, with the same arguments.

    Attributes
    ----------
    classes_, multilabel_, n_features_in_, n_iter_, primal_objective_, dual_objective_, dual_gap_, \
violation_, converged_, history_, model_density_, n_bundles_
        As of `MulticlassSVC`, the same on all ranks. A loaded model has no `history_`.
    features_ : TextFeatures
        Only of a `TextClassifier`, which makes its features of raw texts, on every rank.
    calibration_ : Calibration
        As of `MulticlassSVC`; `calibrate` and `predict_topk` are its methods, too.
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
    multilabel_: str | None
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
        owned: OwnedRows,
        comm: Communicator,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.comm, self._owned, self._checkpoints = comm, owned, checkpoints
        self._template = template  # fitted but for its coefficients
        for name, value in vars(template).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)

    @property
    def calibration(self) -> Any:
        """The parameter of the estimator that was trained."""
        return self._template.calibration

    def get_params(self) -> dict[str, Any]:
        """Parameters of the estimator that was trained."""
        return self._template.get_params(deep=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """Best class of each sample, on all ranks; as `MulticlassSVC.predict`."""
        return predictions(self._scores(), self, self._checked(X))

    def _positive(self, X: Any) -> csr_matrix[Any]:
        """Ones for the labels with a positive score, of samples x labels."""
        return self._scores().positive(self._checked(X))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the samples whose best class, or whole set of labels, is theirs."""
        if self.multilabel_ is not None:
            return subset_accuracy(self.classes_, y, self._positive(X), sample_weight)
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
        """Write the model to one file, atomically, each rank its rows.

        The file has the same bytes as `multimargin.save_model` writes for the same model
        trained by one process with as many bundles. All ranks must see its folder. Checkpoints
        of the training are removed afterwards, if it reached its tolerance.

        Parameters
        ----------
        path : path-like
            The file to write; its folder must exist.
        preprocessing, weights
            As of `multimargin.save_model`.
        """
        save_owned(self._described(), self._owned, path, self.comm, preprocessing, weights)
        if self._checkpoints is not None:
            self._checkpoints.remove()
            self._checkpoints = None

    def gather(self) -> MulticlassSVC | None:
        """The whole model as a fitted estimator on rank 0; None on the other ranks."""
        rows = collect_rows(self.comm, self._owned)
        if rows is None:
            return None
        whole = self._described()
        whole.coef_, whole.intercept_ = rows
        return whole

    def _described(self) -> MulticlassSVC:
        """The whole model but for its coefficients."""
        described = copy(self._template)
        if hasattr(self, "calibration_"):
            described.calibration_ = self.calibration_
        return described

    def _checked(self, X: Any) -> Any:
        return self._template._validated(X)

    def _scores(self) -> ClassScores:
        rows, owned = ClassRows.of(self._template), self._owned
        threads = rank_thread_count(self._template.n_jobs, self.comm)
        if self.comm.size == 1:
            return ClassScores(LinearScores(owned.coef, owned.intercept, threads), rows)
        return ClassScores(RankScores(self.comm, owned, threads), rows)
