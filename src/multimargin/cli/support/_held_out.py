"""Samples that a model is calibrated on."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.cli.support._messages import note
from multimargin.cli.support._training_data import read_as_training
from multimargin.estimator._splits import rows_of
from multimargin.inspection._labels import known_places
from multimargin.io._compressed import DataFileError
from multimargin.io._text_table import counted
from multimargin.models.probabilities._calibration import Calibration


def known_only(
    classes: NDArray[Any], X: Any, y: NDArray[Any], path: str
) -> tuple[Any, NDArray[Any]]:
    """Return the samples whose label is a class; note the others. Two labels are needed."""
    places = known_places(classes, y)
    known = np.flatnonzero(places >= 0)
    if len(np.unique(places[known])) < 2:
        raise DataFileError(f"{path}: a calibration needs at least 2 labels that the model knows")
    if len(known) == len(y):
        return X, y
    left = counted(len(y) - len(known), "sample")
    note(f"note: {left} of {path} with labels that the model does not know are left out")
    return rows_of(X, known), y[known]


def read_held_out(args: argparse.Namespace, X: Any, y: Any) -> tuple[Any, NDArray[Any]] | None:
    """Read the file of --calibrate, if it names one, before the training."""
    if not isinstance(args.calibrate, str) or args.calibrate == "cv":
        return None
    given = read_as_training(args, args.calibrate, X)
    return known_only(np.unique(y), *given, args.calibrate)


def require_calibrated(model: Any, path: str, option: str) -> None:
    if not hasattr(model, "calibration_"):
        raise ValueError(
            f"{option}: {path} has no probabilities: 'multimargin calibrate {path} DATA OUT' "
            "learns them from labelled data, and 'multimargin train --calibrate cv' does"
        )


def calibration_text(made: Calibration) -> str:
    shaped = f", curvature {made.curvature:.3g}, floor {made.floor:.3g}"
    return (
        f"temperature {made.temperature:.4g}{shaped}; log-loss {made.log_loss:.4f} of "
        f"{counted(made.n_samples, 'sample')}" + ("; stale" if made.stale else "")
    )
