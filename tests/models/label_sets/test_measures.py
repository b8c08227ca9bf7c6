"""Measures of predicted sets of labels, compared with scikit-learn's on dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, f1_score

from multimargin.models.label_sets._measures import differing, set_measures, subset_accuracy


def some_sets(n=60, k=9, seed=0):
    random = np.random.default_rng(seed)
    truth = (random.random((n, k)) < 0.3).astype(int)
    scores = truth + 0.9 * random.standard_normal((n, k))
    return truth, scores


@pytest.mark.parametrize("seed", range(3))
def test_as_scikit_learn(seed):
    truth, scores = some_sets(seed=seed)
    predicted = (scores > 0.5).astype(int)
    order = np.argsort(-scores, axis=1)
    found = set_measures(np.arange(9), truth, sp.csr_matrix(predicted), order[:, :5])
    assert found["samples"] == 60
    assert found["error"] == pytest.approx(1 - accuracy_score(truth, predicted))
    for average in ("micro", "macro"):
        assert found[f"{average}_f1"] == pytest.approx(f1_score(truth, predicted, average=average))
    for k in (1, 3, 5):
        right = np.take_along_axis(truth, order[:, :k], axis=1)
        assert found[f"precision_at_{k}"] == pytest.approx(right.sum() / (60 * k))
    assert found["labels_per_sample"] == pytest.approx(truth.sum() / 60)
    assert (found["unseen_labels"], found["unseen_samples"]) == (0, 0)


def test_labels_that_no_class_has_are_missed():
    classes = np.array(["a", "b"])
    predicted = sp.csr_matrix([[1, 0], [0, 1], [0, 0]])
    best = np.array([["a", "b"], ["b", "a"], ["a", "b"]])
    found = set_measures(classes, [["a", "new"], ["b"], ["other", "new"]], predicted, best)
    assert found["error"] == pytest.approx(2 / 3)
    assert found["micro_f1"] == pytest.approx(2 * 2 / (5 + 2))
    assert found["macro_f1"] == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert found["precision_at_1"] == pytest.approx(2 / 3)
    assert "precision_at_3" not in found
    assert (found["unseen_labels"], found["unseen_samples"]) == (2, 2)


def test_nothing_true_and_nothing_predicted():
    none = sp.csr_matrix((3, 2))
    found = set_measures(np.arange(2), none, none, np.array([[0, 1]] * 3))
    assert (found["error"], found["micro_f1"], found["macro_f1"]) == (0, 0, 0)


def test_subset_accuracy_has_weights():
    truth, scores = some_sets()
    predicted = (scores > 0.5).astype(int)
    weight = np.random.default_rng(0).random(60)
    found = subset_accuracy(np.arange(9), truth, sp.csr_matrix(predicted), weight)
    assert found == pytest.approx(accuracy_score(truth, predicted, sample_weight=weight))
    with pytest.raises(ValueError, match="60 samples, but labels of 59"):
        subset_accuracy(np.arange(9), truth[1:], sp.csr_matrix(predicted), None)
    assert differing(np.array([1, 2]), np.array([1, 3])).tolist() == [False, True]
