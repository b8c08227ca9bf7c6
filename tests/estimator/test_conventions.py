"""What scikit-learn's users expect of an estimator, with every warning an error."""

import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import multimargin
from multimargin import LabelTree, MulticlassSVC, TextClassifier
from multimargin.estimator import _doc_link
from multimargin.formulations import FORMULATIONS
from tests.support.paths import ROOT

pytestmark = pytest.mark.filterwarnings("error")

PAGES = "api/generated/multimargin.MulticlassSVC.html"


@pytest.fixture(scope="module")
def frame():
    """Three kinds of things by four measures, and a weight for each."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = pd.DataFrame(rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y], columns=[*"abcd"])
    X["kind"] = np.array(["dull", "shiny"])[rng.integers(2, size=90)]
    return X, pd.Series(np.array(["x", "y", "z"])[y], name="label"), rng.integers(0, 4, size=90)


@pytest.fixture
def numbers(frame):
    X, y, weight = frame
    return X[[*"abcd"]], y, weight


# ------------------------------------------------------------ data frames


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_names_of_features_are_kept_and_compared(numbers, formulation):
    X, y, _ = numbers
    model = MulticlassSVC(formulation, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == [*"abcd"]
    assert model.n_features_in_ == 4
    assert model.classes_.tolist() == [*"xyz"]
    for other, words in (
        (X[[*"abdc"]], "same order"),
        (X.rename(columns={"a": "e"}), "unseen at fit time:\n- e\n"),
        (X[[*"abc"]], "seen at fit time, yet now missing:\n- d"),
    ):
        for method in (model.predict, model.decision_function, model.predict_topk):
            with pytest.raises(ValueError, match=words):
                method(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X.to_numpy())


def test_names_of_the_last_fit_count(numbers):
    X, y, _ = numbers
    model = MulticlassSVC(random_state=0).fit(X, y)
    assert model.fit(X[[*"ba"]], y).feature_names_in_.tolist() == ["b", "a"]
    assert model.n_features_in_ == 2
    assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")
    model.predict(X.to_numpy())


def test_a_sparse_data_frame_is_one_matrix(numbers):
    X, y, _ = numbers
    X = X.where(X > 0, 0.0)
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X.to_numpy()), columns=X.columns)
    one, two = (MulticlassSVC(random_state=0, tol=1e-6).fit(Z, y) for Z in (X, sparse))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(one.predict(X), two.predict(sparse))


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_columns_of_several_kinds(frame, output):
    X, y, _ = frame
    columns = make_column_transformer(
        (StandardScaler(), [*"abcd"]), (OneHotEncoder(sparse_output=False), ["kind"])
    )
    model = make_pipeline(columns, MulticlassSVC(random_state=0)).set_output(transform=output)
    assert model.fit(X, y).score(X, y) > 0.8
    if output == "pandas":
        names = model[-1].feature_names_in_.tolist()
        assert names == model[:-1].get_feature_names_out().tolist()
        assert names[-1] == "onehotencoder__kind_shiny"


# ------------------------------------------------------------ metadata routing


def weighted_model(**params):
    model = MulticlassSVC(random_state=0, tol=1e-6, **params)
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def test_weights_reach_the_last_step_of_a_pipeline(numbers):
    X, y, weight = numbers
    with config_context(enable_metadata_routing=True):
        chain = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True), weighted_model()
        )
        chain.fit(X, y, sample_weight=weight)
        scaled = StandardScaler().fit(X, sample_weight=weight).transform(X)
        alone = MulticlassSVC(random_state=0, tol=1e-6).fit(scaled, y, sample_weight=weight)
        np.testing.assert_array_equal(chain[-1].coef_, alone.coef_)
        expected = alone.score(scaled, y, sample_weight=weight)
        assert chain.score(X, y, sample_weight=weight) == expected


def test_weights_reach_every_fold(numbers):
    """A weight of zero leaves a sample out, in training and in scores."""
    X, y, weight = numbers
    wrong = y.where(weight > 0, "nonsense")  # a fourth class, of which nothing may be seen
    scorer = get_scorer("accuracy")
    with config_context(enable_metadata_routing=True):
        scorer = scorer.set_score_request(sample_weight=True)
        found = cross_validate(
            weighted_model(),
            X,
            wrong,
            cv=3,
            scoring=scorer,
            params={"sample_weight": weight},
            return_estimator=True,
        )
        assert all(model.classes_.tolist() == [*"xyz"] for model in found["estimator"])
        assert found["test_score"].min() > 0.6
        search = GridSearchCV(weighted_model(), {"C": [1e-3, 1.0]}, cv=3, scoring=scorer)
        search.fit(X, wrong, sample_weight=weight)
        alone = weighted_model(C=search.best_params_["C"]).fit(X, wrong, sample_weight=weight)
        np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


def test_weights_that_nobody_asked_for_are_refused(numbers):
    X, y, weight = numbers
    with config_context(enable_metadata_routing=True):
        chain = make_pipeline(StandardScaler(), MulticlassSVC())
        with pytest.raises(ValueError, match="sample_weight"):
            chain.fit(X, y, sample_weight=weight)


# ------------------------------------------------------------ parameters

VALUES = {
    "formulation": st.sampled_from([*FORMULATIONS]),
    "C": st.floats(min_value=1e-6, max_value=1e6),
    "loss": st.sampled_from(["hinge", "squared_hinge"]),
    "solver": st.sampled_from(["auto", "passes", "block", "alternating", "extrapolated"]),
    "n_reductions": st.integers(1, 100),
    "tol": st.floats(min_value=1e-12, max_value=1.0),
    "stopping": st.sampled_from(["gap", "violation"]),
    "max_iter": st.integers(1, 10**9),
    "fit_intercept": st.booleans(),
    "intercept_scaling": st.floats(min_value=0.01, max_value=100),
    "class_weight": st.none()
    | st.just("balanced")
    | st.dictionaries(st.text() | st.integers(), st.floats(0, 10), max_size=3),
    "label_cost": st.none()
    | st.builds(
        LabelTree,
        st.dictionaries(st.integers(), st.text(), min_size=1, max_size=3),
        st.sampled_from(["distance", "depth"]),
    ),
    "n_jobs": st.none() | st.integers(-1, 64).filter(bool),
    "warm_start": st.booleans(),
    "sparse_coef": st.just("auto") | st.booleans(),
    "random_state": st.none() | st.integers(0, 2**32 - 1),
    "verbose": st.integers(0, 2),
    "time_limit": st.none() | st.floats(min_value=0.001, max_value=1e6),
    "n_bundles": st.none() | st.integers(1, 1000),
    "shrinking": st.booleans(),
    "calibration": st.none() | st.just("cv") | st.floats(0.01, 0.99),
}


NAMES = st.text() | st.lists(st.text(), max_size=3) | st.tuples(st.text())
TEXT_VALUES = {
    **VALUES,
    "analyzer": st.sampled_from(["word", "char", "char_wb"]),
    "ngram_range": st.tuples(st.integers(1, 3), st.integers(3, 5)),
    "min_df": st.integers(1, 5) | st.floats(0.0, 1.0),
    "max_df": st.integers(1, 5) | st.floats(0.0, 1.0),
    "max_features": st.none() | st.integers(1, 10**6),
    "lowercase": st.booleans(),
    "strip_accents": st.sampled_from(["ascii", "unicode", None]),
    "stop_words": st.none() | st.just("english") | st.lists(st.text(), max_size=3),
    "sublinear_tf": st.booleans(),
    "use_idf": st.booleans(),
    "text": st.none() | NAMES,
    "numeric": NAMES,
    "categorical": NAMES,
    "encoder": st.none() | st.text(),
    "features": st.sampled_from([None, "tfidf", "embedding", "both"]),
}


@st.composite
def given_parameters(draw):
    """A class, some of its parameters, and all of them."""
    kind, values = draw(st.sampled_from([(MulticlassSVC, VALUES), (TextClassifier, TEXT_VALUES)]))
    some = draw(st.fixed_dictionaries({}, optional=values))
    return kind, some, draw(st.fixed_dictionaries(values))


def test_all_parameters_are_tried():
    assert {*VALUES} == {*MulticlassSVC().get_params()}
    assert {*TEXT_VALUES} == {*TextClassifier().get_params()}


@settings(max_examples=30, deadline=None)
@given(given_parameters())
def test_parameters_come_back_as_they_were_given(parameters):
    kind, chosen, more = parameters
    model = kind(**chosen)
    given_out = model.get_params()
    assert {name: given_out[name] for name in chosen} == chosen
    assert all(given_out[name] is getattr(model, name) for name in given_out)
    copy = clone(model)
    assert copy.get_params() == given_out
    assert pickle.loads(pickle.dumps(model)).get_params() == given_out
    assert copy.set_params(**more) is copy
    assert copy.get_params() == more
    assert copy.set_params(**given_out).get_params() == given_out
    assert repr(copy) == repr(model)


def test_parameters_are_checked_when_fitting_and_not_before(numbers):
    X, y, _ = numbers
    model = MulticlassSVC(C=-1.0).set_params(tol="tight")
    with pytest.raises(ValueError, match="C must be"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        model.set_params(gamma=1)


# ------------------------------------------------------------ copies


@pytest.mark.parametrize("sparse_coef", [True, False])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_joblib_keeps_a_model_and_can_map_it(numbers, tmp_path, formulation, sparse_coef):
    X, y, _ = numbers
    model = MulticlassSVC(formulation, sparse_coef=sparse_coef, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for mode in (None, "r"):
        copy = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
        assert copy.get_params() == model.get_params()
        assert copy.feature_names_in_.tolist() == [*"abcd"]
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_a_text_model_is_kept_with_its_words(tmp_path):
    texts, y = ["a red rose", "white roses", "a loud dog", "the red cat"], [*"ffpp"]
    model = TextClassifier(C=10.0, random_state=0).fit(texts, y)
    joblib.dump(model, tmp_path / "model.joblib")
    copy = joblib.load(tmp_path / "model.joblib")
    assert copy.predict(["a rose", "dog"]).tolist() == ["f", "p"]
    np.testing.assert_array_equal(copy.decision_function(texts), model.decision_function(texts))
    assert not hasattr(clone(model), "features_")
    search = GridSearchCV(TextClassifier(), {"min_df": [1], "C": [10.0]}, cv=2).fit(texts, y)
    assert search.best_estimator_.n_features_in_ == model.n_features_in_


# ------------------------------------------------------------ representation


def links(html):
    return re.findall(r'href="([^"]*)"', html)


@pytest.fixture
def no_variable(monkeypatch):
    monkeypatch.delenv("MULTIMARGIN_DOCS", raising=False)
    return monkeypatch


@pytest.mark.parametrize("is_fitted", [False, True])
def test_html_leads_to_the_page_of_the_class(numbers, no_variable, is_fitted):
    X, y, _ = numbers
    model = MulticlassSVC(C=2.0)
    if is_fitted:
        model.fit(X, y)
    html = model._repr_html_()
    assert links(html)[0] == f"{_doc_link.DOCUMENTATION}/{PAGES}"
    assert "Documentation for MulticlassSVC" in html
    # Where this scikit-learn describes parameters, they lead there, too.
    own = [link for link in links(html) if link.startswith(_doc_link.DOCUMENTATION)]
    assert len(own) == 1 or len(own) > len(model.get_params())
    # Also inside of others, whose own pages are elsewhere.
    chain = links(make_pipeline(StandardScaler(), model)._repr_html_())
    assert any(link.startswith("https://scikit-learn.org/") for link in chain)
    assert f"{_doc_link.DOCUMENTATION}/{PAGES}" in chain


def test_the_site_may_be_a_local_one(no_variable):
    no_variable.setenv("MULTIMARGIN_DOCS", "file:///home/me/build/docs/{html}/")
    assert links(MulticlassSVC()._repr_html_())[0] == f"file:///home/me/build/docs/{{html}}/{PAGES}"
    no_variable.setenv("MULTIMARGIN_DOCS", "")
    assert MulticlassSVC()._get_doc_link().startswith("https://")
    assert TextClassifier()._get_doc_link().endswith("/multimargin.TextClassifier.html")


def test_classes_of_others_have_no_page_here():
    class Own(MulticlassSVC):
        pass

    assert Own()._get_doc_link() == ""
    assert is_classifier(Own())


def test_every_estimator_has_a_page():
    """Names of the API pages: those that the documentation's summary tables list."""
    sources = [
        path.read_text(encoding="utf-8")
        for path in (ROOT / "docs" / "api").rglob("*")
        if path.suffix in {".md", ".rst"} and "generated" not in path.parts
    ]
    if not sources:
        pytest.skip("there are no API pages in docs/api")
    listed = "\n".join(sources)
    for name in multimargin.__all__:
        kind = getattr(multimargin, name)
        if isinstance(kind, type) and hasattr(kind, "fit"):
            address = kind()._get_doc_link()
            assert address.endswith(f"/api/generated/multimargin.{name}.html")
            assert re.search(rf"^\s*~?(multimargin\.)?{name}\s*$", listed, re.M), name
    assert re.search(r":toctree:\s*generated", listed)
