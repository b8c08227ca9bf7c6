"""Gap and KKT conditions on real sets, where they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, load_svmlight
from tests.support.paths import SHARED

FOLDER = SHARED


def load(name, n_features):
    path = FOLDER / name / "train.libsvm.xz"
    if not path.exists():
        pytest.skip(f"{path} is not there (set MULTIMARGIN_DATA to the folder of data sets)")
    X, y = load_svmlight(path, n_features=n_features, dtype=np.float64)
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.diags_array(1 / np.maximum(norm, 1e-12)).tocsr() @ X, y


@pytest.mark.parametrize(
    ("name", "n_features"),
    [
        ("clinc150", 5555),
        ("lshtc1-dryrun-task2", 26969),
        ("dna", 180),
        ("satimage", 36),
        ("xcsvm-glass", 9),
    ],
)
def test_gap_and_kkt(name, n_features):
    X, y = load(name, n_features)
    options = {"n_jobs": 2, "warm_start": True, "sparse_coef": True}
    model = MulticlassSVC("ww", 1.0, tol=1e-3, random_state=0, **options)
    model.fit(sp.csr_matrix(X), y)
    assert model.converged_
    classes, labels = np.unique(y, return_inverse=True)
    scores = X @ model.coef_.T.toarray() + model.intercept_
    margins = 1 - scores[np.arange(len(y)), labels][:, None] + scores
    margins[np.arange(len(y)), labels] = 0
    squares = model.coef_.multiply(model.coef_).sum() + np.sum(model.intercept_**2)
    primal = 0.5 * squares + np.maximum(margins, 0).sum()
    assert primal == pytest.approx(model.primal_objective_, rel=1e-8)

    # KKT: alpha in the box, 0 where there is room to spare, at the bound where there is loss. What
    # the weights differ by from those of alpha is a part of the gap.
    alpha = model._warm_alpha
    rows = np.repeat(np.arange(len(y)), np.diff(alpha.slot_begin))
    dense = np.zeros(margins.shape)
    dense[rows, alpha.cls] = alpha.value
    dense[np.arange(len(y)), labels] = 0
    assert dense.min() >= 0
    assert dense.max() <= 1
    gap = np.sum(np.maximum(margins, 0) - dense * margins)
    coefficients = -dense
    coefficients[np.arange(len(y)), labels] = dense.sum(axis=1)
    W = coefficients.T @ X - model.coef_.toarray()
    gap += 0.5 * (np.sum(W**2) + np.sum((coefficients.sum(axis=0) - model.intercept_) ** 2))
    assert gap == pytest.approx(primal - model.dual_objective_, rel=1e-6, abs=1e-9 * primal)
    assert len(classes) == len(model.classes_)


def test_float32_agrees_with_float64():
    X, y = load("clinc150", 5555)
    fits = [
        MulticlassSVC("ww", 1.0, tol=1e-3, random_state=0).fit(sp.csr_matrix(X, dtype=dtype), y)
        for dtype in (np.float32, np.float64)
    ]
    assert fits[0].coef_.dtype == np.float32
    assert fits[0].primal_objective_ == pytest.approx(fits[1].primal_objective_, rel=2e-3)
    assert np.mean(fits[0].predict(X) == fits[1].predict(X)) > 0.995
