"""Sums of a softmax against the plain formulas, and the calibrations fitted with them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from multimargin import (
    Calibration,
    ModelFileError,
    MulticlassSVC,
    _core,
    load_model,
    prune,
    save_model,
)
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._coef import ClassRows
from multimargin.models._feature_major import FeatureMajorCache, weights_by_feature
from multimargin.models._scores import ClassScores, LinearScores
from multimargin.models.probabilities._calibration import HeldOut, fitted_calibration
from multimargin.models.probabilities._softmax import COUNT, SUM, G, Shape, sums_of, sums_of_parts

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]
SHAPES = [Shape(3.0, 0.0, 0.0), Shape(30.0, 2.0, -0.1), Shape(400.0, 0.5, 0.3)]


def problem(n_classes, dtype, n=150, d=40):
    rng = np.random.default_rng(n_classes)
    coef = sp.random(n_classes, d, 0.3, format="csr", random_state=1).astype(dtype)
    intercept = (rng.integers(0, 3, n_classes) / 4).astype(dtype)  # equal scores do occur
    X = sp.random(n, d, 0.1, format="csr", random_state=2).astype(dtype)
    return X, coef, intercept, rng.integers(0, n_classes, n).astype(np.int32)


def all_sums(scorer, X, own, shape):
    # Two classes, of which the core knows nothing, have a path of their own.
    return ClassScores(scorer, ClassRows(3, 1.0, 3)).sums(X, own, shape, ranks=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 64, 65, 300])
def test_the_sums_are_those_of_the_formulas(n_classes, dtype):
    X, coef, intercept, own = problem(n_classes, dtype)
    for isa in ISAS:
        scorer = LinearScores(coef, intercept, 1)
        scorer._isa = isa
        scores = scorer.scores(X)
        for shape in SHAPES:
            found, own_score = all_sums(scorer, X, own, shape)
            expected = sums_of(scores, shape, own)
            rtol = shape.beta * 3e-7 if dtype == np.float32 else 1e-12
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol / 10)
            np.testing.assert_array_equal(found[:, COUNT], expected[:, COUNT])
            np.testing.assert_array_equal(own_score, scores[np.arange(len(own)), own])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_of_weights_and_rows_and_any_threads_give_the_same_bits(dtype):
    X, coef, intercept, own = problem(200, dtype, n=3000)
    by_feature = FeatureMajorCache.of(coef, weights_by_feature(coef))
    shape = SHAPES[1]
    first, _ = all_sums(LinearScores(coef, intercept, 1), X, own, shape)
    for scorer, rows in (
        (LinearScores(coef, intercept, 4), X),
        (LinearScores(coef.toarray(), intercept, 2), X),
        (LinearScores(coef, intercept, 2, by_feature), X),
        (LinearScores(coef, intercept, 3), X.toarray()),
    ):
        np.testing.assert_array_equal(all_sums(scorer, rows, own, shape)[0], first)
        best, score, sums = scorer.top_with_sums(rows, 3, shape)
        np.testing.assert_array_equal(sums[:, : SUM + 1], first[:, : SUM + 1])
        plain = scorer.top(rows, 3)
        np.testing.assert_array_equal(best, plain[0])
        np.testing.assert_array_equal(score, plain[1])


def test_sums_of_parts_of_the_classes():
    X, coef, intercept, own = problem(130, np.float64)
    scores, shape = LinearScores(coef, intercept, 1).scores(X), SHAPES[1]
    parts = [LinearScores(coef[a:b], intercept[a:b], 1) for a, b in ((0, 50), (50, 130))]
    own_score = scores[np.arange(len(own)), own]
    made = [
        part.sums(X, own - np.int32(first), shape, own_score)[0]
        for part, first in zip(parts, (0, 50), strict=True)
    ]
    total = sums_of_parts(made, shape)
    expected = sums_of(scores, shape, own)
    np.testing.assert_allclose(total[:, :G], expected[:, :G], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_is_accurate(dtype):
    # Of three scores 0, -x and one far below, the sum of e g is -x exp(-x).
    x = np.linspace(0.001, 80, 4000).astype(dtype)
    X = np.column_stack([x, np.ones_like(x)])
    coef = np.array([[0, 0], [-1, 0], [0, -1e4]], dtype=dtype)
    for isa in ISAS:
        scorer = LinearScores(coef, np.zeros(3, dtype=dtype), 1)
        scorer._isa = isa
        sums, _ = scorer.sums(X, np.zeros(len(x), dtype=np.int32), Shape(1.0, 0.0, 0.0))
        exact = -x.astype(np.float64) * np.exp(-x.astype(np.float64))
        np.testing.assert_allclose(sums[:, G], exact, rtol=4 * np.finfo(dtype).eps)


def test_probabilities_are_those_of_the_formula():
    scores = np.array([[-0.3, 0.1, 2.0], [1.0, 1.0, -4.0]])
    made = Calibration(0.5, curvature=0.7, floor=0.03, origin=0.2)
    g = (scores - 0.2) / (1 + 0.7 * np.abs(scores - 0.2))
    expected = 0.97 * softmax(g / 0.5, axis=1) + 0.01
    np.testing.assert_allclose(made.probabilities(scores), expected, rtol=1e-13)
    np.testing.assert_allclose(made.probabilities(scores, logs=True), np.log(expected), rtol=1e-12)
    sums = sums_of(scores, made.shape, np.array([0, 1]))
    above = [expected[0, 1] + expected[0, 2], expected[1, 0]]
    np.testing.assert_allclose(made.above(sums, 3), above, rtol=1e-13)
    far = Calibration(1e-4).probabilities(np.array([[0.0, 1.0]]), logs=True)
    np.testing.assert_allclose(far, [[-1e4, 0.0]])


class Given:
    """Scores that are there, in place of those that a model makes."""

    def __init__(self, scores):
        self.scores = scores

    def sums(self, X, own, shape):
        return sums_of(self.scores, shape, own), self.scores[np.arange(len(own)), own]


def drawn(shape, floor, n=3000, n_classes=12):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n, n_classes)) + 0.3
    p = (1 - floor) * softmax(shape.beta * shape.values(scores), axis=1) + floor / n_classes
    own = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).astype(np.int32)
    return scores, np.minimum(own, n_classes - 1)


@pytest.mark.parametrize(("curvature", "floor"), [(0.0, 0.0), (0.6, 0.0), (0.0, 0.2), (0.8, 0.1)])
def test_the_fit_has_the_least_log_loss(curvature, floor):
    scores, own = drawn(Shape(4.0, curvature, 0.3), floor)
    weight = np.random.default_rng(1).integers(1, 4, len(own)).astype(float)
    part = HeldOut(Given(scores), None, own, weight)
    found = fitted_calibration([part], 12, 0.3, plain=False)
    assert found.curvature > 0 or curvature == 0
    assert found.floor > 0 or floor == 0

    def losses(at):
        made = Calibration(np.exp(at[0]), abs(at[1]), abs(at[2]), 0.3)
        p = made.probabilities(scores, logs=True)[np.arange(len(own)), own]
        # And of one sample more, whose class has the score 0.3.
        e = np.exp(made.shape.beta * made.shape.values(scores)).sum(axis=1)
        assumed = -np.log((1 - made.floor) / e + made.floor / 12)
        return -np.average(p, weights=weight), np.average(assumed, weights=weight) / weight.sum()

    def loss(at):
        return sum(losses(at))

    at = np.log(found.temperature), found.curvature, found.floor
    assert losses(at)[0] == pytest.approx(found.log_loss, rel=1e-9)
    free = np.array([1.0, found.curvature > 0, found.floor > 0])
    best = minimize(lambda step: loss(at + step * free), np.zeros(3), method="Nelder-Mead")
    assert loss(at) <= best.fun * (1 + 2e-6)
    repeated = np.repeat(np.arange(len(own)), weight.astype(int))
    again = HeldOut(Given(scores[repeated]), None, own[repeated], np.ones(len(repeated)))
    same = fitted_calibration([again], 12, 0.3, plain=False)
    assert same.temperature == pytest.approx(found.temperature, rel=1e-6)


def test_where_all_samples_are_right_no_probability_is_one():
    scores = np.zeros((50, 4))
    scores[np.arange(50), np.arange(50) % 4] = 1
    part = HeldOut(Given(scores), None, (np.arange(50) % 4).astype(np.int32), np.ones(50))
    found = fitted_calibration([part], 4, 0.25, plain=False)
    assert (found.curvature, found.floor) == (0, 0)
    # Where all samples score alike: one mistake in about so many.
    assert 0.97 < found.probabilities(scores).max() < 0.995


def test_a_plain_temperature_is_the_minimum_whatever_its_scale():
    scores, own = drawn(Shape(4.0, 0.8, 0.0), 0.1)
    for scale in (1e-3, 1.0, 300.0):
        part = HeldOut(Given(scale * scores), None, own, np.ones(len(own)))
        found = fitted_calibration([part], 12, 0.0, plain=True)
        assert (found.curvature, found.floor) == (0, 0)
        p = softmax(scale * scores / found.temperature, axis=1)
        # At the minimum the mean own score is the expected one.
        gap = (p * scores).sum(axis=1) - scores[np.arange(len(own)), own]
        assert abs(gap.mean()) < 1e-6
        assert found.log_loss == pytest.approx(
            -log_softmax(scale * scores / found.temperature, axis=1)[
                np.arange(len(own)), own
            ].mean()
        )


@pytest.fixture
def calibrated():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = (rng.normal(size=(4, 6))[y] + rng.normal(size=(200, 6))).astype(np.float32)
    return MulticlassSVC(random_state=0).fit(X, y).calibrate(X, y), X, y


@pytest.mark.parametrize("weights", [None, "float16"])
def test_model_files_keep_it(calibrated, tmp_path, weights):
    model, X, y = calibrated
    save_model(model, tmp_path / "m", weights=weights)
    loaded = load_model(tmp_path / "m", verify=True)
    assert loaded.calibration_ == model.calibration_
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=5e-3)
    # Weights by feature, after a few calls.
    for _ in range(5):
        p = loaded.predict_topk(X[:3], 2, proba=True)[2]
    np.testing.assert_allclose(p, -np.sort(-loaded.predict_proba(X[:3]))[:, :2], rtol=1e-5)
    assert not hasattr(loaded.fit(X, y), "calibration_")
    save_model(loaded, tmp_path / "m")
    assert not hasattr(load_model(tmp_path / "m"), "predict_proba")


def test_files_with_a_wrong_one_are_refused(calibrated, tmp_path):
    save_model(calibrated[0], tmp_path / "m")
    meta, arrays = read_arrays(tmp_path / "m")
    del arrays["calibration.nonconformity"]
    for wrong in ({"temperature": -1.0}, {}, {"temperature": 1.0, "floor": "x"}):
        write_arrays(tmp_path / "n", meta | {"calibration": wrong}, arrays)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "n")
    write_arrays(tmp_path / "n", meta | {"calibration": {"temperature": 2.0, "later": 1}}, arrays)
    assert load_model(tmp_path / "n").calibration_ == Calibration(2.0)


def test_pruned_models_have_a_stale_one(calibrated):
    model, X, y = calibrated
    with pytest.warns(UserWarning, match=r"calibrate\(X, y\) renews them"):
        small = prune(model, keep=0.5)
    assert small.calibration_ == replace(model.calibration_, stale=True)
    assert not model.calibration_.stale
    assert not small.calibrate(X, y).calibration_.stale
