"""The estimator's methods that give probabilities, once it is calibrated."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multimargin.estimator._calibrate import calibrated_on
from multimargin.inspection.probabilities._prediction_sets import PredictionSets, prediction_sets
from multimargin.io._memory import available
from multimargin.models._scores import ClassScores, best_k_labels, checked_k
from multimargin.models.probabilities._calibration import Calibration

Result = TypeVar("Result")

_AT_ONCE = 2**22  # scores that become probabilities


class _WhenCalibrated(Generic[Result]):
    """A method that an estimator has where it is calibrated, or will be by its fit."""

    def __init__(self, method: Callable[..., Result]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type | None = None) -> Callable[..., Result]:
        if model is None:
            return self._method
        _check_calibrated(model, self._method.__name__)
        return MethodType(self._method, model)


def _check_calibrated(model: Any, name: str) -> None:
    fitted = hasattr(model, "classes_")
    if not (hasattr(model, "calibration_") or (model.calibration is not None and not fitted)):
        raise AttributeError(
            f"{type(model).__name__} has no {name} before it is calibrated: its scores are "
            "margins, trained to be in the right order, and not probabilities. Call "
            "calibrate(X, y) with samples that it was not trained on, or fit with "
            "calibration='cv'; decision_function and predict_topk give scores"
        )


class ProbabilityMixin:
    """`calibrate`, `predict_proba`, `predict_log_proba`, `predict_set` and `predict_topk`."""

    classes_: NDArray[Any]
    calibration_: Calibration

    if TYPE_CHECKING:

        def _checked(self, X: Any) -> Any: ...
        def _scores(self) -> ClassScores: ...

    def calibrate(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        method: Literal["auto", "temperature"] = "auto",
    ) -> Self:
        """Learn how scores become probabilities, from samples that were not trained on.

        The weights stay as they are, and so does the order of the classes of each sample. What is
        learnt minimises the log-loss of these samples. They are read some twenty times, a block of
        classes at a time: no array of samples x classes is made.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or what `fit` takes
            Some hundreds are enough for any number of classes. The probabilities of training
            samples would be far too sure.
        y : array-like of shape (n_samples,)
            Labels, all of them known to the model.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0; an integer weight equals repeating the sample, 0 leaving it out.
        method : {"auto", "temperature"}, default="auto"
            "temperature": all scores are divided by one number, as by scikit-learn's
            ``CalibratedClassifierCV(method="temperature")``. "auto": where it pays, a curvature,
            by which large scores count less, and a floor, which all classes have, are learnt, too.

        Returns
        -------
        self : MulticlassSVC
            With `calibration_`, a `Calibration`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MulticlassSVC(random_state=0).fit(X[::2], y[::2])
        >>> model.calibrate(X[1::2], y[1::2]).predict_proba(X[77:78]).round(1).tolist()
        [[0.0, 0.9, 0.1]]
        """
        if method not in ("auto", "temperature"):
            raise ValueError(f"method must be 'auto' or 'temperature', got {method!r}")
        plain = method == "temperature"
        self.calibration_ = calibrated_on(self, X, y, sample_weight, plain=plain)
        return self

    @overload
    def predict_topk(
        self, X: Any, k: int = 5, *, proba: Literal[False] = False
    ) -> tuple[NDArray[Any], NDArray[np.floating]]: ...
    @overload
    def predict_topk(
        self, X: Any, k: int = 5, *, proba: Literal[True]
    ) -> tuple[NDArray[Any], NDArray[np.floating], NDArray[np.floating]]: ...
    def predict_topk(self, X: Any, k: int = 5, *, proba: bool = False) -> tuple[NDArray[Any], ...]:
        """The ``k`` best classes of each sample, best first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int, default=5
            At most the number of classes.
        proba : bool, default=False
            Whether to return their probabilities, too, for which the model has to be calibrated.
            No array of samples x classes is made.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
            Only with `proba`.
        """
        X = self._checked(X)
        if not proba:
            return best_k_labels(self._scores(), self.classes_, X, k)
        _check_calibrated(self, "probabilities")
        n_classes = len(self.classes_)
        found = self._scores().top_with_sums(X, checked_k(k, n_classes), self.calibration_.shape)
        order, scores, sums = found
        probabilities = self.calibration_.of_some(scores, sums, n_classes)
        return self.classes_[order], scores, probabilities.astype(scores.dtype, copy=False)

    def predict_set(self, X: Any, coverage: float = 0.9) -> PredictionSets:
        """Labels of which one is that of the sample with a given probability.

        A set has all labels that are not much less probable than the best one; how much, the
        samples of the calibration say. Sure predictions are sets of one label, others go to a
        person or to a second model. The model has to be calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            No array of samples x classes is made.
        coverage : float, default=0.9
            Between 0 and 1: at least this share of samples like those of `calibrate` have their
            label in their set, on average over draws of both. With ``calibration="cv"`` this is
            what to expect, and no more: the final model is not one of those that were calibrated.
            As a set is never empty, more are covered where more are predicted right.

        Returns
        -------
        PredictionSets
            ``sets[i]`` has the labels of sample ``i``, the best first; it has `sizes` and
            `contains`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_digits(return_X_y=True)
        >>> model = MulticlassSVC(random_state=0).fit(X[::3], y[::3]).calibrate(X[1::3], y[1::3])
        >>> sets = model.predict_set(X[2::3], coverage=0.99)
        >>> [labels.tolist() for labels in sets][15:18]
        [[1], [2, 8], [8]]
        >>> bool(sets.contains(y[2::3]).mean() > 0.97)
        True
        """
        _check_calibrated(self, "predict_set")
        return prediction_sets(self, self._checked(X), coverage)

    @_WhenCalibrated
    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probabilities of all classes; only of a model that is calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. Refused where it would take more than half of the memory;
            ``predict_topk(X, k, proba=True)`` makes no such array.
        """
        return self._of_all_classes(X, "predict_proba", logs=False)

    @_WhenCalibrated
    def predict_log_proba(self, X: Any) -> NDArray[np.floating]:
        """Logarithms of the probabilities of all classes; only of a model that is calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            As of `predict_proba`.
        """
        return self._of_all_classes(X, "predict_log_proba", logs=True)

    def _of_all_classes(self, X: Any, name: str, *, logs: bool) -> NDArray[np.floating]:
        X = self._checked(X)
        n, n_classes = X.shape[0], len(self.classes_)
        size, room = 8 * n * n_classes, available() / 2
        if size > room:
            raise ValueError(
                f"{name} of {n:,} samples and {n_classes:,} classes may take {size / 1e9:,.1f} "
                f"GB, more than half of this machine's memory: predict_topk(X, k, proba=True) "
                "needs no such array"
            )
        found = self._scores().scores(X)
        step = max(1, _AT_ONCE // n_classes)
        for begin in range(0, n, step):
            part = found[begin : begin + step]
            part[:] = self.calibration_.probabilities(part, logs=logs)
        return found
