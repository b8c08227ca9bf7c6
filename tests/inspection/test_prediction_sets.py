"""Prediction sets: their guarantee, the plain formulas with the whole softmax, files and ranks."""

import json
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multimargin import (
    Calibration,
    ModelFileError,
    MulticlassSVC,
    TextClassifier,
    distributed,
    load_model,
    prune,
    save_model,
)
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import coverage_report
from multimargin.inspection.probabilities import _prediction_sets
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models.probabilities import _calibration
from tests.support.rank_threads import run_ranks


def blobs(n, n_classes, dtype=np.float64, spread=1.2):
    rng = np.random.default_rng(n_classes)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))
    X = rng.normal(size=(n_classes, 8))[y] + spread * rng.normal(size=(n, 8))
    return X.astype(dtype), y


def calibrated(n_classes=6, dtype=np.float64, name="ww", C=0.1, **options):
    """A calibrated model and as many samples that it has not seen."""
    X, y = blobs(600, n_classes, dtype)
    model = MulticlassSVC(name, C, random_state=0, **options).fit(X[:200], y[:200])
    return model.calibrate(X[200:400], y[200:400]), X[400:], y[400:]


def made_of(values):
    return Calibration(1.0, n_samples=len(values)).with_sets(np.array(values, dtype=float))


coverages = st.integers(1, 999).map(lambda thousandths: thousandths / 1000)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), coverages)
def test_of_equally_likely_samples_that_share_is_covered(values, coverage):
    # Each in turn is the one to come; the others are those of the calibration.
    inside = sum(
        value <= made_of(values[:i] + values[i + 1 :]).limit(coverage)
        for i, value in enumerate(values)
    )
    asked, n = Fraction(str(coverage)), len(values)
    assert inside >= asked * n
    if len(set(values)) == n:
        assert inside < asked * n + 1


@given(st.integers(1, 400), st.integers(1, 20), coverages)
def test_quantiles_that_are_kept_of_many_samples_are_never_too_low(n, most, coverage):
    values = np.random.default_rng(n).permutation(n) + 1.0
    exact = made_of(values).limit(coverage)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_calibration, "_MOST_KEPT", most)
        made = made_of(values)
    assert len(made.nonconformity) == min(n, most)
    place = math.ceil((n + 1) * Fraction(str(coverage)))
    assert exact == (math.inf if place > n else place)
    assert exact <= made.limit(coverage) <= exact + n / most


def twin(model, X_calibration, y_calibration, X, coverage):
    """The sets from all scores of all classes."""
    made = model.calibration_

    def below_the_best(X):
        values = made.shape.values(model._scores().scores(X).astype(np.float64))
        return (values.max(axis=1, keepdims=True) - values) / made.temperature

    own = np.searchsorted(model.classes_, y_calibration)
    n = len(own)
    held = np.sort(below_the_best(X_calibration)[np.arange(n), own])
    limit = held[math.ceil((n + 1) * coverage) - 1] * (1 + 1e-9)
    distance = below_the_best(X)
    order = np.argsort(distance, axis=1, kind="stable")
    sizes = (distance <= limit).sum(axis=1)
    return [row[:size] for row, size in zip(order, sizes, strict=True)]


@pytest.mark.parametrize("n_classes", [2, 6, 90])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_against_all_scores(name, n_classes, monkeypatch):
    dtype = np.float32 if name in ("ww", "ovr") else np.float64
    monkeypatch.setattr(_prediction_sets, "_AT_ONCE", 700)
    model, X, _ = calibrated(n_classes, dtype, name, C=10.0)
    X_all, y_all = blobs(600, n_classes, dtype)
    expected = twin(model, X_all[200:400], y_all[200:400], X, 0.8)
    sets = model.predict_set(X, 0.8)
    assert sets.sizes.min() >= 1 and (n_classes < 90 or sets.sizes.max() > 16)
    proba, found = model.predict_proba(X), sets.probabilities
    for i, (labels, places) in enumerate(zip(sets, expected, strict=True)):
        np.testing.assert_array_equal(labels, model.classes_[places])
        p = found[sets.indptr[i] : sets.indptr[i + 1]]
        np.testing.assert_allclose(p, proba[i, places], rtol=1e-4 if dtype == np.float32 else 1e-9)
    np.testing.assert_array_equal([each[0] for each in sets], model.predict(X))


