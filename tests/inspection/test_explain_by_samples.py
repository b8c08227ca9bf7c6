"""Explanations by training samples: their parts add up to the scores."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from multimargin import MulticlassSVC, TextClassifier, load_model, save_model
from multimargin.formulations import FORMULATIONS

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))


def fitted(formulation="cs", classes=3, **options):
    some = classes > Y
    options = {"tol": 1e-4, "warm_start": True, "random_state": 0, **options}
    return MulticlassSVC(formulation, **options).fit(X[some], Y[some])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_all_parts_add_up_to_the_score(formulation, intercept, classes):
    model = fitted(formulation, classes, fit_intercept=intercept)
    by_features = model.explain(X[60])
    why = model.explain_by_samples(X[60], X[ORDER], Y[ORDER], k=len(Y))
    assert (why.label, why.runner_up) == (by_features.label, by_features.runner_up)
    assert why.n_rest == 0
    for side in ("score", "runner_up_score"):
        parts = sum(getattr(c, side) for c in why.contributions)
        parts += getattr(why.intercept_part, side)
        assert parts == pytest.approx(getattr(by_features, side), rel=1e-9, abs=1e-9)
    for c in why.contributions:
        assert c.label == Y[ORDER][c.index]
        assert c.value == pytest.approx(X[60] @ X[ORDER][c.index])
        assert c.contribution == pytest.approx(c.value * (c.weight - c.runner_up_weight))


def test_the_free_intercept_is_a_part_of_its_own():
    model = fitted(fit_intercept="free", tol=1e-8)
    why = model.explain_by_samples(X[60], X, Y)
    assert why.intercept == pytest.approx(model.explain(X[60]).intercept)
    assert why.difference == pytest.approx(model.explain(X[60]).difference, rel=1e-3)


def test_the_largest_parts_are_listed():
    model = fitted()
    whole = model.explain_by_samples(X[60], X, Y, k=150, label=2, against=0)
    why = model.explain_by_samples(X[60], X, Y, k=4, label=2, against=0, n_best=0)
    parts = [c.contribution for c in why.contributions]
    assert parts == sorted(parts, reverse=True)
    by_size = sorted(whole.contributions, key=lambda c: -abs(c.contribution))
    assert {c.index for c in why.contributions} == {c.index for c in by_size[:4]}
    assert sum(parts) + why.rest + why.intercept == pytest.approx(whole.difference)
    assert (why.label, why.runner_up, why.best) == (2, 0, [])
    shown = str(why)
    assert f"sample {why.contributions[0].index} (" in shown
    assert f"{whole.n_known - 4} other training samples" in shown
    assert "training sample" in why._repr_html_()
    assert json.loads(json.dumps(why.as_dict()))["contributions"][0]["label"] in (0, 1, 2)


@pytest.mark.parametrize("kind", [sp.csr_matrix, np.asarray])
def test_dense_and_sparse_rows_and_single_precision(kind, tmp_path):
    rows = kind(X.astype(np.float32))
    model = MulticlassSVC(warm_start=True, random_state=0, tol=1e-4).fit(rows, Y)
    save_model(model, tmp_path / "m", dual=True)
    model = load_model(tmp_path / "m")
    why = model.explain_by_samples(X[60], rows, Y)
    assert why.score == pytest.approx(model.explain(X[60]).score, rel=1e-4)


def test_texts():
    texts = ["a red rose", "a white rose", "an old dog", "a small dog", "a fast car", "an old car"]
    labels = ["flower", "flower", "pet", "pet", "vehicle", "vehicle"]
    model = TextClassifier(warm_start=True, random_state=0, tol=1e-6).fit(texts, labels)
    why = model.explain_by_samples("the old dogcart, a dog", texts, labels)
    assert why.label == "pet"
    first = why.contributions[0]
    assert (first.feature, first.label, first.index) == ("an old dog", "pet", 2)
    assert why.score == pytest.approx(model.explain("the old dogcart, a dog").score, rel=1e-5)
    table = {"a": texts, "b": labels}
    model = TextClassifier(text=["a", "b"], warm_start=True, random_state=0).fit(table, labels)
    why = model.explain_by_samples({"a": "white rose", "b": ""}, table, labels, k=1)
    assert why.contributions[0].feature == "a white rose | flower"


def test_others_among_the_samples_have_no_part():
    model = fitted()
    more, labels = np.vstack([X[:7] + 1, X]), np.concatenate([[5] * 3, Y[3:7], Y])
    why = model.explain_by_samples(X[60], more, labels, k=150)
    assert min(c.index for c in why.contributions) >= 7
    assert why.score == pytest.approx(model.explain(X[60]).score)


def test_other_samples_are_refused():
    model = fitted()
    with pytest.raises(ValueError, match=r"not the training samples: 1 of the 150 .* are missing"):
        model.explain_by_samples(X[60], X[1:], Y[1:])
    with pytest.raises(ValueError, match=r"1 of the 150 .* or have another label here"):
        model.explain_by_samples(X[60], X, np.where(np.arange(150) == 3, 2, Y))
    with pytest.raises(ValueError, match="dual variables of this model were not kept"):
        fitted(warm_start=False).explain_by_samples(X[60], X, Y)
