"""Models with given coefficients, without training."""

import numpy as np
import scipy.sparse as sp

from multimargin import MulticlassSVC


def made_model(coef, classes, intercept=None, **attributes):
    """Return an estimator that looks fitted, with exactly these coefficients."""
    model = MulticlassSVC()
    model.coef_ = coef
    model.classes_ = np.asarray(classes)
    model.intercept_ = np.zeros(coef.shape[0]) if intercept is None else intercept
    model.n_features_in_ = coef.shape[1]
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def random_coef(rows, d, density=0.3, dtype=np.float32):
    rng = np.random.default_rng(rows * 1000 + d)
    return sp.random(rows, d, density, "csr", dtype, rng)


def data(n=60, d=20, n_classes=4):
    rng = np.random.default_rng(5)
    y = np.arange(n) % n_classes
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.5) + np.eye(n_classes, d)[y]
    return sp.csr_matrix(X), y
