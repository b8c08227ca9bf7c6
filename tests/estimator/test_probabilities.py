"""Probabilities of MulticlassSVC and TextClassifier: calibrate, calibration=, predict_proba."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from multimargin import Calibration, MulticlassSVC, TextClassifier
from multimargin.estimator import _probabilities
from multimargin.formulations import FORMULATIONS


def blobs(n, n_classes, dtype=np.float64):
    """As many samples of each class, whose centres are near each other."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n_classes, 8))[y] + 1.2 * rng.normal(size=(n, 8))
    return X.astype(dtype), y


def folds_fail(estimator):
    why = "a repeated sample may be in two folds, a weight of two is in one"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [MulticlassSVC("ww", calibration="cv"), MulticlassSVC("ovr", calibration=0.3)],
    expected_failed_checks=folds_fail,
    xfail_strict=False,
)
def test_scikit_learn_checks_of_a_calibrated_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return blobs(240, 6)


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_plain_temperature_is_that_of_scikit_learn(name, n_classes):
    X, y = blobs(300, n_classes)
    learn, held = slice(150), slice(150, None)
    model = MulticlassSVC(name, 0.1, random_state=0).fit(X[learn], y[learn])
    before = model.coef_.copy()
    model.calibrate(X[held], y[held], method="temperature")
    np.testing.assert_array_equal(model.coef_, before)
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature", ensemble=False)
    theirs.fit(X[held], y[held])
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-6)
    auto = model.calibrate(X[held], y[held]).calibration_
    assert auto.log_loss <= log_loss(y[held], p[held]) + 5e-3
    assert auto.log_loss == pytest.approx(log_loss(y[held], model.predict_proba(X[held])))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 6, 90])
def test_all_methods_give_the_same_probabilities(n_classes, dtype):
    X, y = blobs(400, n_classes, dtype=dtype)
    model = MulticlassSVC("ww", random_state=0, calibration=0.4).fit(X, y)
    assert model.predict_proba.__doc__
    k = min(5, n_classes)
    labels, scores, p = model.predict_topk(X, k, proba=True)
    plain = model.predict_topk(X, k)
    np.testing.assert_array_equal(labels, plain[0])
    np.testing.assert_array_equal(scores, plain[1])
    whole, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert whole.dtype == p.dtype == logs.dtype == dtype
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(logs), whole, rtol=1e-5)
    own = np.searchsorted(model.classes_, labels)
    np.testing.assert_allclose(p, np.take_along_axis(whole, own, axis=1), rtol=2e-5)
    assert (np.diff(p, axis=1) <= 0).all()
    assert (whole.argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X))).all()
    sparse = model.predict_topk(sp.csr_matrix(X), k, proba=True)
    np.testing.assert_allclose(sparse[2], p, rtol=1e-6)


@pytest.mark.parametrize("calibration", ["cv", 0.25])
def test_a_calibration_at_fit_leaves_the_weights_as_they_are(data, calibration):
    X, y = data
    plain = MulticlassSVC("cs", random_state=0).fit(X, y)
    model = MulticlassSVC("cs", random_state=0, calibration=calibration)
    assert hasattr(model, "predict_proba") and not hasattr(plain, "predict_proba")
    model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    made = model.calibration_
    assert made.n_samples == (240 if calibration == "cv" else 60)
    # Samples that were trained on look easier than they are.
    assert made.temperature > plain.calibrate(X, y, method="temperature").calibration_.temperature
    assert clone(model).calibration == calibration
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    model.set_params(calibration=None, C=3.0).fit(X, y)
    assert not hasattr(model, "calibration_") and not hasattr(model, "predict_log_proba")


def test_a_warm_start_renews_it(data, capsys):
    X, y = data
    model = MulticlassSVC(random_state=0, warm_start=True, calibration=0.3, verbose=1)
    first = model.fit(X[:200], y[:200]).calibration_
    assert "calibration: model 1 of 1" in capsys.readouterr().err
    again = model.fit(X, y).calibration_
    assert model.n_known_samples_ == 200
    assert (first.n_samples, again.n_samples) == (60, 72)
    assert not hasattr(model.set_params(calibration=None).fit(X, y), "predict_proba")


def test_weights_of_the_samples(data):
    X, y = data
    model = MulticlassSVC(random_state=0).fit(X[:120], y[:120])
    weight = np.arange(120) % 3
    weighted = model.calibrate(X[120:], y[120:], weight).calibration_
    again = np.repeat(np.arange(120, 240), weight)
    repeated = model.calibrate(X[again], y[again]).calibration_
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=1e-4)
    assert weighted.n_samples == 80
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.calibrate(X, y, np.zeros(240))
    model.set_params(calibration="cv").fit(X, y, np.where(y == 0, 0, 1))
    assert model.predict_proba(X[:2]).shape == (2, 5)


def test_texts():
    rng = np.random.default_rng(0)
    words = ["sea", "dog", "sun"]
    y = rng.integers(0, 3, 90)
    texts = [f"{words[k if rng.random() < 0.8 else 0]} w{rng.integers(9)}" for k in y]
    model = TextClassifier(random_state=0, calibration="cv").fit(texts, y)
    assert 0.5 < model.predict_proba(["the dog"])[0, 1] < 1
    assert model.calibrate(texts[:30], y[:30]).calibration_.n_samples == 30
    table = {"t": texts, "x": rng.normal(size=90)}
    by_column = TextClassifier(text="t", numeric="x", random_state=0, calibration=0.3).fit(table, y)
    assert by_column.predict_topk(table, 1, proba=True)[2].shape == (90, 1)


def test_refused(data, monkeypatch):
    X, y = data
    with pytest.raises(NotFittedError):
        MulticlassSVC().calibrate(X, y)
    for wrong in (2, 0.0, 1, True, "folds", [0.5], float("nan")):
        with pytest.raises(ValueError, match="calibration must be None, 'cv' or a share"):
            MulticlassSVC(calibration=wrong).fit(X, y)
    model = MulticlassSVC(random_state=0).fit(X[y < 5], y[y < 5])
    with pytest.raises(AttributeError, match=r"calibrate\(X, y\)"):
        model.predict_topk(X, 2, proba=True)
    for args, words in (
        ((X, y), r"1 label that the model does not know, such as 5, in 40 of 240"),
        ((X[y == 1], y[y == 1]), "at least 2 classes, but y has one class"),
        ((X[:0], y[:0]), "0 sample"),
        ((X[:9], y[:8]), "9 calibration samples but 8 labels"),
        ((X[:5, :2], y[:5]), "2 features"),
        ((np.full_like(X[:5], np.nan), y[:5]), "NaN"),
        ((X[:5], y[:5], -np.ones(5)), "[Nn]egative"),
    ):
        with pytest.raises(ValueError, match=words):
            model.calibrate(*args)
    with pytest.raises(ValueError, match="method must be"):
        model.calibrate(X, y, method="isotonic")
    assert not hasattr(model, "calibration_")
    with pytest.raises(ValueError, match="folds=5 is too many"):
        MulticlassSVC(calibration="cv").fit(X[:4], [0, 0, 1, 1])
    model.calibration_ = Calibration(1.0)
    monkeypatch.setattr(_probabilities, "available", lambda: 10_000)
    with pytest.raises(ValueError, match=r"predict_topk\(X, k, proba=True\)"):
        model.predict_proba(np.vstack([X] * 10))
