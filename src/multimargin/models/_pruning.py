"""Dropping the small weights of a model, and the cost of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.models._arguments import is_number
from multimargin.models._coef import LinearModel, nonzeros
from multimargin.models._feature_major import FeatureMajorCache
from multimargin.models._measures import known_labels
from multimargin.models.file._content import CERTIFICATE
from multimargin.models.file._disk_dtype import check_disk_dtype, to_disk
from multimargin.models.label_sets._measures import differing
from multimargin.models.label_sets._sets import sets_among

__all__ = ["PruningCost", "prune", "pruning_costs"]

Model = TypeVar("Model", bound=LinearModel)

SHARES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
_TRIES = 12  # of the bisection for `max_loss`: the share is then known to a few per cent
_LEAST_SHARE = 1e-3
# Attributes that hold for the weights as trained only.
_OF_TRAINING = (*CERTIFICATE, "history_", "n_known_samples_", "_warm_alpha", "_warm_samples")


@dataclass(frozen=True)
class PruningCost:
    """The size of a pruned model, and how well it predicts.

    Attributes
    ----------
    keep : float
        Share of the model's non-zero weights that are kept.
    threshold : float
        Smaller weights are dropped.
    nonzeros : int
        Weights that are kept.
    bytes : int
        Size of the coefficients on disk.
    error : float or None
        Share of the samples whose label is not predicted; None without labels.
    agreement : float or None
        Share of the samples for which the whole model predicts the same.
    """

    keep: float
    threshold: float
    nonzeros: int
    bytes: int
    error: float | None
    agreement: float | None


def prune(
    model: Model,
    *,
    threshold: float | None = None,
    keep: float | None = None,
    max_loss: float | None = None,
    X: Any = None,
    y: ArrayLike | None = None,
    weights: str | None = None,
) -> Model:
    """A copy of a model without its small weights.

    Weights of all classes are compared with one threshold; intercepts stay. The copy has sparse
    coefficients, `pruned_` (a dict that says what was done, also kept in model files), and the
    classes and parameters of the model. It is not the optimum of anything, so it has no
    `converged_`, `dual_gap_` and other results of training, and no dual variables. Its
    calibration, if any, is `stale`, with a warning: ``pruned.calibrate(X, y)`` renews it.

    Give one of `threshold`, `keep` and `max_loss`.

    Parameters
    ----------
    model : MulticlassSVC or TextClassifier
        Fitted or loaded; it is not changed.
    threshold : float, default=None
        Weights whose absolute value is smaller are dropped.
    keep : float, default=None
        Share of the non-zero weights to keep, the largest ones, above 0 and up to 1. Of weights
        that are equal to the smallest kept one, all are kept.
    max_loss : float, default=None
        As few weights as possible while the share of wrong predictions on `X` and `y` rises by
        no more than this, such as 0.005. Found by bisection, down to a thousandth of the weights.
    X, y : samples and labels, default=None
        For `max_loss`: data that was not trained on. `X` as `model.predict` takes it.
    weights : {"float16", "float32"} or None, default=None
        For `max_loss`: the type that the weights will be saved in, which costs something too.

    Returns
    -------
    pruned : of the type of `model`

    See Also
    --------
    pruning_costs : the table to choose from.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multimargin import MulticlassSVC, prune
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X / 16, y)
    >>> half = prune(model, keep=0.5)
    >>> round(half.pruned_["weights"] / half.pruned_["weights_before"], 2)
    0.5
    >>> float((half.predict(X / 16) == y).mean()) > 0.9
    True
    """
    check_is_fitted(model, "coef_")
    if sum(each is not None for each in (threshold, keep, max_loss)) != 1:
        raise ValueError("give one of threshold=, keep= and max_loss= to say what to drop")
    if max_loss is not None:
        return _told(_prune_to_loss(model, max_loss, X, y, weights))
    if X is not None or y is not None or weights is not None:
        raise ValueError("X=, y= and weights= are for max_loss=; pruning_costs shows other costs")
    if keep is not None:
        return _told(_cut(model, _threshold_of(_sorted_sizes(model), keep)))
    if threshold is None or not is_number(threshold) or not 0 <= float(threshold) < np.inf:
        raise ValueError(f"threshold must be a number of at least 0, got {threshold!r}")
    return _told(_cut(model, float(threshold)))


def _told(pruned: Model) -> Model:
    """Warn where there are probabilities, which are those of other weights."""
    if hasattr(pruned, "calibration_"):
        told = (
            "the probabilities are those of the model before pruning: calibrate(X, y) renews them"
        )
        warnings.warn(told, stacklevel=3)
    return pruned


def pruning_costs(
    model: LinearModel,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    keep: Iterable[float] = SHARES,
    weights: str | None = None,
) -> list[PruningCost]:
    """Measure size and accuracy of a model at several thresholds.

    Parameters
    ----------
    model : MulticlassSVC or TextClassifier
    X : samples, default=None
        As `model.predict` takes them; without them there is no agreement and no error.
    y : array-like of shape (n_samples,), default=None
        Labels; without them there is no error.
    keep : iterable of float
        Shares of the weights, one line each.
    weights : {"float16", "float32"} or None, default=None
        The type of the weights on disk, to which they are rounded before predicting.

    Returns
    -------
    costs : list of PruningCost

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multimargin import MulticlassSVC, pruning_costs
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X[::2] / 16, y[::2])
    >>> costs = pruning_costs(model, X[1::2] / 16, y[1::2], keep=[1.0, 0.5])
    >>> costs[0].agreement, costs[1].nonzeros < costs[0].nonzeros
    (1.0, True)
    """
    check_is_fitted(model, "coef_")
    check_disk_dtype(weights)
    judge, sizes = Judge(model, X, y, weights), _sorted_sizes(model)
    return [judge.cost(_cut(model, _threshold_of(sizes, share))) for share in keep]


class Judge:
    """Compares pruned models with the whole one on the same samples."""

    def __init__(self, model: Any, X: Any, y: ArrayLike | None, weights: str | None):
        if X is None and y is not None:
            raise ValueError("labels without samples: give X as well")
        self._weights = weights
        self._whole = nonzeros(model.coef_)
        self._X = None if X is None else model._checked(X)
        self.y: Any = None
        if y is not None and model.multilabel_ is not None:
            self.y = sets_among(model.classes_, y)
        elif y is not None:
            self.y = known_labels(model.classes_, np.asarray(y))
        if self._X is not None and y is not None and self.y.shape[0] != self._X.shape[0]:
            raise ValueError(f"{self._X.shape[0]} samples, but {self.y.shape[0]} labels")
        self.predicted = None if X is None else self._predicted(model)

    def _predicted(self, model: Any) -> Any:
        """Return predicted labels, or sets of labels as a CSR matrix."""
        if model.multilabel_ is None:
            return model.predict(self._X)
        return model._scores().positive(self._X)

    def cost(self, pruned: Any) -> PruningCost:
        error = agreement = None
        if self._X is not None:
            predicted = self._predicted(rounded(pruned, self._weights))
            agreement = float(np.mean(~differing(self.predicted, predicted)))
            if self.y is not None:
                error = float(np.mean(differing(self.y, predicted)))
        count = nonzeros(pruned.coef_)
        return PruningCost(
            keep=count / max(1, self._whole),
            threshold=float(pruned.pruned_["threshold"]),
            nonzeros=count,
            bytes=coefficient_bytes(pruned.coef_, self._weights),
            error=error,
            agreement=agreement,
        )


def rounded(model: Model, weights: str | None) -> Model:
    """The model as it comes back from a file with weights of this type."""
    values = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.data
    narrow = to_disk(values, weights)
    if narrow is values:
        return model
    result = copy(model)
    wide: Any = narrow.astype(np.float32)
    if not isinstance(model.coef_, np.ndarray):
        wide = sp.csr_matrix((wide, model.coef_.indices, model.coef_.indptr), model.coef_.shape)
    result.coef_ = wide
    return result


def coefficient_bytes(coef: Any, weights: str | None) -> int:
    """Bytes that coefficients take in a model file."""
    itemsize = min(int(coef.dtype.itemsize), np.dtype(weights or coef.dtype).itemsize)
    if isinstance(coef, np.ndarray):
        return int(coef.size) * itemsize
    return int(coef.nnz) * (itemsize + 4) + 4 * (int(coef.shape[0]) + 1)


def _prune_to_loss(
    model: Model, max_loss: float, X: Any, y: ArrayLike | None, weights: str | None
) -> Model:
    if X is None or y is None:
        raise ValueError("max_loss= needs samples and labels to measure it on: give X= and y=")
    if not is_number(max_loss) or not 0 <= max_loss < 1:
        raise ValueError(f"max_loss must be a share from 0 to below 1, got {max_loss!r}")
    check_disk_dtype(weights)
    judge, sizes = Judge(model, X, y, weights), _sorted_sizes(model)
    whole = _cut(model, 0.0)
    allowed = float(np.mean(differing(judge.y, judge.predicted))) + max_loss + 1e-12

    def fits(candidate: Model) -> bool:
        return bool(float(judge.cost(candidate).error or 0) <= allowed)

    if not fits(whole):
        raise ValueError(
            f"weights={weights!r} alone costs more than max_loss={max_loss:g}: allow more, or "
            "keep the weights as trained"
        )
    if fits(least := _cut(model, _threshold_of(sizes, _LEAST_SHARE))):
        return least
    best, low, high = whole, np.log(_LEAST_SHARE), 0.0
    for _ in range(_TRIES):
        middle = (low + high) / 2
        candidate = _cut(model, _threshold_of(sizes, float(np.exp(middle))))
        if fits(candidate):
            best, high = candidate, middle
        else:
            low = middle
    return best


def _cut(model: Model, threshold: float) -> Model:
    coef = sp.csr_matrix(model.coef_)
    kept = (np.abs(coef.data) >= threshold) & (coef.data != 0)
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = before[coef.indptr].astype(coef.indptr.dtype)
    pruned: Any = copy(model)
    for name in _OF_TRAINING:
        pruned.__dict__.pop(name, None)
    parts = (coef.data[kept], coef.indices[kept], indptr)
    pruned.coef_ = sp.csr_matrix(parts, shape=coef.shape)
    if hasattr(model, "_feature_major"):
        pruned._feature_major = FeatureMajorCache()
    pruned.model_density_ = int(before[-1]) / max(1, coef.shape[0] * coef.shape[1])
    earlier = getattr(model, "pruned_", {})
    pruned.pruned_ = {
        "threshold": max(threshold, float(earlier.get("threshold", 0.0))),
        "weights_before": int(earlier.get("weights_before", np.count_nonzero(coef.data))),
        "weights": int(before[-1]),
    }
    if hasattr(model, "calibration_"):
        pruned.calibration_ = replace(model.calibration_, stale=True)
    cut: Model = pruned
    return cut


def _sorted_sizes(model: LinearModel) -> NDArray[Any]:
    values = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.data
    return np.asarray(np.sort(np.abs(values[values != 0]))[::-1])


def _threshold_of(sizes: NDArray[Any], keep: float) -> float:
    """The smallest weight to keep."""
    if not is_number(keep) or not 0 < keep <= 1:
        raise ValueError(f"keep must be a share above 0 and up to 1, got {keep!r}")
    if len(sizes) == 0 or keep >= 1:
        return 0.0
    return float(sizes[max(1, round(float(keep) * len(sizes))) - 1])
