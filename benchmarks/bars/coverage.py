"""The bar of prediction sets: how often they have the label, over many splits of held-out data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.bars.outcome import Facts, Options, Outcome, Row, without_figure
from benchmarks.common.data import DMOZ, WORDNET, DataSet, DataUnavailableError, load
from multimargin import MulticlassSVC
from multimargin.models.probabilities._softmax import Shape

_COVERAGE, _WITHIN = 0.9, 0.005
_SPLITS = 200
_CALIBRATED = 1_000  # samples; the others are tested
_SIZED = 3_000  # of them, whose sets are made
_OTHER_COVERAGES = (0.5, 0.7, 0.8)


def coverage(options: Options) -> Outcome:
    """Two sets: mean coverage over 200 splits (--quick: 20), calibrated anew each, and sizes."""
    outcome = Outcome()
    for name in (WORDNET, DMOZ):
        try:
            data = load(name, options.folder)
        except DataUnavailableError as error:
            outcome.rows.append(without_figure(f"{name}: coverage", f"skipped: {error}"))
            continue
        rows, facts = _over_splits(name, data, options.runs(20 if options.quick else _SPLITS))
        outcome.rows += rows
        outcome.runs.append(Facts(facts))
    return outcome


def _over_splits(name: str, data: DataSet, splits: int) -> tuple[list[Row], dict[str, Any]]:
    model = MulticlassSVC("ww", fit_intercept=False, random_state=0, n_jobs=1).fit(data.X, data.y)
    known = data.y_test >= 0
    X, y = data.X_test[known], data.y_test[known]
    best = model._scores().top(X, 1)[1][:, 0]
    own, shape = np.searchsorted(model.classes_, y).astype(np.int32), Shape(1.0, 0.0, 0.0)
    own_score = model._scores().sums(X, own, shape)[1]
    found = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        some, others = order[:_CALIBRATED], order[_CALIBRATED:]
        made = model.calibrate(X[some], y[some]).calibration_
        inside = made.nonconformity_of(best[others], own_score[others]) <= made.limit(_COVERAGE)
        found.append(float(inside.mean()))
    mean = float(np.mean(found))
    note = f"{mean:.4f} (of single splits {min(found):.3f} to {max(found):.3f})"
    bar = f"within {_WITHIN} of {_COVERAGE}"
    title = f"{name}: mean coverage over {splits} splits"
    rows = [Row(title, note, mean, bar, abs(mean - _COVERAGE) <= _WITHIN)]
    facts = {"set": name, "coverages": found, "sizes": {}}
    tested = others[:_SIZED]  # of the last split
    for asked in (*_OTHER_COVERAGES, _COVERAGE):
        sets = model.predict_set(X[tested], asked)
        sizes, share = sets.sizes, float(sets.contains(y[tested]).mean())
        summed = _sizes_of_sums(model, X[some], own[some], X[tested], asked)
        title = f"{name}: labels in a set, {asked}"
        rows.append(_sizes_row(title, sizes, f"; coverage {share:.3f}"))
        rows.append(_sizes_row(f"{title}, by summing", summed))
        facts["sizes"][str(asked)] = [sizes.tolist(), summed.tolist(), share]
    return rows, facts


def _sizes_row(title: str, sizes: np.ndarray, more: str = "") -> Row:
    ones = f"{100 * (sizes == 1).mean():.0f} % of one"
    figure = f"median {np.median(sizes):g}, mean {sizes.mean():,.1f}, {ones}{more}"
    return Row(title, figure, float(sizes.mean()))


def _sizes_of_sums(model: MulticlassSVC, X: Any, own: Any, X_test: Any, asked: float) -> np.ndarray:
    """Sizes of adaptive prediction sets, which sum probabilities (Romano, Sesia, Candès 2020)."""
    made = model.calibration_
    sums, _ = model._scores().sums(X, own, made.shape, ranks=True)
    above = np.sort(made.above(sums, len(model.classes_)))
    limit, sizes = above[math.ceil((len(above) + 1) * asked) - 1], []
    for begin in range(0, X_test.shape[0], 250):
        p = model.predict_proba(X_test[begin : begin + 250]).astype(np.float64)
        p = -np.sort(-p, axis=1)
        sizes.append(((p.cumsum(axis=1) - p) <= limit).sum(axis=1))
    return np.concatenate(sizes)
