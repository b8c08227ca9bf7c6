"""One-vs-rest: each class by itself, two classes as one problem, several lines of classes."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from multimargin import MulticlassSVC
from tests.reference.ww import dense
from tests.support.tiny_problems import blobs, many_classes_problem

LOSSES = ["hinge", "squared_hinge"]
TIGHT = {"formulation": "ovr", "tol": 1e-8, "max_iter": 10**6, "random_state": 0}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("names", [["no", "yes"], ["yes", "zebra"]])
def test_two_classes_are_one_problem_with_the_second_class_positive(loss, names):
    X, y = blobs(9, n_classes=2)
    text = np.array(names)[y]
    model = MulticlassSVC(loss=loss, **TIGHT).fit(X, text)
    peer = LinearSVC(loss=loss, tol=1e-9, max_iter=10**6, dual=True).fit(X, text)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.decision_function(X).shape == (len(y),)
    atol = 2e-3 * np.abs(peer.coef_).max()
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=atol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=atol)
    scores = peer.decision_function(X)
    clear = np.abs(scores) > 0.02 * np.abs(scores).max()
    np.testing.assert_array_equal(model.predict(X)[clear], peer.predict(X)[clear])
    positive = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X), np.array(names)[positive.astype(int)])


def test_every_binary_problem_is_what_it_would_be_alone():
    X, y = blobs(10, n_classes=4)
    model = MulticlassSVC(**TIGHT).fit(X, y)
    for c in range(4):
        alone = MulticlassSVC(**TIGHT).fit(X, y == c)
        atol = 1e-3 * np.abs(alone.coef_).max()
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=atol)
        np.testing.assert_allclose(model.intercept_[c], alone.intercept_[0], atol=atol)


def test_the_losses_differ():
    X, y = blobs(11)
    hinge, squared = (MulticlassSVC(loss=loss, **TIGHT).fit(X, y) for loss in LOSSES)
    assert np.abs(hinge.coef_ - squared.coef_).max() > 1e-2


@pytest.mark.parametrize("stopping", ["gap", "violation"])
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_warm_lines_of_classes_reach_the_cold_optimum(loss, shrinking, stopping):
    """Several lines, the last one in part; classes that are done wait for others in theirs."""
    X, y = many_classes_problem()
    options = {**TIGHT, "tol": 1e-5, "loss": loss, "shrinking": shrinking, "stopping": stopping}
    warm = MulticlassSVC(warm_start=True, **options)
    for C in [0.05, 3.0, 1.0]:
        warm.set_params(C=C).fit(X, y)
        cold = MulticlassSVC(C=C, **options).fit(X, y)
        assert warm.converged_ and cold.converged_
        assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-4)
        assert warm.dual_objective_ <= cold.primal_objective_ * (1 + 1e-9)
        assert np.allclose(dense(warm.coef_), dense(cold.coef_), atol=0.02 * C**0.5)
