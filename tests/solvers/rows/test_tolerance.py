"""Fits of small data sets end at their tolerance, whatever the loss and C."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from multimargin import MulticlassSVC
from tests.reference.cases import CASES

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def glass():
    """As many samples, features and classes as the data set of this name, as uneven."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), [70, 76, 17, 13, 9, 29])
    noise = rng.standard_normal((214, 9)) @ rng.standard_normal((9, 9))
    return noise + 1.5 * rng.standard_normal((6, 9))[y], y


SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast_cancer": load_breast_cancer(return_X_y=True),
    "glass": glass(),
}


@every_case
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("name", SETS)
def test_standardised_features(case, C, name):
    X, y = SETS[name]
    X = StandardScaler().fit_transform(X)
    for intercept in (True, False):
        options = {"loss": case.loss, "fit_intercept": intercept, "random_state": 0}
        objectives = []
        for tol in (1e-3, 1e-8):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = MulticlassSVC(case.formulation, C, tol=tol, warm_start=True, **options)
                model.fit(X, y)
            assert model.converged_ and 0 <= model.dual_gap_ <= tol
            # As a stranger measures it, who knows nothing of solvers.
            found = model.certify(X, y)
            assert found.dual_recomputed and -1e-12 <= found.gap <= tol + 1e-10
            objectives.append((model.dual_objective_, model.primal_objective_))
        (low, high), (dual, primal) = objectives
        assert low <= primal * (1 + 1e-12) and dual <= high * (1 + 1e-12)


@every_case
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_features_as_they_are(case, name):
    X, y = SETS[name]
    model = MulticlassSVC(case.formulation, loss=case.loss, random_state=0, warm_start=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    assert model.converged_ == (model.dual_gap_ <= 0.01) == (not caught)
    assert model.certify(X, y).gap <= model.dual_gap_ + 1e-8
    for warning in caught:
        message = str(warning.message)
        assert f"{model.dual_gap_:.3g}" in message
        assert "scale" in message.lower()