def test_a_set_has_the_labels_that_are_not_much_less_probable_than_the_best():
    model, X, _ = calibrated()
    X_all, y_all = blobs(600, 6)
    found = []
    for scale in (1.0, 3.0):  # scores on another scale have the same sets
        model.coef_, model.intercept_ = scale * model.coef_, scale * model.intercept_
        made = model.calibrate(X_all[200:400], y_all[200:400], method="temperature").calibration_
        assert made.floor == made.curvature == 0
        logs = model.predict_log_proba(X)
        near = logs.max(axis=1, keepdims=True) - logs <= made.limit(0.9) + 1e-9
        sets = model.predict_set(X, 0.9)
        np.testing.assert_array_equal(sets.sizes, near.sum(axis=1))
        found.append(sets.indices)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("coverage", "n"), [(0.9, 300), (0.7, 300), (0.9, 39), (0.95, 19)])
def test_mean_coverage_over_splits(coverage, n):
    X, y = blobs(1000, 6, spread=2.5)
    model = MulticlassSVC(random_state=0).fit(X[:200], y[:200])
    X, y, rng, found = X[200:], y[200:], np.random.default_rng(0), []
    for _ in range(60):
        order = rng.permutation(len(y))
        model.calibrate(X[order[:n]], y[order[:n]])
        sets = model.predict_set(X[order[n:]], coverage)
        found.append(sets.contains(y[order[n:]]).mean())
    # Three standard deviations, and the number of samples, which is whole.
    slack = 3 * np.std(found) / np.sqrt(len(found))
    assert coverage - slack < np.mean(found) < coverage + 1 / (n + 1) + slack


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_of_the_calibration_are_inside_to_the_last_bit(dtype, monkeypatch):
    X, y = blobs(500, 40, dtype)
    model = MulticlassSVC("cs", random_state=0).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    model.calibrate(X, y)
    for first in (1, 5, 16):
        monkeypatch.setattr(_prediction_sets, "_FIRST", first)
        for coverage in (0.5, 0.77, 0.9, 0.99):
            n_inside = model.predict_set(X, coverage).contains(y).sum()
            assert n_inside == max(math.ceil(301 * coverage), (model.predict(X) == y).sum())


def test_threads_and_repeats_change_no_bit():
    for threads in (1, 3):
        model, X, _ = calibrated(90, np.float32, n_jobs=threads)
        for again in range(2):
            sets = model.predict_set(X, 0.9)
            if threads == 1 and not again:
                first = sets
            for name in ("indptr", "indices", "probabilities"):
                np.testing.assert_array_equal(getattr(sets, name), getattr(first, name))


def test_the_sets_are_easy_to_use():
    model, X, y = calibrated(5)
    model.classes_ = np.array(["a", "b", "c", "d", "e"])
    names = model.classes_[y]
    sets = model.predict_set(X)
    assert len(sets) == 200 and sets.coverage == 0.9
    np.testing.assert_array_equal(sets.sizes, [len(each) for each in sets])
    inside = [name in each for name, each in zip(names, sets, strict=True)]
    np.testing.assert_array_equal(sets.contains(names), inside)
    assert not sets.contains(["other"] * 200).any()
    np.testing.assert_array_equal(sets[-1], sets[199])
    assert repr(sets).endswith("labels for 200 samples, coverage 0.9>")
    with pytest.raises(IndexError):
        sets[200]
    with pytest.raises(ValueError, match="200 samples"):
        sets.contains(names[:3])
    larger = model.predict_set(X, 0.95)
    assert all(set(few) <= set(many) for few, many in zip(sets, larger, strict=True))


def test_a_sure_model_has_sets_of_one_label():
    X, y = blobs(300, 4, spread=0.1)
    model = MulticlassSVC(random_state=0, calibration="cv").fit(X, y)
    assert (model.predict_set(X, 0.8).sizes == 1).all()


def test_texts():
    rng = np.random.default_rng(0)
    words = ["sea", "dog", "sun"]
    y = rng.integers(0, 3, 90)
    texts = [f"{words[k if rng.random() < 0.7 else 0]} w{rng.integers(9)}" for k in y]
    model = TextClassifier(random_state=0, calibration="cv").fit(texts, y)
    sets = model.predict_set(texts, 0.9)
    assert 0.85 < sets.contains(y).mean() < 1


