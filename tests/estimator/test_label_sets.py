"""Samples with several labels: each label is a binary problem of its own, solved exactly."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from multimargin import (
    MulticlassSVC,
    TextClassifier,
    load_model,
    prune,
    pruning_costs,
    save_model,
    tune,
)
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import class_report, margins, support_set
from multimargin.solvers.ovr._solver import OvrSolver
from tests.reference.ovr import ovr_primal, ovr_weights_of, solve_ovr_qp

EXACT = {"tol": 1e-9, "random_state": 0, "max_iter": 100_000}


def some_data(n=60, d=12, k=5, seed=0, density=0.4, dtype=np.float64):
    """Sparse samples, and an indicator matrix in which samples have from no label to all."""
    random = np.random.default_rng(seed)
    X = sp.random(n, d, density, "csr", dtype=dtype, random_state=seed)
    Y = (X @ random.standard_normal((d, k)) + 0.5 * random.standard_normal((n, k)) > 0.4).astype(
        int
    )
    Y[0], Y[1] = 0, 1
    return X, Y


def lists_of(Y, names="abcdefghijklmnop"):
    return [[names[c] for c in np.flatnonzero(row)] for row in Y]


def coef_bytes(model):
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return coef.tobytes() + model.intercept_.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dense", [True, False])
def test_equals_a_binary_fit_for_each_label(loss, intercept, dense):
    X, Y = some_data()
    X = X.toarray() if dense else X
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(Y))
    options = {"loss": loss, "fit_intercept": intercept, **EXACT}
    model = MulticlassSVC("ovr", 3.0, **options).fit(X, Y, weight)
    assert (model.multilabel_, model.coef_.shape) == ("dense", (5, 12))
    total = 0.0
    for place in range(5):
        one = MulticlassSVC("ovr", 3.0, **options).fit(X, Y[:, place], weight)
        total += one.primal_objective_
        np.testing.assert_allclose(model.coef_[place], one.coef_[0], atol=2e-3)
        np.testing.assert_allclose(model.intercept_[place], one.intercept_[0], atol=2e-3)
    assert model.primal_objective_ == pytest.approx(total, rel=1e-8)
    assert model.dual_objective_ <= total * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_optimum_of_a_quadratic_program(loss):
    X, Y = some_data(n=30, d=6, k=3)
    model = MulticlassSVC("ovr", 2.0, loss=loss, **EXACT).fit(X, Y)
    A = np.hstack([X.toarray(), np.ones((30, 1))])
    signs, box = 2.0 * Y - 1, np.full(30, 2.0)
    _, _, primal, dual = solve_ovr_qp(A, signs, box, loss)
    reached = ovr_primal(ovr_weights_of(model), A, signs, box, loss)
    assert reached == pytest.approx(model.primal_objective_, rel=1e-7)
    assert dual <= reached * (1 + 1e-9) and reached <= primal * (1 + 1e-7)


def test_agrees_with_scikit_learn():
    X, Y = some_data(n=200, d=30)
    model = MulticlassSVC("ovr", loss="squared_hinge", **EXACT).fit(X, Y)
    peer = OneVsRestClassifier(LinearSVC(loss="squared_hinge", tol=1e-9, max_iter=100_000)).fit(
        X, Y
    )
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.999
    assert model.classes_.tolist() == peer.classes_.tolist()


def test_one_label_per_sample_is_one_vs_rest():
    X, Y = some_data(n=100, k=4)
    y = Y.argmax(axis=1)
    single = MulticlassSVC("ovr", **EXACT).fit(X, y)
    several = MulticlassSVC("ovr", **EXACT).fit(X, [[label] for label in y])
    assert several.primal_objective_ == pytest.approx(single.primal_objective_, rel=1e-8)
    np.testing.assert_allclose(several.coef_, single.coef_, atol=1e-3)


def test_with_many_classes_one_label_per_sample_has_the_same_bits():
    X, _ = some_data(n=400, d=50)
    y = np.random.default_rng(0).permutation(np.arange(400) % 200)
    single = MulticlassSVC("ovr", random_state=0).fit(X, y)
    several = MulticlassSVC("ovr", random_state=0).fit(X, [(label,) for label in y])
    assert coef_bytes(several) == coef_bytes(single)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(many, dtype):
    X, Y = some_data(n=150, d=40, k=300 if many else 11, dtype=dtype)
    first = MulticlassSVC("ovr", random_state=0, n_jobs=1).fit(X, Y)
    assert first.dual_gap_ <= 0.01
    for threads in (2, 5):
        other = MulticlassSVC("ovr", random_state=0, n_jobs=threads).fit(X, sp.csc_matrix(Y))
        assert coef_bytes(other) == coef_bytes(first)
        assert other.predict(X).toarray().tobytes() == first.predict(X).tobytes()


def test_slow_passes_are_left_for_newton_steps():
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 40)) @ np.diag(np.geomspace(1, 1e-2, 40))
    Y = (X @ random.standard_normal((40, 3)) + 0.05 > 0).astype(int)
    Y[:9] = 1 - Y[:9]
    model = MulticlassSVC("ovr", 1e4, tol=1e-4, random_state=0).fit(X, Y)
    assert model.converged_ and model.n_iter_ < 1000
    slow = MulticlassSVC("ovr", 1e4, tol=1e-4, random_state=0, solver="passes", max_iter=1000)
    with pytest.warns(UserWarning, match="tol was not reached"):
        slow.fit(X, Y)
    assert slow.primal_objective_ >= model.dual_objective_


# ---------------------------------------------------------------- what is predicted


def test_predictions_have_the_form_of_the_labels():
    X, Y = some_data()
    model = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, Y)
    scores = model.decision_function(X)
    expected = (scores > 0).astype(int)
    found = model.predict(X)
    assert (found.shape, found.dtype.kind) == ((60, 5), "i")
    assert found.tolist() == expected.tolist()
    assert model.score(X, Y) == accuracy_score(Y, found)
    sparse = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, sp.csr_matrix(Y))
    assert sp.issparse(sparse.predict(X)) and sparse.multilabel_ == "sparse"
    assert sparse.predict(X).toarray().tolist() == expected.tolist()
    lists = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, lists_of(Y))
    assert lists.classes_.tolist() == list("abcde")
    assert lists.predict(X).tolist() == [tuple(row) for row in lists_of(expected)]
    assert lists.score(X, lists_of(Y)) == lists.score(X, Y) == model.score(X, Y)
    labels, best = lists.predict_topk(X, 3)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    assert labels.tolist() == np.array(list("abcde"))[order].tolist()
    np.testing.assert_allclose(best, np.take_along_axis(scores, order, axis=1), rtol=1e-6)


def test_many_labels_are_predicted_some_samples_at_a_time(monkeypatch):
    X, Y = some_data(n=30, k=1100)
    model = MulticlassSVC("ovr", random_state=0).fit(X, Y)
    assert model.multilabel_ == "sparse"
    whole = model.predict(X)
    monkeypatch.setattr("multimargin.models._scores._SCORES_AT_ONCE", 7 * 1100)
    parts = model.predict(X)
    assert (whole != parts).nnz == 0 and whole.nnz > 0
    assert (whole.toarray() == (model.decision_function(X) > 0)).all()


@pytest.mark.parametrize("k", [1, 2])
def test_one_label_and_two(k):
    X, Y = some_data()
    for y in (sp.csr_matrix(Y[:, :k]), lists_of(Y[:, :k])):
        model = MulticlassSVC("ovr", 10.0, warm_start=True, **EXACT).fit(X, y)
        assert (model.coef_.shape, model.intercept_.shape) == ((k, 12), (k,))
        assert model.decision_function(X).shape == (60, k)
        one = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, Y[:, 0])
        np.testing.assert_allclose(model.coef_[0], one.coef_[0], atol=2e-3)
        assert model.certify(X, y).gap < 1e-8
        assert model.predict_topk(X, k)[0].shape == (60, k)
        again = model.fit(X, y)
        assert (again.n_known_samples_, again.n_iter_) == (60, 0)


def test_labels_of_no_sample_and_of_all():
    X, Y = some_data()
    Y[:, 1], Y[:, 3] = 0, 1
    model = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, Y)
    assert model.predict(X)[:, [1, 3]].tolist() == [[0, 1]] * 60
    assert MulticlassSVC("ovr").fit(X, np.zeros((60, 3), int)).predict(X).sum() == 0


def test_weights_of_zero_leave_samples_out():
    X, Y = some_data()
    Y[:, 4] = 0
    Y[7, 4] = 1
    weight = np.ones(60)
    weight[7] = 0
    kept = np.flatnonzero(weight)
    lists = MulticlassSVC("ovr", **EXACT).fit(X, lists_of(Y), weight)
    assert lists.classes_.tolist() == list("abcd")
    rest = MulticlassSVC("ovr", **EXACT).fit(X[kept], lists_of(Y[kept]))
    assert coef_bytes(lists) == coef_bytes(rest)
    with pytest.raises(ValueError, match="no sample of positive weight has a label"):
        MulticlassSVC("ovr").fit(X, [["a"], *[[]] * 59], [0, *[1] * 59])
    matrix = MulticlassSVC("ovr", **EXACT).fit(X, Y, weight)
    assert matrix.coef_.shape[0] == 5
    assert matrix.certify(X, Y, weight).gap < 1e-8
    # A weight of two is two samples.
    twice = MulticlassSVC("ovr", **EXACT).fit(X, Y, np.full(60, 2.0))
    both = MulticlassSVC("ovr", **EXACT).fit(sp.vstack([X, X]), np.vstack([Y, Y]))
    assert twice.primal_objective_ == pytest.approx(both.primal_objective_, rel=1e-8)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_odd_sets_of_labels(data):
    n = data.draw(st.integers(2, 8))
    label = st.sampled_from(["a", "b", "c d", "ü", "x" * 70])
    y = data.draw(st.lists(st.lists(label, max_size=6), min_size=n, max_size=n))
    X = np.random.default_rng(0).standard_normal((n, 3))
    model = MulticlassSVC("ovr", random_state=0)
    if not any(y):
        with pytest.raises(ValueError, match="no sample has a label"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.dual_gap_ <= 0.01
    assert model.classes_.tolist() == sorted(set().union(*y))
    scores = model.decision_function(X)
    names = model.classes_
    assert model.predict(X).tolist() == [tuple(names[row > 0].tolist()) for row in scores]
    whole = np.mean([set(row) == set(names[s > 0]) for row, s in zip(y, scores, strict=True)])
    assert model.score(X, y) == pytest.approx(whole)


def test_unknown_labels_are_never_predicted():
    X, Y = some_data()
    model = MulticlassSVC("ovr", 100.0, **EXACT).fit(X, lists_of(Y))
    right = model.predict(X)
    assert model.score(X, right) == 1
    assert model.score(X, [(*row, "new") for row in right]) == 0
    assert model.score(X[:1], ["a"]) in (0, 1)


# ---------------------------------------------------------------- warm starts, files, inspection


def test_warm_starts_know_samples_by_their_sets():
    X, Y = some_data(n=120)
    model = MulticlassSVC("ovr", 10.0, warm_start=True, **EXACT).fit(X, lists_of(Y))
    passes = model.n_iter_
    order = np.random.default_rng(0).permutation(120)
    model.fit(X[order], lists_of(Y[order]))
    assert (model.n_known_samples_, model.dual_gap_ <= 1e-9) == (120, True)
    assert model.n_iter_ < passes
    # Other sets for some, and a new label: the same optimum as without the start.
    changed = [[*row, "new"] if k % 10 == 0 else row for k, row in enumerate(lists_of(Y))]
    model.fit(X, changed)
    fresh = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, changed)
    assert model.n_known_samples_ == 108
    assert model.primal_objective_ == pytest.approx(fresh.primal_objective_, rel=1e-8)
    # The first label gone; one label per sample; and back.
    less = [[name for name in row if name != "a"] for row in lists_of(Y)]
    for y in (less, Y.argmax(axis=1), less):
        fresh = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, y)
        assert model.fit(X, y).primal_objective_ == pytest.approx(fresh.primal_objective_, rel=1e-8)
        assert model.multilabel_ == fresh.multilabel_
    model.set_params(C=20.0).fit(X, less)
    assert model.dual_gap_ <= 1e-9


@pytest.mark.parametrize("y_form", ["lists", "dense", "sparse"])
def test_model_files(tmp_path, y_form):
    X, Y = some_data(k=2)
    y = {"lists": lists_of(Y), "dense": Y, "sparse": sp.csr_matrix(Y)}[y_form]
    model = MulticlassSVC("ovr", 10.0, warm_start=True, **EXACT).fit(X, y)
    save_model(model, tmp_path / "m", dual=True)
    loaded = load_model(tmp_path / "m", verify=True)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.multilabel_ == y_form
        assert other.score(X, y) == model.score(X, y)
        found, expected = other.predict(X), model.predict(X)
        assert type(found) is type(expected)
        assert (other.decision_function(X) == model.decision_function(X)).all()
    assert loaded.certify(X, y).gap == model.certify(X, y).gap
    assert loaded.fit(X, y).n_known_samples_ == 60


def test_certificates_ask_for_the_samples_of_training():
    X, Y = some_data()
    model = MulticlassSVC("ovr", 10.0, warm_start=True, **EXACT).fit(X, Y)
    found = model.certify(X, Y)
    assert found.dual_recomputed and abs(found.gap - model.dual_gap_) < 1e-9
    other = Y.copy()
    other[5, 2] = 1 - other[5, 2]
    with pytest.raises(ValueError, match="not the training samples: 1 of 60 are others"):
        model.certify(X, other)
    with pytest.raises(ValueError, match="4 classes"):
        model.certify(X, Y[:, :4])


def test_pruning():
    X, Y = some_data()
    model = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, lists_of(Y))
    whole, half = pruning_costs(model, X, lists_of(Y), keep=[1.0, 0.3])
    assert (whole.agreement, whole.error) == (1.0, pytest.approx(1 - model.score(X, Y)))
    pruned = prune(model, keep=0.3)
    assert half.error == pytest.approx(1 - pruned.score(X, Y))
    assert half.agreement == pytest.approx(pruned.score(X, model.predict(X)))
    kept = prune(model, max_loss=0.2, X=X, y=lists_of(Y))
    assert kept.score(X, Y) >= model.score(X, Y) - 0.2


def test_explanations_compare_two_labels():
    X, Y = some_data()
    model = MulticlassSVC("ovr", 10.0, **EXACT).fit(X, lists_of(Y))
    why = model.explain(X[0], label="b", against="d")
    scores = model.decision_function(X[:1])[0]
    assert why.difference == pytest.approx(scores[1] - scores[3])
    one = MulticlassSVC("ovr").fit(X, [row[:1] and ["a"] for row in lists_of(Y)])
    with pytest.raises(ValueError, match="this model has one"):
        one.explain(X[0])


def test_texts():
    texts = ["a red rose", "a white rose", "a red car", "nothing", "a white car"]
    y = [["flower", "red"], ["flower"], ["car", "red"], [], ["car"]]
    model = TextClassifier("ovr", 100.0, random_state=0).fit(texts, y)
    assert model.predict(texts).tolist() == [tuple(sorted(row)) for row in y]
    assert model.score(texts, y) == 1
    frame = pd.DataFrame({"text": texts, "tags": y})
    columns = TextClassifier("ovr", 100.0, text="text", random_state=0)
    assert columns.fit(frame[["text"]], frame["tags"]).score(frame[["text"]], y) == 1


# ---------------------------------------------------------------- scikit-learn, and what is refused


def test_scikit_learn_splits_and_searches():
    X, Y = some_data(n=100)
    scores = cross_val_score(MulticlassSVC("ovr", random_state=0), X, Y, scoring="f1_micro")
    assert scores.min() > 0.3
    search = GridSearchCV(MulticlassSVC("ovr", random_state=0), {"C": [0.1, 10]}, cv=3).fit(X, Y)
    assert search.best_params_["C"] in (0.1, 10)
    tags = [MulticlassSVC(name).__sklearn_tags__() for name in FORMULATIONS]
    several = [tag.classifier_tags.multi_label for tag in tags]
    assert dict(zip(FORMULATIONS, several, strict=True)) == {n: n == "ovr" for n in FORMULATIONS}


@pytest.mark.parametrize("name", sorted(set(FORMULATIONS) - {"ovr"}))
def test_other_formulations_say_why_not(name):
    X, Y = some_data()
    for y in (Y, sp.csr_matrix(Y), lists_of(Y)):
        with pytest.raises(ValueError, match="use formulation='ovr'") as error:
            MulticlassSVC(name).fit(X, y)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"class_weight": "balanced"}, [["a"], ["b"], []], "class_weight is for one label"),
        ({}, [["a"], ["b"]], "inconsistent numbers of samples"),
        ({}, [[], [], []], "no sample has a label"),
        ({}, [["a"], "b", []], r"y\[1\] is 'b'"),
        ({}, np.array([[1, 2], [1, 0], [0, 0]]), "indicator matrix of 0 and 1"),
        ({}, np.zeros((3, 2, 2)), "dim 3"),
    ],
)
def test_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC("ovr", **options).fit(np.eye(3), y)


def test_work_for_one_label_is_refused():
    X, Y = some_data()
    model = MulticlassSVC("ovr", warm_start=True, random_state=0).fit(X, Y)
    for work in (
        lambda: class_report(model, X, Y),
        lambda: margins(model, X, Y),
        lambda: support_set(model),
    ):
        with pytest.raises(ValueError, match="one label per sample"):
            work()
    with pytest.raises(ValueError, match="one label per sample"):
        tune(X, Y, formulations=["ovr"], Cs=[1.0])
    assert isinstance(model._warm_alpha.value, np.ndarray)
    assert OvrSolver.engine in model.history_[-1]["engine"]


def test_probabilities_are_for_one_label():
    X, Y = np.eye(6), [["a"], ["b"], ["a", "b"], [], ["a"], ["b"]]
    model = MulticlassSVC("ovr", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="calibrate is for one label per sample"):
        model.calibrate(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="calibration must be None"):
        MulticlassSVC("ovr", calibration=0.5).fit(X, Y)
