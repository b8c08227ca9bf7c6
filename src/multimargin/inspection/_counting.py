"""Labels as numbers, so that they can be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True)
class Codes:
    """True and predicted labels by their places among all of them.

    Attributes
    ----------
    labels : ndarray of shape (n_labels,)
        Sorted.
    truth, predicted : ndarray of int of shape (n_samples,)
    """

    labels: NDArray[Any]
    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]

    def pairs(self) -> Any:
        """How often each label was predicted for each: a sparse matrix, its rows the truth."""
        n = len(self.labels)
        once = np.ones(len(self.truth), dtype=np.int64)
        counts: Any = sp.csr_matrix((once, (self.truth, self.predicted)), shape=(n, n))
        counts.sum_duplicates()
        return counts


def predicted_labels(given: Any, *rest: Any) -> tuple[Any, Any, NDArray[Any] | None]:
    """True and predicted labels, and the classes of the model if one was given.

    Parameters
    ----------
    given, *rest
        Either ``y_true, y_pred`` or ``model, X, y_true``.
    """
    if hasattr(given, "predict"):
        if len(rest) != 2:
            raise TypeError("with a model, pass it with samples and labels: model, X, y")
        check_is_fitted(given, "coef_")
        X, y = rest
        return y, given.predict(X), np.asarray(given.classes_)
    if len(rest) != 1:
        raise TypeError("pass true and predicted labels, y_true, y_pred; or model, X, y")
    return given, rest[0], None


def codes(y_true: ArrayLike, y_pred: ArrayLike, classes: ArrayLike | None = None) -> Codes:
    """Number the labels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    classes : array-like, default=None
        Further labels, which need not occur.
    """
    truth, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true labels, but {len(predicted)} predicted ones")
    if not len(truth):
        raise ValueError("there are no labels to compare: y_true is empty")
    parts = [truth, predicted] if classes is None else [truth, predicted, _labels("", classes)]
    if len({isinstance(part[0], str) for part in parts if len(part)}) > 1:
        raise ValueError(
            f"true labels of type {truth.dtype} cannot be compared with predicted ones of type "
            f"{predicted.dtype}: convert one of them"
        )
    labels, places = np.unique(np.concatenate(parts), return_inverse=True)
    places = places.reshape(-1)
    return Codes(labels, places[: len(truth)], places[len(truth) : 2 * len(truth)])


def _labels(name: str, y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {labels.ndim}")
    return labels
