"""MulticlassSVC as a citizen of scikit-learn: contract, inputs, errors, interruption, silence."""

import pickle
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from tests.reference.ww import box_of, dense, weights_of, with_intercept, ww_primal


def expected_failures(estimator):
    """Checks that the exact optimum itself fails, or that cannot read a sparse ``coef_``."""
    precision = (
        "compares decision values to 1e-7, which takes a duality gap of about 1e-14; "
        "the tests of the optimum check the equivalence there instead"
    )
    failures = {
        "check_sample_weight_equivalence_on_dense_data": precision,
        "check_sample_weight_equivalence_on_sparse_data": precision,
    }
    if estimator.sparse_coef is True:
        failures["check_class_weight_balanced_linear_classifier"] = "compares dense coef_ only"
    if not estimator.fit_intercept:
        failures["check_class_weight_classifiers"] = (
            "wants 87% of two overlapping blobs on one side; through the origin the exact optimum "
            "(QP of reference.py) puts 54% there"
        )
    return failures


@parametrize_with_checks(
    [
        MulticlassSVC(),
        MulticlassSVC(C=10.0, tol=1e-5, n_jobs=2, sparse_coef=True),
        MulticlassSVC(stopping="violation", sparse_coef=False),
        MulticlassSVC(fit_intercept=False),
        MulticlassSVC("cs", stopping="violation", sparse_coef=False),
        MulticlassSVC(class_weight="balanced", intercept_scaling=10.0, warm_start=True),
        *(MulticlassSVC(name) for name in FORMULATIONS if name != "ww"),
        *(
            MulticlassSVC(name, 10.0, tol=1e-5, n_jobs=2, sparse_coef=True, warm_start=True)
            for name in FORMULATIONS
            if name != "ww"
        ),
        MulticlassSVC("ovr", loss="squared_hinge"),
        # These are slow on data that is not scaled: what is checked here is not how far they come.
        MulticlassSVC("llw", solver="alternating", max_iter=500),
        MulticlassSVC("llw", solver="extrapolated", n_reductions=3, max_iter=500),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Overlapping classes: 240 x 15, six labels, about a third of the entries non-zero."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(6), rng.integers(6, size=234)])
    X = rng.standard_normal((240, 15)) + 1.2 * rng.standard_normal((6, 15))[y]
    return X * (rng.random(X.shape) < 0.35), y


@pytest.fixture(scope="module")
def fitted(data):
    return MulticlassSVC(random_state=0).fit(*data)


def test_defaults():
    assert MulticlassSVC().get_params() == {
        "formulation": "ww",
        "C": 1.0,
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


def int64_indices(X):
    X = scipy.sparse.csr_array(X)
    return scipy.sparse.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


def unsorted_indices(X):
    X = scipy.sparse.csr_array(X)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1].copy()
        X.data[start:end] = X.data[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def repeated_entries(X):
    """Each value as two halves in the same place, which a sparse matrix adds up."""
    X = scipy.sparse.coo_array(X)
    halves = np.concatenate([X.data, X.data]) / 2
    places = (np.concatenate([X.row, X.row]), np.concatenate([X.col, X.col]))
    return scipy.sparse.coo_array((halves, places), shape=X.shape)


def explicit_zeros(X):
    rows, columns = np.indices(X.shape)
    return scipy.sparse.csr_array((X.ravel(), (rows.ravel(), columns.ravel())), shape=X.shape)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.tolist(),
        scipy.sparse.csr_matrix,
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
        scipy.sparse.coo_matrix,
        int64_indices,
        unsorted_indices,
        repeated_entries,
        explicit_zeros,
    ],
)
def test_every_form_of_input_gives_the_same_model(data, fitted, convert):
    X, y = data
    other = convert(X)
    model = MulticlassSVC(random_state=0).fit(other, y)
    primal = ww_primal(weights_of(model), with_intercept(X), y, box_of(y, 1.0))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert primal == pytest.approx(fitted.primal_objective_, rel=2 * model.tol)
    np.testing.assert_allclose(model.decision_function(other), model.decision_function(X))


def test_float32_and_integers(data, fitted):
    X, y = data
    single = MulticlassSVC(random_state=0).fit(X.astype(np.float32), y)
    assert single.primal_objective_ == pytest.approx(fitted.primal_objective_, rel=0.025)
    counts = np.round(3 * np.abs(X)).astype(int)
    whole, real = (
        MulticlassSVC(random_state=0).fit(Z, y) for Z in [counts, counts.astype(np.float64)]
    )
    np.testing.assert_array_equal(dense(whole.coef_), dense(real.coef_))


@pytest.mark.parametrize("make", [lambda X: X, scipy.sparse.csr_array, unsorted_indices])
@pytest.mark.parametrize(
    "fit_intercept", [False, True]
)  # a constant column may hide a missing copy
def test_input_is_not_modified(data, make, fit_intercept):
    X, y = make(data[0].copy()), data[1].copy()
    weight = np.ones(len(y))
    arrays = [y, weight] + ([X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr])
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    model = MulticlassSVC(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    model.predict(X)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_mapped_arrays(tmp_path, data, dtype):
    X, y = scipy.sparse.csr_array(data[0].astype(dtype)), data[1]
    mapped = []
    for name in ["data", "indices", "indptr"]:
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    lazy = scipy.sparse.csr_array(tuple(mapped), shape=X.shape, copy=False)
    assert np.shares_memory(lazy.data, mapped[0]), "the test's own matrix must not be a copy"
    one, two = (MulticlassSVC(random_state=0).fit(Z, y) for Z in [X, lazy])
    np.testing.assert_array_equal(dense(one.coef_), dense(two.coef_))
    np.testing.assert_array_equal(one.predict(X), two.predict(lazy))


@pytest.mark.parametrize("sparse_coef", [True, False])
def test_pickle_and_clone(data, sparse_coef):
    X, y = data
    model = MulticlassSVC(C=2.0, sparse_coef=sparse_coef, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert copy.get_params() == model.get_params()
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "coef_")


def test_pipeline_with_text():
    texts = ["red apple", "green apple", "fast car", "slow red car", "blue sea", "deep sea", ""]
    y = ["fruit", "fruit", "road", "road", "water", "water", "water"]
    model = make_pipeline(TfidfVectorizer(), MulticlassSVC(C=10.0)).fit(texts, y)
    assert list(model.predict(["apple", "car", "sea"])) == ["fruit", "road", "water"]


def test_grid_search(data):
    grid = {"C": [1e-4, 1.0], "stopping": ["gap", "violation"]}
    search = GridSearchCV(MulticlassSVC(random_state=0), grid, cv=3, n_jobs=2).fit(*data)
    assert search.best_params_["C"] == 1.0
    assert search.best_score_ > 0.5
    assert search.predict(data[0]).shape == (240,)


def test_calibration(data):
    X, y = data
    model = CalibratedClassifierCV(MulticlassSVC(random_state=0), cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.6


def test_data_frame(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(15)])
    model = MulticlassSVC(random_state=0).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


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
        primal = ww_primal(weights_of(warm), with_intercept(X), y, box_of(y, C))
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


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], None, "NaN"),
        ([[1.0], [np.inf]], [0, 1], None, "infinity"),
        (scipy.sparse.csr_array([[1.0], [np.nan]]), [0, 1], None, "NaN"),
        ([[1.0], [2.0]], [0, 0], None, r"(?i)class"),
        ([[1.0], [2.0]], [0, 1, 1], None, r"(?i)inconsistent|length|samples"),
        (np.empty((0, 3)), [], None, r"(?i)sample|empty"),
        (np.empty((2, 0)), [0, 1], None, r"(?i)feature"),
        ([1.0, 2.0], [0, 1], None, r"(?i)2D|reshape"),
        ([[1.0], [2.0]], [0.5, 1.5], None, r"(?i)label|continuous"),
        ([[1.0], [2.0]], [0, np.nan], None, "NaN"),
        ([[1.0], [2.0]], [0, 1], [1.0, -1.0], r"(?i)negative.*weight|weight.*negative"),
        ([[1.0], [2.0]], [0, 1], [0.0, 0.0], r"(?i)weight"),
        ([[1.0], [2.0]], [0, 1], [1.0, np.nan], r"(?i)weight.*NaN|NaN.*weight"),
        ([[1.0], [2.0]], [0, 1], [1.0, 1.0, 1.0], r"(?i)weight"),
    ],
)
def test_bad_data_is_refused(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC().fit(X, y, sample_weight=weight)


def test_bad_prediction_input(data, fitted):
    X, _ = data
    for method in [fitted.predict, fitted.decision_function, lambda Z: fitted.predict_topk(Z, 2)]:
        with pytest.raises(ValueError, match="15"):
            method(X[:, :7])
        with pytest.raises(ValueError, match="NaN"):
            method(np.full((2, 15), np.nan))


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
    primal = ww_primal(weights_of(model), with_intercept(X), y, box_of(y, 100.0))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-3)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert set(model.predict(X)) <= set(y)


