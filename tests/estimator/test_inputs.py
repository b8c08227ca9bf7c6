"""Every form of input gives the same model; what cannot be trained on is refused."""

import numpy as np
import pytest
import scipy.sparse

from multimargin import MulticlassSVC
from tests.reference.cs import cs_primal
from tests.reference.ww import box_of, dense, weights_of, with_intercept


def int64_indices(X):
    X = scipy.sparse.csr_array(X)
    return scipy.sparse.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


def unsorted_indices(X):
    X = scipy.sparse.csr_array(X)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1].copy()
        X.data[start:end] = X.data[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def repeated_entries(X):
    """Each value as two halves in the same place, which a sparse matrix adds up."""
    X = scipy.sparse.coo_array(X)
    halves = np.concatenate([X.data, X.data]) / 2
    places = (np.concatenate([X.row, X.row]), np.concatenate([X.col, X.col]))
    return scipy.sparse.coo_array((halves, places), shape=X.shape)


def explicit_zeros(X):
    rows, columns = np.indices(X.shape)
    return scipy.sparse.csr_array((X.ravel(), (rows.ravel(), columns.ravel())), shape=X.shape)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.tolist(),
        scipy.sparse.csr_matrix,
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
        scipy.sparse.coo_matrix,
        int64_indices,
        unsorted_indices,
        repeated_entries,
        explicit_zeros,
    ],
)
def test_every_form_of_input_gives_the_same_model(data, fitted, convert):
    X, y = data
    other = convert(X)
    model = MulticlassSVC(random_state=0).fit(other, y)
    primal = cs_primal(weights_of(model), with_intercept(X), y, box_of(y, 1.0))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert primal == pytest.approx(fitted.primal_objective_, rel=2 * model.tol)
    np.testing.assert_allclose(model.decision_function(other), model.decision_function(X))


def test_float32_and_integers(data, fitted):
    X, y = data
    single = MulticlassSVC(random_state=0).fit(X.astype(np.float32), y)
    assert single.primal_objective_ == pytest.approx(fitted.primal_objective_, rel=0.025)
    counts = np.round(3 * np.abs(X)).astype(int)
    whole, real = (
        MulticlassSVC(random_state=0).fit(Z, y) for Z in [counts, counts.astype(np.float64)]
    )
    np.testing.assert_array_equal(dense(whole.coef_), dense(real.coef_))


@pytest.mark.parametrize("make", [lambda X: X, scipy.sparse.csr_array, unsorted_indices])
@pytest.mark.parametrize(
    "fit_intercept", [False, True]
)  # a constant column may hide a missing copy
def test_input_is_not_modified(data, make, fit_intercept):
    X, y = make(data[0].copy()), data[1].copy()
    weight = np.ones(len(y))
    arrays = [y, weight] + ([X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr])
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    model = MulticlassSVC(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    model.predict(X)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_mapped_arrays(tmp_path, data, dtype):
    X, y = scipy.sparse.csr_array(data[0].astype(dtype)), data[1]
    mapped = []
    for name in ["data", "indices", "indptr"]:
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    lazy = scipy.sparse.csr_array(tuple(mapped), shape=X.shape, copy=False)
    assert np.shares_memory(lazy.data, mapped[0]), "the test's own matrix must not be a copy"
    one, two = (MulticlassSVC(random_state=0).fit(Z, y) for Z in [X, lazy])
    np.testing.assert_array_equal(dense(one.coef_), dense(two.coef_))
    np.testing.assert_array_equal(one.predict(X), two.predict(lazy))


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], None, "NaN"),
        ([[1.0], [np.inf]], [0, 1], None, "infinity"),
        (scipy.sparse.csr_array([[1.0], [np.nan]]), [0, 1], None, "NaN"),
        ([[1.0], [2.0]], [0, 0], None, r"(?i)class"),
        ([[1.0], [2.0]], [0, 1, 1], None, r"(?i)inconsistent|length|samples"),
        (np.empty((0, 3)), [], None, r"(?i)sample|empty"),
        (np.empty((2, 0)), [0, 1], None, r"(?i)feature"),
        ([1.0, 2.0], [0, 1], None, r"(?i)2D|reshape"),
        ([[1.0], [2.0]], [0.5, 1.5], None, r"(?i)label|continuous"),
        ([[1.0], [2.0]], [0, np.nan], None, "NaN"),
        ([[1.0], [2.0]], [0, 1], [1.0, -1.0], r"(?i)negative.*weight|weight.*negative"),
        ([[1.0], [2.0]], [0, 1], [0.0, 0.0], r"(?i)weight"),
        ([[1.0], [2.0]], [0, 1], [1.0, np.nan], r"(?i)weight.*NaN|NaN.*weight"),
        ([[1.0], [2.0]], [0, 1], [1.0, 1.0, 1.0], r"(?i)weight"),
    ],
)
def test_bad_data_is_refused(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC().fit(X, y, sample_weight=weight)


def test_bad_prediction_input(data, fitted):
    X, _ = data
    for method in [fitted.predict, fitted.decision_function, lambda Z: fitted.predict_topk(Z, 2)]:
        with pytest.raises(ValueError, match="15"):
            method(X[:, :7])
        with pytest.raises(ValueError, match="NaN"):
            method(np.full((2, 15), np.nan))
