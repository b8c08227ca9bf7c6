"""MulticlassSVC: defaults, predictions, warm starts, errors, warnings and silence."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from multimargin import MulticlassSVC
from tests.reference.cs import cs_primal
from tests.reference.ww import box_of, dense, weights_of, with_intercept


@pytest.mark.parametrize(
    ("formulation", "loss", "C"),
    [("cs", "hinge", 1), ("ww", "hinge", 0.5), ("ovr", "hinge", 2), ("ovr", "squared_hinge", 1)],
)
def test_a_formulation_has_a_penalty_of_its_own(formulation, loss, C):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    usual = MulticlassSVC(formulation, loss=loss, random_state=0).fit(X, y)
    given = MulticlassSVC(formulation, C, loss=loss, random_state=0).fit(X, y)
    other = MulticlassSVC(formulation, 3 * C, loss=loss, random_state=0).fit(X, y)
    assert usual.coef_.tobytes() == given.coef_.tobytes() != other.coef_.tobytes()
    assert usual.certify(X, y).primal == given.certify(X, y).primal
    assert usual.get_params()["C"] is None


def test_defaults():
    assert MulticlassSVC().get_params() == {
        "formulation": "cs",
        "C": None,
        "loss": "hinge",
        "solver": "auto",
        "n_reductions": 10,
        "tol": 0.01,
        "stopping": "gap",
        "max_iter": 10_000,
        "fit_intercept": True,
        "intercept_scaling": 1.0,
        "class_weight": None,
        "n_jobs": None,
        "warm_start": False,
        "sparse_coef": "auto",
        "random_state": None,
        "verbose": 0,
        "time_limit": None,
        "n_bundles": None,
        "shrinking": True,
        "calibration": None,
        "label_cost": None,
    }
    with pytest.raises(TypeError):
        MulticlassSVC("ww", 1.0, 0.1)  # all but the first two are keywords


def test_shapes_and_predictions(data, fitted):
    X, y = data
    assert fitted.coef_.shape == (6, 15)
    assert np.shape(fitted.intercept_) == (6,)
    np.testing.assert_array_equal(fitted.classes_, np.arange(6))
    assert fitted.n_features_in_ == 15
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores, X @ dense(fitted.coef_).T + fitted.intercept_, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[scores.argmax(axis=1)])
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y) > 0.6
    np.testing.assert_array_equal(fitted.predict(scipy.sparse.csr_array(X)), fitted.predict(X))


def test_string_labels(data):
    X, y = data
    names = np.array(["zebra", "ant", "mole", "Ω", "dog", "bee"])
    model = MulticlassSVC(random_state=0).fit(X, names[y])
    np.testing.assert_array_equal(model.classes_, np.sort(names))
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names[y]) > 0.6


def test_two_string_labels(data):
    X, y = data
    names = np.where(y < 3, "low", "high")
    model = MulticlassSVC().fit(X, names)
    positive = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X), np.where(positive, "low", "high"))


@pytest.mark.parametrize("k", [1, 3, 6])
def test_topk(data, fitted, k):
    X, _ = data
    labels, scores = fitted.predict_topk(X, k)
    assert labels.shape == scores.shape == (len(X), k)
    np.testing.assert_array_equal(labels[:, 0], fitted.predict(X))
    assert np.all(np.diff(scores, axis=1) <= 0)
    everything = fitted.decision_function(X)
    np.testing.assert_allclose(scores, -np.sort(-everything, axis=1)[:, :k], atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(everything, labels, axis=1), scores, atol=1e-9)


def test_topk_with_two_classes(data):
    X, y = data
    model = MulticlassSVC().fit(X, y % 2)
    labels, scores = model.predict_topk(X, 2)
    np.testing.assert_array_equal(labels[:, 0], model.predict(X))
    np.testing.assert_array_equal(labels[:, 1], 1 - labels[:, 0])
    assert np.all(scores[:, 0] >= scores[:, 1])


@pytest.mark.parametrize("k", [0, -1, 7])
def test_topk_refuses_other_k(data, fitted, k):
    with pytest.raises(ValueError, match=r"(?s)k.*6|6.*k"):
        fitted.predict_topk(data[0], k)


def test_sparse_and_dense_coefficients(data):
    X, y = data
    thin, thick = (
        MulticlassSVC(sparse_coef=sparse, fit_intercept=False, random_state=0).fit(X, y)
        for sparse in [True, False]
    )
    assert scipy.sparse.issparse(thin.coef_)
    assert isinstance(thick.coef_, np.ndarray)
    np.testing.assert_array_equal(dense(thin.coef_), thick.coef_)
    assert thin.model_density_ == pytest.approx(np.mean(thick.coef_ != 0))
    scores = thick.decision_function(X)
    for model in [thin, clone(thin).fit(X, y).densify(), clone(thick).fit(X, y).sparsify()]:
        np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), thick.predict(X))
        np.testing.assert_array_equal(model.predict_topk(X, 2)[0], thick.predict_topk(X, 2)[0])
    assert isinstance(clone(thin).fit(X, y).densify().coef_, np.ndarray)
    assert scipy.sparse.issparse(clone(thick).fit(X, y).sparsify().coef_)


@pytest.mark.parametrize("path", [[0.1, 0.2, 0.4, 0.8, 1.6], [1.6, 0.8, 0.4, 0.2, 0.1]])
def test_warm_start_along_a_path(data, path):
    X, y = data
    warm = MulticlassSVC(warm_start=True, random_state=0)
    warm_iterations = cold_iterations = 0
    for C in path:
        warm.set_params(C=C).fit(X, y)
        cold = MulticlassSVC(C=C, random_state=0).fit(X, y)
        assert warm.converged_
        assert warm.dual_gap_ <= warm.tol
        # Each primal is at least the optimum and each dual at most.
        assert warm.dual_objective_ <= cold.primal_objective_ * (1.0 + 1e-9)
        assert cold.dual_objective_ <= warm.primal_objective_ * (1.0 + 1e-9)
        primal = cs_primal(weights_of(warm), with_intercept(X), y, box_of(y, C))
        assert warm.primal_objective_ == pytest.approx(primal, rel=1e-9)
        warm_iterations += warm.n_iter_
        cold_iterations += cold.n_iter_
    assert warm_iterations < cold_iterations


def test_warm_start_from_the_solution_has_nothing_to_do(data):
    model = MulticlassSVC(warm_start=True, tol=1e-4, random_state=0).fit(*data)
    cold, before = model.n_iter_, model.primal_objective_
    model.fit(*data)
    assert model.converged_
    assert model.n_iter_ <= 1 < cold
    assert model.primal_objective_ == pytest.approx(before, rel=1e-9)


def test_without_warm_start_fits_are_independent(data):
    X, y = data
    model = MulticlassSVC(random_state=0).fit(X, y)
    first = dense(model.coef_).copy()
    model.set_params(C=5.0).fit(X, y)
    model.set_params(C=1.0).fit(X, y)
    np.testing.assert_array_equal(dense(model.coef_), first)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"C": 0.0}, ["C", "0"]),
        ({"C": -2.5}, ["C", "-2.5"]),
        ({"C": np.nan}, ["C", "nan"]),
        ({"C": "big"}, ["C", "big"]),
        ({"tol": 0.0}, ["tol", "0"]),
        ({"tol": -1e-3}, ["tol", "-0.001"]),
        ({"max_iter": 0}, ["max_iter", "0"]),
        ({"n_jobs": 0}, ["n_jobs", "0"]),
        ({"intercept_scaling": 0.0}, ["intercept_scaling", "0"]),
        ({"intercept_scaling": -1.0}, ["intercept_scaling", "-1"]),
        ({"formulation": "wwx"}, ["formulation", "wwx", "'ww'"]),
        ({"stopping": "soon"}, ["stopping", "soon", "gap", "violation"]),
        ({"sparse_coef": "maybe"}, ["sparse_coef", "maybe", "auto"]),
        ({"time_limit": -1.0}, ["time_limit", "-1"]),
        ({"class_weight": "heavy"}, ["class_weight", "heavy", "balanced"]),
    ],
)
def test_bad_parameters_are_named(data, params, named):
    """Errors say which parameter, what was given and what is allowed."""
    with pytest.raises((ValueError, TypeError)) as error:
        MulticlassSVC(**params).fit(*data)
    for word in named:
        assert word in str(error.value)


def test_not_fitted(data):
    X, _ = data
    model = MulticlassSVC()
    calls = [model.predict, model.decision_function, lambda Z: model.predict_topk(Z, 1)]
    for call in [*calls, lambda Z: model.sparsify(), lambda Z: model.densify()]:
        with pytest.raises(NotFittedError):
            call(X)


def numbers_in(text):
    """The numbers in a message, percentages as fractions."""
    found = re.findall(r"(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*(%?)", text)
    return np.array([float(number) / (100 if percent else 1) for number, percent in found])


@pytest.mark.parametrize("limit", [{"time_limit": 1e-6}, {"max_iter": 1}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stopped_early_warns_with_the_gap_and_leaves_a_model(data, limit, dtype):
    X, y = data[0].astype(dtype), data[1]
    model = MulticlassSVC(C=100.0, tol=1e-12, random_state=0, **limit)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    (message,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert "gap" in message
    assert "tol" in message
    assert next(iter(limit)) in message, "the message must name the remedy"
    assert not model.converged_
    assert model.dual_gap_ > model.tol
    near = np.isclose(numbers_in(message), model.dual_gap_, rtol=0.05, atol=0.0)
    assert near.any(), f"the gap {model.dual_gap_} is not in: {message}"
    primal = cs_primal(weights_of(model), with_intercept(X), y, box_of(y, 100.0))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-3)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert set(model.predict(X)) <= set(y)


@pytest.mark.timeout(60)  # without the limit it would go on for hours
def test_time_limit_is_kept():
    rng = np.random.default_rng(1)
    X = scipy.sparse.random_array((6000, 4000), density=0.005, rng=rng, format="csr")
    y = rng.integers(300, size=6000)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        MulticlassSVC(C=10.0, tol=1e-12, max_iter=10**6, time_limit=0.5).fit(X, y)


def test_converged_fits_do_not_warn(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MulticlassSVC(time_limit=600.0).fit(*data)


def test_verbose_draws_on_stderr_alone(data, capfd):
    MulticlassSVC(verbose=1, tol=1e-6, max_iter=100_000).fit(*data)
    out, err = capfd.readouterr()
    assert out == ""
    assert "\r" in err, "a progress bar redraws its line"


def test_silent_by_default(data, capfd):
    MulticlassSVC(tol=1e-6, max_iter=100_000).fit(*data)
    assert capfd.readouterr() == ("", "")
