"""The number of threads is a matter of speed alone; forks, pools and threads around a fit work."""

import gc
import os
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse

from multimargin import MulticlassSVC
from multimargin.estimator._observers import Bar
from tests.reference.ww import dense
from tests.support.forks import in_fork


def sparse_many_classes(n=1500, d=800, n_classes=150, per_row=12, seed=0):
    """Text-like rows: a few features of the class's own topic, a few from anywhere."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    topics = rng.integers(d, size=(n_classes, 10))
    own = topics[y[:, None], rng.integers(10, size=(n, per_row // 2))]
    noise = rng.integers(d, size=(n, per_row - per_row // 2))
    columns = np.hstack([own, noise]).ravel()
    rows = np.repeat(np.arange(n), per_row)
    X = scipy.sparse.coo_array((rng.uniform(0.2, 1.0, n * per_row), (rows, columns)), shape=(n, d))
    return X.tocsr(), y


def dense_few_classes(n=400, d=20, n_classes=5, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.standard_normal((n, d)) + rng.standard_normal((n_classes, d))[y], y


def two_classes():
    return dense_few_classes(n_classes=2, seed=2)


def fewer_samples_than_threads():
    return np.eye(3), np.arange(3)


PROBLEMS = [sparse_many_classes, dense_few_classes, two_classes, fewer_samples_than_threads]


def bits(model):
    """Everything a fit decides, byte for byte."""
    return (
        dense(model.coef_).tobytes(),
        np.asarray(model.intercept_).tobytes(),
        model.n_iter_,
        model.primal_objective_,
        model.dual_objective_,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stopping", ["gap", "violation"])
@pytest.mark.parametrize("make", PROBLEMS)
def test_model_is_bit_identical_for_any_number_of_threads(make, stopping, dtype):
    X, y = make()
    X = X.astype(dtype)
    fits = [
        MulticlassSVC(stopping=stopping, n_jobs=n_jobs, random_state=3).fit(X, y)
        for n_jobs in [1, 2, 3, 4]
    ]
    assert np.any(dense(fits[0].coef_))
    for n_jobs, model in enumerate(fits[1:], start=2):
        assert bits(model) == bits(fits[0]), f"n_jobs={n_jobs} gives another model than n_jobs=1"


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_default_and_all_cores_give_the_same_model(n_jobs):
    X, y = dense_few_classes()
    one = MulticlassSVC(n_jobs=1, random_state=3).fit(X, y)
    assert bits(MulticlassSVC(n_jobs=n_jobs, random_state=3).fit(X, y)) == bits(one)


@pytest.mark.parametrize("make", [sparse_many_classes, dense_few_classes])
def test_the_seed_decides(make):
    X, y = make()
    first, again, other = (
        MulticlassSVC(n_jobs=2, random_state=seed).fit(X, y) for seed in [0, 0, 1]
    )
    assert bits(first) == bits(again)
    # Another order of visits, the same optimum: each primal is within tol of it.
    assert other.primal_objective_ == pytest.approx(first.primal_objective_, rel=2 * other.tol)
    assert other.dual_objective_ <= first.primal_objective_ * (1.0 + 1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fit_in_a_forked_child():
    """A pool of threads that outlives a fit would be missing in the child, which then hangs."""
    X, y = sparse_many_classes(n=500, n_classes=50)

    def fit():
        return bits(MulticlassSVC(n_jobs=2, random_state=0).fit(X, y))

    expected = fit()
    assert in_fork(fit) == expected
    assert in_fork(fit) == expected
    assert fit() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("make", [sparse_many_classes, dense_few_classes])
@pytest.mark.parametrize("formulation", ["ww", "ovr", "llw"])
def test_a_forked_child_may_delete_what_a_failed_fit_left(formulation, make, monkeypatch):
    """The engine, and its threads in the parent process, live on in the error's traceback."""

    def stop(*_):
        raise InterruptedError

    left = []
    monkeypatch.setattr(Bar, "on_scan", stop)
    try:
        MulticlassSVC(formulation, n_jobs=2, verbose=1).fit(*make())
    except InterruptedError as error:
        left.append(error)
    assert left

    def delete():
        left.clear()
        return gc.collect()

    in_fork(delete, timeout=30.0)
    delete()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_inside_joblib(backend):
    X, y = sparse_many_classes(n=500, n_classes=50)
    expected = bits(MulticlassSVC(n_jobs=1, random_state=0).fit(X, y))
    fits = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(MulticlassSVC(n_jobs=n_jobs, random_state=0).fit)(X, y)
        for n_jobs in [1, 2, None, 2]
    )
    assert all(bits(model) == expected for model in fits)


def test_fits_in_threads():
    X, y = sparse_many_classes(n=500, n_classes=50)
    expected = bits(MulticlassSVC(n_jobs=2, random_state=0).fit(X, y))
    found = []

    def fit():
        found.append(bits(MulticlassSVC(n_jobs=2, random_state=0).fit(X, y)))

    threads = [threading.Thread(target=fit, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60.0)
    assert found == [expected] * 3


def test_other_threads_run_during_a_fit():
    """The core must release the interpreter lock, or one fit stops the whole program."""
    X, y = sparse_many_classes(n=6000, d=3000, n_classes=600)
    model = MulticlassSVC(n_jobs=1, tol=1e-9, time_limit=1.5, max_iter=10**6)
    fit = threading.Thread(target=quietly, args=(model, X, y), daemon=True)
    fit.start()
    turns = 0
    while fit.is_alive():
        time.sleep(0.01)
        turns += 1
    assert hasattr(model, "coef_")
    # A hundred on an idle machine; between the passes alone it would be a few.
    assert turns > 10, "the interpreter stood still"


def quietly(model, X, y):
    """Fit; a convergence warning in a thread is nobody's business here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
