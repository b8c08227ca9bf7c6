"""Fits of a calibration: on samples given apart, or held out of the training samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from multimargin.estimator._observers import note
from multimargin.estimator._splits import Split, checked_labels, folds_of, holdout_of, rows_of
from multimargin.models._calibration import Calibration, HeldOut, fitted_calibration
from multimargin.models._measures import known_labels

CV_FOLDS = 5


def calibration_splits(wanted: Any, y: NDArray[Any]) -> list[Split]:
    """Training and held-out samples for the parameter `calibration`; a ValueError if too few."""
    if wanted is None:
        return []
    return folds_of(y, CV_FOLDS) if isinstance(wanted, str) else [holdout_of(y, float(wanted))]


def calibrated_on(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, plain: bool
) -> Calibration:
    """Fit the calibration of a model to samples; it refuses labels that the model lacks."""
    y = checked_labels(X, y, "calibration")
    own = places_of(model.classes_, y)
    if (own < 0).any():
        labels = list(dict.fromkeys(y[own < 0].tolist()))
        raise ValueError(
            f"y has {len(labels):,} label(s) that the model does not know, such as {labels[0]!r}, "
            f"in {int((own < 0).sum()):,} of {len(y):,} samples: leave these samples out"
        )
    part = _held_out(model, X, own, sample_weight)
    return _fitted([part], [_mean_score(model, part)], plain=plain)


def calibrated_by_splits(
    estimator: Any, X: Any, y: Any, sample_weight: Any, splits: list[Split]
) -> Calibration:
    """Fit it to the held-out samples of all splits, scored by models of the other samples."""
    parts, origins = [], []
    weight = np.broadcast_to(1.0 if sample_weight is None else np.asarray(sample_weight), len(y))
    for k, (train, test) in enumerate(splits):
        if estimator.verbose:
            note(f"calibration: model {k + 1} of {len(splits)}")
        model = clone(estimator).set_params(calibration=None, warm_start=False, verbose=0)
        model.__dict__.pop("_skl_callbacks", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the fit itself says it
            model.fit(rows_of(X, train), y[train], sample_weight=weight[train])
        # Weights of zero may have taken classes from the model.
        own = places_of(model.classes_, y[test])
        used = (own >= 0) & (weight[test] > 0)
        if used.any():
            rows = test[used]
            parts.append(_held_out(model, rows_of(X, rows), own[used], weight[rows]))
            origins.append(_mean_score(model, parts[-1]))
    return _fitted(parts, origins, plain=False)


def places_of(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int32]:
    """The place of each label among the classes, -1 where it has none."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in known_labels(classes, y)], dtype=np.int32)


def _held_out(model: Any, X: Any, own: NDArray[np.int32], sample_weight: Any) -> HeldOut:
    X = model._checked(X)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not (used := weight > 0).all():
        X, own, weight = X[used], own[used], weight[used]
    return HeldOut(model._scores(), X, own, weight)


def _mean_score(model: Any, part: HeldOut) -> float:
    """The mean score of all classes and samples; classes of one problem have one of zero."""
    if len(model.classes_) == 2:
        return 0.0
    mean = np.asarray(model.coef_.mean(axis=0, dtype=np.float64)).ravel()
    scores = part.X @ mean + model.intercept_.mean(dtype=np.float64)
    return float(np.average(scores, weights=part.weight))


def _fitted(parts: list[HeldOut], origins: list[float], *, plain: bool) -> Calibration:
    if len({label for part in parts for label in part.own.tolist()}) < 2:
        raise ValueError("a calibration needs samples of at least 2 classes, but y has one class")
    origin = float(np.average(origins, weights=[part.weight.sum() for part in parts]))
    n_classes = max(part.scores.n_classes for part in parts)
    return fitted_calibration(parts, n_classes, origin, plain=plain)
