"""Seeded problems and plain loops that certify the references."""

import numpy as np

from tests.reference.ww import box_of, with_intercept, wrong_classes

LOSSES = ["hinge", "squared_hinge"]
PENALTIES = [1e-3, 0.1, 1.0, 100.0, 1e4]


def problem(seed, n=18, d=5, n_classes=4, C=1.0):
    """A random problem with every class present, one empty row and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[n // 2] = 0.0
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return X, y, box_of(y, C, sample_weight=rng.uniform(0.2, 2.0, size=n))


def separable(seed, n=16, n_classes=4, noise=0.3):
    """Classes on the axes: every hard margin exists."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = 3.0 * np.eye(n_classes)[y] + noise * rng.standard_normal((n, n_classes))
    return with_intercept(X), y


def shares(rng, shape):
    """Random numbers in [0, 1], a third of them at either end."""
    return np.clip(rng.uniform(-1.0, 2.0, size=shape), 0.0, 1.0)


def feasible_pairs(rng, y, box, n_classes):
    """Random dual variables of all classes but the own, a third of them at either bound."""
    share = shares(rng, (len(y), n_classes))
    return np.where(wrong_classes(y, n_classes), share * box[:, None], 0.0)


def primal_by_loops(W, X, y, box, n_classes, loss):
    total = 0.5 * np.sum(W**2)
    for b, w in enumerate(W):
        positive = 1 if n_classes == 2 else b
        for i in range(len(y)):
            margin = 1.0 - (w @ X[i] if y[i] == positive else -(w @ X[i]))
            hinge = max(0.0, margin)
            total += box[i] * (hinge if loss == "hinge" else hinge * hinge)
    return total
