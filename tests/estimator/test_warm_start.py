"""Warm starts with other samples, other classes, another order."""

import copy
import io
import json
from contextlib import redirect_stderr

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import ModelFileError, MulticlassSVC, TextClassifier, load_model, save_model
from multimargin.cli import main
from multimargin.estimator._warm_start import Samples, carried_over
from multimargin.formulations import FORMULATIONS
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._sample_keys import matched, row_keys, text_keys
from multimargin.solvers._problem import Problem

FITS = [(name, loss) for name, facts in FORMULATIONS.items() for loss in facts.offered_losses]


def problem(n=150, d=40, classes=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    dense = rng.random((n, d)) * (rng.random((n, d)) < 0.15)
    dense[np.arange(n), y] += 0.5
    return sp.csr_matrix(dense), np.array([f"class {k}" for k in range(classes)])[y]


def estimator(formulation="ww", loss="hinge", **more):
    more = {"tol": 1e-4, "warm_start": True, "random_state": 0, **more}
    return MulticlassSVC(formulation, loss=loss, **more)


# ---------------------------------------------------------------- who is who


def test_keys_are_those_of_values():
    X = sp.csr_matrix(np.array([[1.5, 0, 2], [0, 0, 0], [2, 0, 1.5], [1.5, 0, 2]]))
    keys = row_keys(X)
    assert keys[0] == keys[3] and len(set(keys.tolist())) == 3
    assert np.array_equal(row_keys(X.astype(np.float32)), keys)
    stored_zero = sp.csr_matrix(([1.5, 0.0, 2.0], [0, 1, 2], [0, 3]), shape=(1, 3))
    assert row_keys(stored_zero)[0] == keys[0]


def test_keys_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    X = sp.random(50, 30, 0.3, format="csr", random_state=0)
    keys = row_keys(X)
    monkeypatch.setattr("multimargin.models._sample_keys._ENTRIES_AT_ONCE", 7)
    assert np.array_equal(row_keys(X), keys)
    assert np.array_equal(row_keys(X[7:]), keys[7:])


def test_keys_of_texts():
    keys = text_keys(["a", "b", "a", "\ud800"])
    assert keys[0] == keys[2] and len(set(keys.tolist())) == 3


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), max_size=12),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12),
)
def test_each_sample_is_matched_once(before, now):
    keys_before, labels_before = (np.array([p[k] for p in before], dtype=int) for k in (0, 1))
    keys_now, labels_now = (np.array([p[k] for p in now], dtype=int) for k in (0, 1))
    origin = matched(
        keys_before.astype(np.uint64), labels_before, keys_now.astype(np.uint64), labels_now
    )
    found = origin[origin >= 0]
    assert len(set(found.tolist())) == len(found)
    for i, o in enumerate(origin):
        assert o < 0 or before[o] == now[i]
    known = [pair for pair in before if pair[1] >= 0]
    for pair in set(now):
        expected = min(known.count(pair), now.count(pair))
        assert sum(o >= 0 and now[i] == pair for i, o in enumerate(origin)) == expected


# ---------------------------------------------------------------- exact again


@pytest.mark.parametrize(("formulation", "loss"), FITS)
@pytest.mark.parametrize("change", ["samples", "classes", "fewer classes", "two", "weights"])
def test_the_optimum_is_that_of_a_cold_fit(formulation, loss, change):
    X, y = problem()
    rng = np.random.default_rng(1)
    first, second = np.arange(120), rng.permutation(150)
    weight = None
    if change == "classes":
        first = np.flatnonzero((y != "class 0") & (y != "class 3"))
    elif change == "fewer classes":
        first, second = second, np.flatnonzero((y != "class 1") & (y != "class 5"))
    elif change == "two":
        first = np.flatnonzero((y == "class 2") | (y == "class 4"))
    elif change == "weights":
        weight = rng.integers(0, 3, len(second)).astype(float)
    model = estimator(formulation, loss).fit(X[first], y[first])
    assert model.n_known_samples_ == 0
    model.fit(X[second], y[second], weight)
    cold = estimator(formulation, loss).fit(X[second], y[second], weight)
    used = second if weight is None else second[weight > 0]
    assert model.n_known_samples_ == len(set(first) & set(used))
    assert model.converged_ and model.dual_gap_ <= 1e-4
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-4)
    assert model.classes_.tolist() == cold.classes_.tolist()
    assert np.abs(model.decision_function(X) - cold.decision_function(X)).max() < 0.05


@pytest.mark.parametrize(("formulation", "loss"), FITS)
def test_from_many_classes_to_two(formulation, loss):
    X, y = problem()
    two = np.flatnonzero((y == "class 2") | (y == "class 4"))
    model = estimator(formulation, loss).fit(X, y).fit(X[two], y[two])
    cold = estimator(formulation, loss).fit(X[two], y[two])
    assert model.n_known_samples_ == len(two)
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-4)


