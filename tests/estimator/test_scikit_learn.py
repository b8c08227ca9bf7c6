"""MulticlassSVC as a citizen of scikit-learn: its checks, pipelines, searches, calibration."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS


def expected_failures(estimator):
    """Checks that the exact optimum itself fails, or that cannot read a sparse ``coef_``."""
    failures = {}
    rough = estimator.stopping == "violation" or estimator.solver != "auto"
    if rough or estimator.fit_intercept == "free":
        precision = "compares decision values to 1e-7: what is not solved to rounding has others"
        failures["check_sample_weight_equivalence_on_dense_data"] = precision
        failures["check_sample_weight_equivalence_on_sparse_data"] = precision
    if estimator.formulation == "mmr":
        # Its last Newton steps raise the dual by less than rounding, and so are not taken.
        failures["check_sample_weight_equivalence_on_dense_data"] = "2e-8 apart"
        failures["check_sample_weight_equivalence_on_sparse_data"] = "2e-8 apart"
    if estimator.sparse_coef is True:
        failures["check_class_weight_balanced_linear_classifier"] = "compares dense coef_ only"
    if not estimator.fit_intercept:
        failures["check_class_weight_classifiers"] = (
            "wants 87% of two overlapping blobs on one side; through the origin the exact optimum "
            "(QP of reference.py) puts 54% there"
        )
    return failures


@parametrize_with_checks(
    [MulticlassSVC(name) for name in FORMULATIONS],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        *(
            MulticlassSVC(name, 10.0, tol=1e-5, n_jobs=2, sparse_coef=True, warm_start=True)
            for name in ("ww", "cs", "llw", "ovr", "rm")
        ),
        MulticlassSVC(stopping="violation", sparse_coef=False, fit_intercept=False),
        MulticlassSVC("cs", stopping="violation", sparse_coef=False),
        MulticlassSVC(class_weight="balanced", intercept_scaling=10.0, warm_start=True),
        MulticlassSVC("ovr", loss="squared_hinge"),
        MulticlassSVC("cs", fit_intercept="free"),
        # These are slow on data that is not scaled: what is checked here is not how far they come.
        MulticlassSVC("llw", solver="alternating", max_iter=500),
        MulticlassSVC("llw", solver="extrapolated", n_reductions=3, max_iter=500),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


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