def test_time_limit_is_kept():
    rng = np.random.default_rng(1)
    X = scipy.sparse.random_array((6000, 4000), density=0.005, rng=rng, format="csr")
    y = rng.integers(300, size=6000)
    started = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        MulticlassSVC(C=10.0, tol=1e-12, max_iter=10**6, time_limit=1.0).fit(X, y)
    assert time.monotonic() - started < 4.0


def test_converged_fits_do_not_warn(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MulticlassSVC(time_limit=600.0).fit(*data)


INTERRUPTED = """
import time, warnings
import numpy as np, scipy.sparse
from multimargin import MulticlassSVC
rng = np.random.default_rng(0)
X = scipy.sparse.random_array((20000, 10000), density=0.004, rng=rng, format="csr")
y = rng.integers(1000, size=20000)
try:
    print("fitting", flush=True)
    MulticlassSVC(C=10.0, tol=1e-12, max_iter=10**6, n_jobs=2, time_limit=60.0).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one child on Windows")
@pytest.mark.parametrize("wait", [0.2, 2.5])
def test_keyboard_interrupt_ends_a_fit(wait):
    """Random labels at C = 10 keep the solver busy far beyond the moment of the signal."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "fitting\n"
            time.sleep(wait)
            sent = time.time()
            child.send_signal(signal.SIGINT)
            answer, _ = child.communicate(timeout=30.0)
        finally:
            child.kill()
    word, _, moment = answer.partition(" ")
    assert word == "interrupted", f"the fit ended otherwise: {answer!r}"
    assert float(moment) - sent < 2.0


def test_verbose_draws_on_stderr_alone(data, capfd):
    MulticlassSVC(verbose=1, tol=1e-6, max_iter=100_000).fit(*data)
    out, err = capfd.readouterr()
    assert out == ""
    assert "\r" in err, "a progress bar redraws its line"


def test_silent_by_default(data, capfd):
    MulticlassSVC(tol=1e-6, max_iter=100_000).fit(*data)
    assert capfd.readouterr() == ("", "")