@pytest.mark.parametrize(("formulation", "loss"), FITS)
def test_the_same_samples_in_another_order_need_no_pass(formulation, loss):
    X, y = problem()
    order = np.random.default_rng(3).permutation(len(y))
    model = estimator(formulation, loss).fit(X, y)
    passes = model.n_iter_
    model.fit(X[order], y[order])
    assert model.n_known_samples_ == len(y)
    assert model.n_iter_ < max(2, passes / 2)


def test_features_made_anew_are_recognised_by_their_place():
    X, y = problem()
    model = estimator().fit(X, y).fit(X * 1.25, y)
    assert model.n_known_samples_ == len(y)
    assert model.converged_


def test_nothing_in_common_is_a_cold_start():
    X, y = problem()
    other, _ = problem(n=140, seed=5)
    model = estimator().fit(X, y).fit(other, np.repeat(["p", "q"], 70))
    cold = estimator().fit(other, np.repeat(["p", "q"], 70))
    assert model.n_known_samples_ == 0
    assert np.array_equal(model.coef_, cold.coef_)


def test_another_formulation_starts_anew():
    X, y = problem()
    model = estimator("ww").fit(X, y).set_params(formulation="cs").fit(X, y)
    assert model.n_known_samples_ == 0 and model.converged_


def test_it_says_how_many_it_knows():
    X, y = problem()
    model = estimator(verbose=1)
    with redirect_stderr(io.StringIO()) as said:
        model.fit(X[:100], y[:100]).fit(X, y)
    assert "100 of 150 samples are known from the last fit" in said.getvalue()


def test_texts_are_recognised_though_words_are_added():
    texts = [f"word{i % 7} word{i % 5} thing" for i in range(70)]
    y = [f"c{i % 5}" for i in range(70)]
    model = TextClassifier(warm_start=True, random_state=0).fit(texts, y)
    more, labels = ["new things entirely", *texts[::-1]], ["c1", *y[::-1]]
    model.fit(more, labels)
    assert model.n_known_samples_ == 70
    cold = TextClassifier(random_state=0).fit(more, labels)
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=0.02)


# ---------------------------------------------------------------- never worse than no start


def several_changes(change, y):
    """Samples of the first and of the second fit."""
    everything = np.arange(len(y))
    new = (y == "class 0") | (y == "class 3")
    return {
        "classes": (everything[~new], everything),
        "fewer classes": (everything, everything[~new]),
        "samples": (everything[: len(y) // 2], everything),
        "order": (everything, everything[::-1]),
    }[change]


@pytest.mark.parametrize(("formulation", "loss"), FITS)
@pytest.mark.parametrize("change", ["classes", "fewer classes", "samples", "order"])
@pytest.mark.parametrize("C", [0.05, 30.0])
def test_another_box_at_the_same_time(formulation, loss, change, C):
    X, y = problem()
    first, second = several_changes(change, y)
    model = estimator(formulation, loss, tol=1e-3).fit(X[first], y[first])
    model.set_params(C=C).fit(X[second], y[second])
    cold = estimator(formulation, loss, tol=1e-3, C=C).fit(X[second], y[second])
    assert model.n_known_samples_ == min(len(first), len(second))
    assert model.converged_ and model.dual_gap_ <= 1e-3
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-3)
    assert model.dual_objective_ <= cold.primal_objective_ * (1 + 1e-6)


@pytest.mark.parametrize("formulation", ["llw", "adm"])
def test_a_new_class_leaves_the_weights_of_the_others(formulation):
    X, y = problem()
    first, _ = several_changes("classes", y)
    model = estimator(formulation, C=30.0).fit(X[first], y[first])
    classes, number = np.unique(y, return_inverse=True)
    box = np.full(len(y), 30.0)
    now = Problem(X, number.astype(np.int32), box, len(classes), 0.0, formulation)
    start, known = carried_over(
        model._warm_alpha, model._warm_samples, Samples(row_keys(X), classes), now
    )
    assert known == len(first)
    # The own class of a sample that is known was there before.
    assert np.all(start.value[np.arange(len(y)), number] == 0)
    assert np.all((start.value >= 0) & (start.value <= 30.0))
    weights = FORMULATIONS[formulation].weights(start.value, X.toarray(), number)
    there = np.isin(classes, y[first])
    assert np.abs(weights[there] - model.coef_).max() < 1e-9
    assert np.abs(weights[~there]).max() < 1e-9


@pytest.mark.parametrize("solver", ["alternating", "extrapolated"])
@pytest.mark.parametrize("change", ["classes", "fewer classes", "samples"])
def test_other_solvers_take_the_start_too(solver, change):
    X, y = problem()
    first, second = several_changes(change, y)
    model = estimator("llw", solver=solver, tol=1e-2).fit(X[first], y[first])
    model.fit(X[second], y[second])
    cold = estimator("llw", solver=solver, tol=1e-2).fit(X[second], y[second])
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-2)


