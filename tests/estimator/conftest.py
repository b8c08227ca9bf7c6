"""Overlapping classes, and a model of them."""

import numpy as np
import pytest

from multimargin import MulticlassSVC


@pytest.fixture(scope="module")
def data():
    """Overlapping classes: 240 x 15, six labels, about a third of the entries non-zero."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(6), rng.integers(6, size=234)])
    X = rng.standard_normal((240, 15)) + 1.2 * rng.standard_normal((6, 15))[y]
    return X * (rng.random(X.shape) < 0.35), y


@pytest.fixture(scope="module")
def fitted(data):
    return MulticlassSVC(random_state=0).fit(*data)
