"""Corners of the estimator: weights of zero, numbers too large, refits that are cut short."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from multimargin import (
    MulticlassSVC,
    TextClassifier,
    distributed,
    load_model,
    path,
    save_model,
    tune,
)
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import margins
from multimargin.solvers._layout import as_core_csr


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.standard_normal((60, 5)) + 2 * np.eye(3, 5)[y], y


@pytest.mark.parametrize("by", ["sample", "class"])
def test_a_class_of_weight_zero_is_as_if_it_were_not_there(data, by):
    X, y = data
    options = {"tol": 1e-6, "random_state": 0}
    without = MulticlassSVC(**options).fit(X[y != 1], y[y != 1])
    if by == "sample":
        model = MulticlassSVC(**options).fit(X, y, sample_weight=(y != 1).astype(float))
    else:
        model = MulticlassSVC(class_weight={0: 1, 1: 0, 2: 1}, **options).fit(X, y)
    assert model.classes_.tolist() == [0, 2]
    assert model.primal_objective_ == pytest.approx(without.primal_objective_, rel=1e-5)


def test_weights_that_leave_one_class_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="at least 2 classes are needed"):
        MulticlassSVC().fit(X, y, sample_weight=(y == 1).astype(float))


@pytest.mark.parametrize(
    ("options", "scale", "message"),
    [
        ({}, 1e25, "scale the features"),
        ({"intercept_scaling": 1e30}, 1, "scale the features"),
        ({"C": 1e38}, 1, "too large or too small for float32"),
        ({"C": 1e-60}, 1, "too large or too small for float32"),
    ],
)
def test_numbers_that_would_overflow_are_refused(data, options, scale, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        MulticlassSVC(**options).fit((X * scale).astype(np.float32), y)


@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 1.5e17), (np.float64, 1e152)])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_what_is_not_refused_does_not_overflow(data, formulation, dtype, scale):
    X, y = data
    X = (X * scale).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MulticlassSVC(formulation, max_iter=5, random_state=0).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()
        with pytest.raises(ValueError, match="too large to be squared and added"):
            model.fit(X * dtype(3), y)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    ("dtype", "value"), [(np.float32, 1e39), (np.float32, 1e300), (np.float64, 1.7e308)]
)
def test_values_too_large_for_the_scores_are_named(data, dtype, value, sparse):
    X, y = data
    model = MulticlassSVC(random_state=0, sparse_coef=sparse).fit(X.astype(dtype), y)
    model.coef_ = model.coef_ * 2
    large = X.copy()
    large[[7, 9], [2, 1]] = -value, value / 2
    for given in (large, sp.csr_matrix(large)):
        for ask in (
            model.predict,
            model.decision_function,
            lambda X: model.predict_topk(X, 2),
            lambda X: margins(model, X, y),
        ):
            with pytest.raises(ValueError, match=r"X holds -.* in row 7, column 2: .* overflow"):
                ask(given)
    with pytest.raises(ValueError, match="in row 0, column 2"):
        model.explain(large[7])


def test_large_values_are_scored_as_long_as_scores_can_be(data):
    X, y = data
    model = MulticlassSVC(random_state=0).fit(X.astype(np.float32), y)
    scores = model.decision_function(X * 1e30)
    np.testing.assert_allclose(scores, (X * 1e30) @ model.coef_.T.astype(float), rtol=1e-4)


@pytest.mark.parametrize("limit", [1e10, float("inf")])
def test_a_huge_time_limit_is_no_limit(data, limit):
    assert MulticlassSVC(time_limit=limit, random_state=0).fit(*data).converged_


def test_an_interrupted_refit_keeps_the_old_model(data, monkeypatch):
    X, y = data
    model = MulticlassSVC(random_state=0).fit(X, y)
    before = model.predict(X)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("multimargin.solvers.rows._solver.RowSolver.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y + 10)
    np.testing.assert_array_equal(model.predict(X), before)


def test_preprocessing_of_a_loaded_model_ends_with_a_refit(data, tmp_path):
    X, y = data
    save_model(
        MulticlassSVC(random_state=0).fit(X, y), tmp_path / "m", preprocessing={"normalize": "l2"}
    )
    model = load_model(tmp_path / "m")
    assert model.preprocessing_ == {"normalize": "l2"}
    model.fit(X, y)
    assert not hasattr(model, "preprocessing_")


def test_rows_without_entries_cost_their_loss_and_predict_one_class():
    X = sp.vstack([sp.csr_matrix(np.eye(4)), sp.csr_matrix((2, 4))]).tocsr()
    y = np.array([0, 1, 2, 3, 0, 1])
    model = MulticlassSVC(fit_intercept=False, tol=1e-8, random_state=0).fit(X, y)
    alone = MulticlassSVC(fit_intercept=False, tol=1e-8, random_state=0).fit(X[:4], y[:4])
    assert model.primal_objective_ == pytest.approx(alone.primal_objective_ + 2, rel=1e-6)
    assert model.predict(X[4:]).tolist() == [0, 0]


def test_out_of_range_indices_are_refused(data):
    X, y = data
    corrupt = sp.csr_matrix(X)
    corrupt.indices[3] = 99
    with pytest.raises(ValueError, match="column indices outside"):
        MulticlassSVC().fit(corrupt, y)


TYPES = [("i4", "i8"), ("i8", "i4"), ("i2", "i4"), ("u4", "u4"), (">i8", ">i8")]


def with_indices(X, indices, indptr):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indptr)
    return matrix


@pytest.mark.parametrize("types", TYPES)
def test_indices_may_be_of_any_integer_type(data, types):
    X, y = data
    odd = with_indices(X, *types)
    model = MulticlassSVC(random_state=0, warm_start=True).fit(X, y)
    again = MulticlassSVC(random_state=0, warm_start=True).fit(odd, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(model.predict(odd), model.predict(X))
    np.testing.assert_array_equal(model.predict_topk(odd, 2)[1], model.predict_topk(X, 2)[1])
    np.testing.assert_array_equal(model.decision_function(odd), model.decision_function(X))
    np.testing.assert_array_equal(margins(model, odd, y).margin, margins(model, X, y).margin)
    assert model.explain(with_indices(X[:1], *types)).label == model.predict(X[:1])[0]
    assert again.fit(sp.csr_matrix(X), y).n_known_samples_ == len(y)
    shared = distributed.fit(MulticlassSVC(random_state=0), odd, y)
    np.testing.assert_array_equal(shared.predict(odd), model.predict(X))
    for formulation in FORMULATIONS:
        assert MulticlassSVC(formulation, random_state=0).fit(odd, y).converged_


def test_data_are_copied_only_where_their_form_is_another(data):
    X = sp.csr_matrix(data[0])
    assert as_core_csr(X) is X
    wide = with_indices(X, "i8", "i8")
    assert as_core_csr(wide) is wide
    assert np.shares_memory(as_core_csr(with_indices(X, "i4", "i8")).data, X.data)


def test_an_unsigned_indptr_that_falls_is_refused(data):
    corrupt = with_indices(data[0], "i4", "u4")
    corrupt.indptr[3] = 0
    with pytest.raises(ValueError, match="corrupt indptr"):
        MulticlassSVC().fit(corrupt, data[1])


ENTRIES = {
    "fit": lambda X, y: MulticlassSVC().fit(X, y),
    "texts": lambda X, y: TextClassifier().fit([f"word{row}" for row in range(len(y))], y),
    "path": path,
    "tune": tune,
    "validation": lambda X, y: tune(X, np.arange(60) % 3, validation=(X, y)),
    "distributed": lambda X, y: distributed.fit(MulticlassSVC(), X, y),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("empty", ["", " \t\u3000"])
def test_empty_labels_are_refused(data, entry, empty):
    X, y = data
    names = np.array(["a", "b", empty])[y]
    for labels in (names, names.tolist(), names.astype(object), pd.Series(names, dtype="string")):
        with pytest.raises(
            ValueError, match=r"missing labels .*: 20 of 60, in rows 2, 5, 8, 11, 14, \.\.\.;"
        ):
            ENTRIES[entry](X, labels)
    with pytest.raises(ValueError, match=r"missing labels .*: 20 of 60, in rows 2, 5, "):
        ENTRIES[entry](X, [label if label.strip() else None for label in names])