def test_report_is_that_of_the_sets():
    model, X, y = calibrated()
    y[:3] = 99
    sets, report = model.predict_set(X, 0.8), coverage_report(model, X, y, 0.8)
    inside, sizes = sets.contains(y), sets.sizes
    assert (report.n_samples, report.asked) == (200, 0.8)
    assert report.coverage == inside.mean() and report.mean_size == sizes.mean()
    assert report.median_size == np.median(sizes)
    assert report.singletons == (sizes == 1).mean()
    assert report.size_samples.sum() == 200
    for last, n, share in zip(
        report.largest_size, report.size_samples, report.size_coverage, strict=True
    ):
        those = (sizes <= last) & (sizes > last // 2)
        assert (n, share) == (those.sum(), pytest.approx(inside[those].mean()))
    assert sorted(report.label) == list(range(6))
    for label, n, share in zip(
        report.label, report.label_samples, report.label_coverage, strict=True
    ):
        assert (n, share) == ((y == label).sum(), pytest.approx(inside[y == label].mean()))
    missed = report.label_samples * (0.8 - report.label_coverage)
    assert (np.diff(missed) <= 1e-12).all()
    told = report.as_dict()
    assert json.loads(json.dumps(told)) == told
    assert f"worst labels  samples  coverage\n{report.label[0]}" in str(report)


def test_refused(monkeypatch):
    model, X, y = calibrated()
    for wrong in (0, 1, 0.0, 1.0, -0.1, True, "0.9", None, math.nan):
        with pytest.raises(ValueError, match=r"between 0 and 1, such as 0\.9"):
            model.predict_set(X, wrong)
    with pytest.raises(ValueError, match="2 features"):
        model.predict_set(X[:, :2])
    with pytest.warns(UserWarning, match="needs 999 calibration samples, but there are 200"):
        sets = model.predict_set(X[:7], 0.999)
    assert (sets.sizes == 6).all()
    monkeypatch.setattr(_prediction_sets, "available", lambda: 1000)
    with pytest.raises(ValueError, match="ask for less coverage"):
        model.predict_set(X)
    with pytest.warns(UserWarning, match="every set"), pytest.raises(ValueError, match="1,200"):
        model.predict_set(X, 0.999)
    model.calibration_ = Calibration(1.0)
    with pytest.raises(ValueError, match="no samples to make sets from"):
        model.predict_set(X)
    del model.calibration_
    with pytest.raises(AttributeError, match=r"no predict_set before .* calibrate\(X, y\)"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="not calibrated"):
        coverage_report(model, X, y)


def test_files_keep_what_sets_are_made_of(tmp_path):
    model, X, y = calibrated(dtype=np.float32)
    sets = model.predict_set(X)
    save_model(model, tmp_path / "m")
    for other in (load_model(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_set(X).indices, sets.indices)
    with pytest.warns(UserWarning, match="renews them"):
        small = prune(model, keep=0.9)
    with pytest.warns(UserWarning, match="before pruning: calibrate"):
        small.predict_set(X)
    save_model(small.calibrate(X, y), tmp_path / "n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_model(tmp_path / "n").predict_set(X).contains(y).sum() >= 181
    meta, arrays = read_arrays(tmp_path / "m")
    name = "calibration.nonconformity"
    for wrong in (arrays[name][::-1], np.zeros((2, 2)), np.zeros(201), np.array([0, np.nan])):
        write_arrays(tmp_path / "n", meta, arrays | {name: wrong})
        with pytest.raises(ModelFileError, match="not sorted"):
            load_model(tmp_path / "n")
    del arrays[name]
    write_arrays(tmp_path / "n", meta, arrays)
    with pytest.raises(ValueError, match="no samples to make sets from"):
        load_model(tmp_path / "n").predict_set(X)


@pytest.mark.parametrize("n_classes", [2, 40])
def test_ranks_give_the_sets_of_one_process(tmp_path, n_classes):
    model, X, y = calibrated(n_classes)
    sets, report = model.predict_set(X, 0.8), coverage_report(model, X, y, 0.8)
    save_model(model, tmp_path / "m")

    def body(comm):
        loaded = distributed.load_model(tmp_path / "m", comm=comm)
        told = coverage_report(loaded, X, y, 0.8).as_dict()
        loaded.save(tmp_path / "again")
        return loaded.predict_set(X, 0.8), told

    for found, told in run_ranks(3, body):
        np.testing.assert_array_equal(found.indptr, sets.indptr)
        np.testing.assert_array_equal(found.indices, sets.indices)
        assert told == report.as_dict()
    kept = load_model(tmp_path / "again").calibration_.nonconformity
    np.testing.assert_array_equal(kept, model.calibration_.nonconformity)
