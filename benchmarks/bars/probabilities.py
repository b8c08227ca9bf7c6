"""The bars of probabilities: how good they are, and what they cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from benchmarks.bars.outcome import Facts, Options, Outcome, Row, at_least, without_figure
from benchmarks.common.data import WORDNET, DataUnavailableError, load
from multimargin import Calibration, MulticlassSVC
from multimargin.estimator._splits import holdout_of
from multimargin.inspection import CalibrationReport, calibration_report

_HELD_OUT = 0.1
_LARGEST = 500  # classes that scikit-learn calibrates, which needs samples x classes
_BINS = 15


def probabilities(options: Options) -> Outcome:
    """12,582 classes, a tenth held out: log-loss, calibration error, and speed in one thread."""
    try:
        data = load(WORDNET, options.folder)
    except DataUnavailableError as error:
        return Outcome([without_figure("probabilities", f"skipped: {error}")])
    model, held = _trained(data.X, data.y)
    model.calibrate(*held)
    known = data.y_test >= 0
    X, y = data.X_test[known], data.y_test[known]
    made, report = model.calibration_, calibration_report(model, X, y)
    plain = model.calibrate(*held, method="temperature").calibration_
    temperature = calibration_report(model, X, y)
    model.calibration_ = Calibration(1.0)
    softmax = calibration_report(model, X, y)
    model.calibration_ = made
    rows = [
        *_rows(f"{WORDNET}: plain softmax", softmax),
        *_rows(f"{WORDNET}: temperature {plain.temperature:.3g}", temperature),
        *_rows(f"{WORDNET}: calibrate", report, softmax.log_loss, softmax.calibration_error),
    ]
    largest = np.argsort(-np.bincount(data.y), kind="stable")[:_LARGEST]
    few, tested = np.isin(data.y, largest), np.isin(y, largest)
    rows += _next_to_scikit_learn(data.X[few], data.y[few], X[tested], y[tested])
    pairs = [
        (
            _seconds(lambda: model.predict_topk(X, 5)),
            _seconds(lambda: model.predict_topk(X, 5, proba=True)),
        )
        for _ in range(options.runs(5))
    ]
    ratio = statistics.median(without / with_them for without, with_them in pairs)
    speed = len(y) / statistics.median(with_them for _, with_them in pairs)
    note = f" ({speed:,.0f} rows per second)"
    rows.append(at_least("predict_topk(proba=True) over predict_topk", ratio, 0.5, note=note))
    return Outcome(rows, [Facts({"calibration": made.as_dict(), "test": report.as_dict()})])


def _trained(X: Any, y: Any) -> tuple[MulticlassSVC, tuple[Any, Any]]:
    """A model of nine tenths of the samples, trained in one thread, and the others."""
    rest, held = holdout_of(y, _HELD_OUT)
    model = MulticlassSVC("ww", fit_intercept=False, random_state=0, n_jobs=1)
    return model.fit(X[rest], y[rest]), (X[held], y[held])


def _next_to_scikit_learn(X: Any, y: Any, X_test: Any, y_test: Any) -> list[Row]:
    # It takes labels for columns, unless they are texts.
    classes, y = np.unique(y, return_inverse=True)
    y_test = np.searchsorted(classes, y_test)
    model, held = _trained(X, y)
    frozen = FrozenEstimator(model)
    theirs = CalibratedClassifierCV(frozen, method="temperature", ensemble=False).fit(*held)
    p = theirs.predict_proba(X_test)
    confidence, hit = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y_test
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    parts = [bins == k for k in range(_BINS) if (bins == k).any()]
    error = sum(part.sum() * abs(confidence[part].mean() - hit[part].mean()) for part in parts)
    loss, error = float(log_loss(y_test, p)), float(error / len(y_test))
    name = f"{_LARGEST} largest classes"
    return [
        Row(f"{name}: CalibratedClassifierCV, log-loss", f"{loss:.4f}", loss),
        Row(f"{name}: CalibratedClassifierCV, calibration error", f"{error:.4f}", error),
        *_rows(f"{name}: calibrate", _report(model, held, X_test, y_test), loss, error),
    ]


def _report(model: MulticlassSVC, held: Any, X: Any, y: Any) -> CalibrationReport:
    return calibration_report(model.calibrate(*held), X, y)


def _rows(
    name: str, report: CalibrationReport, loss: float | None = None, error: float | None = None
) -> list[Row]:
    """Rows of the log-loss and the calibration error, which must be no worse than these."""
    found = {"log-loss": (report.log_loss, loss)}
    found["calibration error"] = (report.calibration_error, error)
    return [
        Row(f"{name}, {what}", f"{value:.4f}", value, f"<= {most:.4f}", value <= most)
        if most is not None
        else Row(f"{name}, {what}", f"{value:.4f}", value)
        for what, (value, most) in found.items()
    ]


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
