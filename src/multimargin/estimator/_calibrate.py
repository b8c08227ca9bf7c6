"""Fits of a calibration: on samples given apart, or held out of the training samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from multimargin.estimator._fit import Fit
from multimargin.estimator._observers import note
from multimargin.estimator._splits import Split, checked_labels, folds_of, holdout_of, rows_of
from multimargin.inspection._labels import known_places
from multimargin.io._text_table import counted
from multimargin.models.label_sets._sets import require_one_label
from multimargin.models.probabilities._calibration import Calibration, HeldOut, fitted_calibration

CV_FOLDS = 5


def calibration_splits(wanted: Any, fit: Fit) -> list[Split]:
    """Training and held-out samples for the parameter `calibration`; a ValueError if too few.

    Samples of weight zero are in neither, so that models of all splits have the same classes.
    """
    if wanted is None:
        return []
    if fit.problem.sets is not None:
        raise ValueError("calibration must be None where samples have sets of labels")
    rows = np.arange(len(fit.y)) if fit.problem.rows is None else fit.problem.rows
    y = fit.y[rows]
    splits = folds_of(y, CV_FOLDS) if isinstance(wanted, str) else [holdout_of(y, float(wanted))]
    return [(rows[train], rows[test]) for train, test in splits]


def calibrated_on(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, plain: bool
) -> Calibration:
    """Fit the calibration of a model to samples; it refuses labels that the model lacks."""
    X = model._checked(X)
    require_one_label(model, "calibrate")
    y = checked_labels(X, y, "calibration")
    own = known_places(model.classes_, y)
    if (own < 0).any():
        labels = list(dict.fromkeys(y[own < 0].tolist()))
        raise ValueError(
            f"y has {counted(len(labels), 'label')} that the model does not know, such as "
            f"{labels[0]!r}, in {int((own < 0).sum()):,} of {len(y):,} samples: leave these out"
        )
    part = _held_out(model, X, own, sample_weight)
    return _fitted([part], plain=plain)


def calibrated_by_splits(
    estimator: Any,
    data: tuple[Any, NDArray[Any], Any],
    splits: list[Split],
    train_on: Callable[..., Any],
    *,
    spoken: bool,
) -> Calibration:
    """Fit it to the held-out samples of all splits, scored by models of the other samples.

    `data` are samples, labels and weights, on which `train_on` trains an estimator to a model.
    """
    (X, y, sample_weight), parts = data, []
    weight = np.broadcast_to(1.0 if sample_weight is None else np.asarray(sample_weight), len(y))
    for k, (train, test) in enumerate(splits):
        if spoken:
            note(f"calibration: model {k + 1} of {len(splits)}")
        model = clone(estimator).set_params(calibration=None, warm_start=False, verbose=0)
        model.__dict__.pop("_skl_callbacks", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the fit itself says it
            model = train_on(model, rows_of(X, train), y[train], weight[train])
        held_out = model._checked(rows_of(X, test))
        own = known_places(model.classes_, y[test])
        parts.append(_held_out(model, held_out, own, weight[test]))
    return _fitted(parts, plain=False)


def _held_out(model: Any, X: Any, own: NDArray[np.int32], sample_weight: Any) -> HeldOut:
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not (used := weight > 0).all():
        X, own, weight = X[used], own[used], weight[used]
    return HeldOut(model._scores(), X, own, weight)


def _fitted(parts: list[HeldOut], *, plain: bool) -> Calibration:
    if len({label for part in parts for label in part.own.tolist()}) < 2:
        raise ValueError("a calibration needs samples of at least 2 classes, but y has one class")
    means = np.concatenate([part.scores.means(part.X) for part in parts])
    origin = float(np.average(means, weights=np.concatenate([part.weight for part in parts])))
    n_classes = max(part.scores.n_classes for part in parts)
    made = fitted_calibration(parts, n_classes, origin, plain=plain)
    best = [part.scores.top(part.X, 1)[1][:, 0] for part in parts]
    own = [part.scores.sums(part.X, part.own, made.shape)[1] for part in parts]
    return made.with_sets(made.nonconformity_of(np.concatenate(best), np.concatenate(own)))
