"""Measures of predictions: error, micro- and macro-F1, the best k."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from multimargin.models._measures import measures


def test_measures_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    classes = np.array([2, 3, 5, 8, 13])
    y = rng.choice([*classes, 21, 34], 300)
    best = np.array([rng.permutation(classes)[:3] for _ in y])
    result = measures(classes, y, best)
    assert result["error"] == pytest.approx((y != best[:, 0]).mean())
    assert result["top_k_accuracy"] == pytest.approx((y[:, None] == best).any(axis=1).mean())
    for average in ("micro", "macro"):
        expected = f1_score(y, best[:, 0], average=average, zero_division=0)
        assert result[f"{average}_f1"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (np.array(["1", "2", "x"]), np.array([1, 2, 2, 7])),
        (np.array([1, 2, 3]), np.array(["1", "2", "2", "x"])),
    ],
)
def test_labels_are_compared_across_types(classes, y):
    result = measures(classes, y, classes[np.array([0, 1, 1, 2])][:, None])
    assert result["error"] == pytest.approx(0.25)
    assert (result["unseen_labels"], result["unseen_samples"]) == (1, 1)