@pytest.mark.parametrize(("known", "times"), [(60, 2), (396, 1)])
def test_a_start_costs_few_passes_or_none(known, times):
    X, y = problem(n=400, d=500, classes=12)
    model = estimator("llw", C=100.0, tol=1e-2).fit(X[:known], y[:known]).fit(X, y)
    cold = estimator("llw", C=100.0, tol=1e-2).fit(X, y)
    assert model.n_known_samples_ == known
    assert model.converged_ and not np.array_equal(model.coef_, cold.coef_)
    assert model.n_iter_ <= times * cold.n_iter_


@pytest.fixture(scope="module")
def mostly_fitted():
    """Samples, and a model of most of them."""
    X, y = problem(n=400, d=500, classes=12)
    return X, y, estimator("llw", C=100.0, tol=1e-3).fit(X[:360], y[:360])


@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:tol was not reached")
def test_few_passes_do_not_lose_the_start(mostly_fitted, passes):
    X, y, model = copy.deepcopy(mostly_fitted)
    cold = estimator("llw", C=100.0, tol=1e-3, max_iter=passes).fit(X, y)
    model.set_params(max_iter=passes).fit(X, y)
    assert model.n_iter_ <= passes
    assert model.dual_objective_ > cold.dual_objective_


@pytest.mark.parametrize("change", ["classes", "fewer classes", "samples"])
@pytest.mark.filterwarnings("ignore:tol was not reached")
def test_the_same_for_any_number_of_threads(change):
    X, y = problem(n=400, d=500, classes=12)
    first, second = several_changes(change, y)
    one, two = (
        estimator("llw", C=30.0, tol=1e-2, max_iter=6, n_jobs=n)
        .fit(X[first], y[first])
        .fit(X[second], y[second])
        for n in (1, 2)
    )
    assert np.array_equal(one.coef_, two.coef_)


# ---------------------------------------------------------------- in files


@pytest.mark.parametrize(("formulation", "loss"), FITS)
def test_dual_variables_in_a_file(tmp_path, formulation, loss):
    X, y = problem()
    model = estimator(formulation, loss).fit(X[:120], y[:120])
    save_model(model, tmp_path / "m", dual=True)
    loaded = load_model(tmp_path / "m")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    loaded.fit(X, y)
    model.fit(X, y)
    assert loaded.n_known_samples_ == 120
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    save_model(model, tmp_path / "without")
    assert not hasattr(load_model(tmp_path / "without"), "_warm_alpha")


@pytest.mark.parametrize("formulation", ["ww", "ovr"])
def test_forged_dual_variables_are_refused(tmp_path, formulation):
    X, y = problem()
    save_model(estimator(formulation).fit(X, y), tmp_path / "m", dual=True)
    meta, arrays = read_arrays(tmp_path / "m")
    whole = {name: np.array(array) for name, array in arrays.items()}
    changes = {"dual.box": 0, "dual.value": -1.0}
    changes |= {"dual.cls": 99, "dual.pair": 7} if formulation == "ww" else {"dual.y": -3}
    for name, value in changes.items():
        forged = {key: array.copy() for key, array in whole.items()}
        forged[name].flat[0] = value
        write_arrays(tmp_path / "forged", meta, forged)
        with pytest.raises(ModelFileError, match="dual variables"):
            load_model(tmp_path / "forged")


def test_a_class_that_a_sample_has_twice_is_refused(tmp_path):
    X, y = problem()
    save_model(estimator().fit(X, y), tmp_path / "m", dual=True)
    meta, arrays = read_arrays(tmp_path / "m")
    forged = {name: np.array(array) for name, array in arrays.items()}
    begin = forged["dual.pair"][np.argmax(np.diff(forged["dual.pair"]) > 1)]
    forged["dual.cls"][begin + 1] = forged["dual.cls"][begin]
    write_arrays(tmp_path / "forged", meta, forged)
    with pytest.raises(ModelFileError, match="a class that a sample has twice"):
        load_model(tmp_path / "forged")


def test_dual_needs_a_warm_start(tmp_path):
    X, y = problem()
    model = MulticlassSVC(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fit it with warm_start=True"):
        save_model(model, tmp_path / "m", dual=True)
    assert not (tmp_path / "m").exists()


def test_train_from_an_old_model(tmp_path, capsys):
    from multimargin import dump_svmlight

    X, y = problem()
    numbers = np.unique(y, return_inverse=True)[1]
    dump_svmlight(tmp_path / "old.svm", X[:120], numbers[:120])
    dump_svmlight(tmp_path / "all.svm", X, numbers)
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    data, common = str(tmp_path / "all.svm"), ["--quiet", "--features", "40"]
    assert main(["train", str(tmp_path / "old.svm"), old, "--keep-dual", *common]) == 0
    assert main(["info", old]) == 0
    assert "120" in capsys.readouterr().out
    assert main(["train", data, new, "--start", old, "--json", *common]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["known_samples"] == 120 and result["converged"]
    for words, message in (
        (["--start", new], "nothing to start from"),
        (["--start", str(tmp_path / "none")], "No such file"),
        (["--start", old, "--checkpoint", str(tmp_path / "c")], "does not work with --checkpoint"),
    ):
        assert main(["train", data, str(tmp_path / "x"), *words, *common]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
