"""Paths over C: each model is the one that a fit by itself finds."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import multimargin
from multimargin import MulticlassSVC, TextClassifier, path
from multimargin.datasets import make_hierarchical_text
from multimargin.formulations import FORMULATIONS
from multimargin.selection import default_penalties
from multimargin.selection._warm_fits import WarmFits
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, DenseAlpha

# With scores that sum to zero a larger C is needed, above all where the worst class alone counts.
CS = {
    name: [0.1, 1, 10] if not facts.centred else [1, 3, 10] if facts.separable else [10, 30, 100]
    for name, facts in FORMULATIONS.items()
}


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_text(400, 500, 70, random_state=0)
    return X[:300].astype(np.float64), y[:300], X[300:].astype(np.float64), y[300:]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_path_equals_cold_fits(data, formulation, loss):
    if loss not in FORMULATIONS[formulation].offered_losses:
        pytest.skip("this formulation has no such loss")
    X, y, X_test, _ = data
    tol = 1e-5
    asked = {"formulation": formulation, "loss": loss, "tol": tol, "random_state": 0}
    found = path(X, y, CS[formulation], **asked)
    assert [point.C for point in found] == sorted(CS[formulation])
    for point in found:
        cold = MulticlassSVC(C=point.C, **asked).fit(X, y)
        assert point.converged and point.gap <= tol
        assert point.objective == pytest.approx(cold.primal_objective_, rel=2 * tol)
        assert point.model.C == point.C and point.model.get_params() == cold.get_params()
        scores, expected = point.model.decision_function(X_test), cold.decision_function(X_test)
        np.testing.assert_allclose(scores, expected, atol=0.05)
        clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 0.1
        same = point.model.predict(X_test) == cold.predict(X_test)
        assert clear.any() and same[clear].all()


def test_warm_starts_take_fewer_passes_and_the_start_is_feasible(data):
    X, y, *_ = data
    Cs = (0.5, 1.0, 2.0)
    fits = WarmFits(MulticlassSVC("ww", tol=1e-3, random_state=0), X, y)
    warm = [fit.solution.passes for fit in fits.along(Cs)]
    cold = [fit.solution.passes for fit in fits.along(Cs, warm=False)]
    assert warm[0] == cold[0] and sum(warm[1:]) < sum(cold[1:])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_what_a_larger_box_is_started_from(data, formulation):
    """Feasible, no worse than before, and at the bound where everything was."""
    X, y, *_ = data
    fits = WarmFits(MulticlassSVC(formulation, tol=1e-3, random_state=0), X, y)
    small, large = fits.along((1.0, 3.0))
    alpha, problem = small.solution.alpha, large.model
    assert isinstance(alpha, (Alpha, DenseAlpha)) and alpha.norm2 is not None
    box = np.full(len(y), 3.0)
    values = alpha.scaled_to(boxed(formulation, box, X, y))
    assert values.min() >= 0
    if formulation == "cs":
        others = values.copy()
        others[alpha.slot_begin[:-1]] = 0
        assert np.add.reduceat(others, alpha.slot_begin[:-1]).max() <= 3 * (1 + 1e-9)
    elif formulation == "ww":
        own = np.zeros(len(values), bool)
        own[alpha.slot_begin[:-1]] = True
        assert values[~own].max() <= 3
    else:
        used = values.max(axis=1) if FORMULATIONS[formulation].separable else values.sum(axis=1)
        assert used.max() <= 3 * (1 + 1e-9)
    assert problem.converged_


def boxed(formulation, box, X, y, loss="hinge"):
    """The problem of these samples with another box."""
    classes, places = np.unique(y, return_inverse=True)
    places = places.astype(np.int32)
    return Problem(as_core_csr(X), places, box, len(classes), 1.0, formulation, loss)


def test_the_norm_kept_with_the_dual_variables(data):
    X, y, *_ = data
    for formulation in FORMULATIONS:
        model = MulticlassSVC(formulation, warm_start=True, random_state=0, tol=1e-4).fit(X, y)
        W = np.hstack([np.asarray(model.coef_), model.intercept_[:, None]])
        assert np.sum(model._warm_alpha.norm2) == pytest.approx(np.sum(W * W), rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_own_and_other_samples_grow_as_far_as_the_dual_does(data, loss, classes):
    """No other two factors in reach make a better start of one-vs-rest."""
    X, y, *_ = data
    few = y < classes
    X, y = X[few], y[few]
    assert len(np.unique(y)) == classes
    model = MulticlassSVC("ovr", 0.02, loss=loss, warm_start=True, tol=1e-6, random_state=0)
    alpha = model.fit(X, y)._warm_alpha
    box = np.full(len(y), 0.05)
    start = alpha.scaled_to(boxed("ovr", box, X, y, loss))
    own = y[:, None] == np.arange(classes)[None, classes == 2 :]
    features = np.hstack([X.toarray(), np.ones((len(y), 1))])

    def dual(values):
        W = features.T @ np.where(own, values, -values)
        lost = 0.0 if loss == "hinge" else values**2 / (4 * box[:, None])
        return (values - lost).sum(axis=0) - np.sum(W * W, axis=0) / 2

    best = dual(start)
    for t in np.linspace(1, 2.5, 7):
        for s in np.linspace(1, 2.5, 7):
            assert np.all(dual(alpha.value * np.where(own, t, s)) <= best + 1e-9 * np.abs(best))


def test_order_of_the_values_does_not_matter(data):
    X, y, *_ = data
    up = path(X, y, [0.1, 1.0, 4.0], random_state=0)
    down = path(X, y, np.array([4.0, 0.1, 1.0]), random_state=0)
    assert [p.C for p in down] == [0.1, 1.0, 4.0]
    for one, other in zip(up, down, strict=True):
        np.testing.assert_array_equal(one.model.coef_, other.model.coef_)


def test_sample_weights_are_repetitions(data):
    X, y, *_ = data
    weight = np.resize([1, 2, 0, 1], len(y))
    weighted = path(X, y, [0.3, 3], sample_weight=weight, tol=1e-5, random_state=0)
    repeated = path(np.repeat(X.toarray(), weight, 0), np.repeat(y, weight), [0.3, 3], tol=1e-5)
    for one, other in zip(weighted, repeated, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=3e-5)


def test_class_weights_and_two_classes(data):
    X, y, *_ = data
    two = y < np.median(y)
    found = path(X, two, [0.1, 1], class_weight="balanced", tol=1e-4, random_state=0)
    cold = MulticlassSVC(C=1, class_weight="balanced", tol=1e-4, random_state=0).fit(X, two)
    assert found[1].model.coef_.shape == (1, X.shape[1])
    assert found[1].objective == pytest.approx(cold.primal_objective_, rel=2e-4)


def test_validation_measures_and_what_is_kept(data):
    X, y, X_test, y_test = data
    found = path(X, y, [0.01, 1, 10], validation=(X_test, y_test), random_state=0, top_k=3)
    best = found.best()
    assert [point.model is not None for point in found] == [point is best for point in found]
    error = np.mean(best.model.predict(X_test) != y_test)
    assert best.measures["error"] == pytest.approx(error)
    assert best.measures["top_k"] == 3
    assert best.measures["error"] == min(found.as_dict()["error"])
    assert found.best("top-k").measures["top_k_accuracy"] == max(found.as_dict()["top_k_accuracy"])
    assert len(found.rows()) == len(found) == 3 and "RegularizationPath" in repr(found)
    assert found.rows()[0]["support"] > 0 and 0 < found[0].density <= 1
    none = path(X, y, [1], validation=(X_test, y_test), keep="none", random_state=0)
    assert none[0].model is None and none[0].measures is not None
    every = path(X, y, [0.1, 1], validation=(X_test, y_test), keep="all", random_state=0)
    assert all(point.model is not None for point in every)


def test_texts_are_vectorised_once(monkeypatch):
    texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in ("cat", "dog", "tree", "house")]
    labels = [text.split()[0] for text in texts]
    calls = []
    learn = TextClassifier._learned_features
    monkeypatch.setattr(
        TextClassifier, "_learned_features", lambda self, X, y: calls.append(1) or learn(self, X, y)
    )
    template = TextClassifier(random_state=0, tol=1e-4)
    found = path(texts, labels, [0.1, 10], estimator=template, validation=(texts, labels))
    assert calls == [1] and not hasattr(template, "features_")
    model = found.best().model
    assert model.predict(["a red car"]).tolist() == ["red"]
    assert "house" in model.features_.get_feature_names_out()


def test_columns_of_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    y = (frame.a > 0).to_numpy().astype(int) + (frame.b > 0)
    found = path(frame, y, [0.1, 1], random_state=0, validation=(frame, y))
    assert found.best().model.feature_names_in_.tolist() == list("abcd")


def test_defaults_depend_on_formulation_and_classes(data):
    assert default_penalties("ww", 12_582)[0] == pytest.approx(0.03)
    assert default_penalties("ww", 150)[0] == pytest.approx(10 / 150)
    assert default_penalties("ww", 3)[0] == pytest.approx(0.1)
    assert default_penalties("llw", 1_139)[0] == pytest.approx(10)
    assert default_penalties("rm", 1_139)[0] == pytest.approx(10)
    assert default_penalties("atm", 20)[0] == pytest.approx(10)
    assert default_penalties("mmr", 20)[0] == pytest.approx(0.03)
    X, y, *_ = data
    found = path(X, y, formulation="cs", tol=0.1, keep="none")
    assert [p.C for p in found] == list(default_penalties("cs", len(np.unique(y))))


def test_dense_duals_that_are_too_large_are_not_kept(data, monkeypatch):
    X, y, *_ = data
    monkeypatch.setattr("multimargin.selection._warm_fits._MOST_ALPHA_BYTES", 10)
    found = path(X, y, [0.1, 1], formulation="ovr", random_state=0)
    cold = MulticlassSVC("ovr", 1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(sp.csr_matrix(found[1].model.coef_).toarray(), cold.coef_)
    assert found[0].support is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"Cs": [0, 1]}, "positive"),
        ({"Cs": [-1.0]}, "positive"),
        ({"Cs": [np.inf]}, "finite"),
        ({"Cs": [np.nan]}, "positive"),
        ({"Cs": [1, 2, 1.0]}, "twice"),
        ({"Cs": []}, "empty"),
        ({"Cs": ["1"]}, "positive"),
        ({"formulation": "svm"}, "formulation"),
        ({"keep": "some"}, "keep"),
        ({"keep": "best"}, "validation"),
        ({"measure": "accuracy"}, "measure"),
        ({"tol": -1}, "tol"),
        ({"validation": ([[1.0, 2.0]], [1, 2])}, "validation"),
    ],
)
def test_bad_input_is_refused_with_its_reason(given, words):
    X, y = np.eye(4), np.arange(4)
    with pytest.raises(ValueError, match=words):
        path(X, y, **given)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        path(np.eye(3), [1, 1, 1], [1])
    with pytest.raises(ValueError, match="nothing to choose by"):
        path(np.eye(3), [1, 2, 3], [1]).best()


def test_a_plot_has_the_curve(data):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    X, y, X_test, y_test = data
    found = path(X, y, [0.1, 1, 10], validation=(X_test, y_test), random_state=0)
    ax = found.plot(Figure().subplots())
    assert ax.get_xscale() == "log" and ax.get_ylabel() == "error"
    assert ax.lines[0].get_ydata().tolist() == [p.measures["error"] for p in found]
    bare = path(X, y, [0.1, 1], random_state=0).plot(Figure().subplots())
    assert "weights" in bare.get_ylabel()


def test_the_package_does_not_import_matplotlib():
    code = "import sys, multimargin; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert multimargin.path is path


def test_models_of_a_path_can_be_fitted_further(data, tmp_path):
    X, y, *_ = data
    model = path(X, y, [0.1, 1], warm_start=True, random_state=0)[1].model
    multimargin.save_model(model, tmp_path / "model", dual=True)
    again = multimargin.load_model(tmp_path / "model").fit(X[:200], y[:200])
    assert again.n_known_samples_ == 200
