"""One thread of BLAS while it matters, and as many as before afterwards."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from threadpoolctl import threadpool_info, threadpool_limits

from multimargin import MulticlassSVC
from multimargin.inspection import similar_classes
from multimargin.parallel import _blas_threads
from multimargin.parallel._blas_threads import one_blas_thread
from tests.estimator.test_threads import bits
from tests.support.forks import in_fork

MANY = 3  # more than one on any machine


def blas():
    """How many threads each library of BLAS has now."""
    return {i["filepath"]: i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


def ones(found):
    return set(found.values()) == {1}


@pytest.fixture
def many():
    """BLAS with several threads: what there is then, and has to be afterwards."""
    with threadpool_limits(MANY, user_api="blas"):
        before = blas()
        if set(before.values()) != {MANY}:
            pytest.skip("this BLAS cannot be told how many threads to use")
        yield before
        assert blas() == before


def in_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(60)


# ---------------------------------------------------------------- the block itself


def test_nested(many):
    with one_blas_thread():
        assert ones(blas())
        with one_blas_thread():
            assert ones(blas())
        assert ones(blas())
    assert blas() == many


def test_blocks_of_threads_overlap_in_any_order(many):
    first, second = ExitStack(), ExitStack()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:

        def now(pool, function, *arguments):
            return pool.submit(function, *arguments).result(60)

        now(one, first.enter_context, one_blas_thread())
        now(other, second.enter_context, one_blas_thread())
        now(one, first.close)
        assert ones(now(other, blas))
        now(other, second.close)
        assert now(one, blas) == many


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_inside(many, error):
    with pytest.raises(error), one_blas_thread(), one_blas_thread():
        raise error
    assert blas() == many


def test_what_others_change_meanwhile_stays():
    with threadpool_limits(MANY), ExitStack() as others:
        with one_blas_thread():
            others.enter_context(threadpool_limits(2))
            with one_blas_thread():
                assert ones(blas())
            others.enter_context(threadpool_limits(2))
        assert set(blas().values()) == {2}


def test_without_any_blas(monkeypatch):
    monkeypatch.setattr(_blas_threads, "_libraries", lambda: ())
    with one_blas_thread():
        pass


class Library:
    """A library whose threads each have a number of their own, or all the same one."""

    def __init__(self, *, shared):
        self._numbers = {}
        self._shared = shared

    def _who(self):
        return 0 if self._shared else threading.get_ident()

    def get_num_threads(self):
        return self._numbers.get(self._who(), MANY)

    def set_num_threads(self, threads):
        self._numbers[self._who()] = threads


@pytest.mark.parametrize("shared", [True, False])
def test_numbers_of_threads_and_of_processes(shared, monkeypatch):
    library = Library(shared=shared)
    found = (_blas_threads._Library(library),)
    monkeypatch.setattr(_blas_threads, "_libraries", lambda: found)

    def other():
        before = library.get_num_threads()
        with one_blas_thread():
            inside = library.get_num_threads()
        return before, inside, library.get_num_threads()

    for _ in range(2):  # at first it is not known yet whose numbers they are
        with one_blas_thread():
            assert library.get_num_threads() == 1
            assert in_thread(other) == ((1, 1, 1) if shared else (MANY, 1, MANY))
            assert library.get_num_threads() == 1
        assert library.get_num_threads() == MANY


def test_no_new_threads(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    library = Library(shared=True)
    found = (_blas_threads._Library(library),)
    monkeypatch.setattr(_blas_threads, "_libraries", lambda: found)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with one_blas_thread():
        assert library.get_num_threads() == 1
    assert library.get_num_threads() == MANY


# ---------------------------------------------------------------- forks


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
of_threads = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@needs_fork
@of_threads
def test_forks_while_another_thread_is_in_a_block(many):
    def child():
        with one_blas_thread():
            inside = blas()
        return inside, blas()

    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        pool.submit(stack.enter_context, one_blas_thread()).result(60)
        inside, after = in_fork(child)
        assert ones(inside)
        assert after == many
        assert ones(blas())  # the parent goes on
        pool.submit(stack.close).result(60)


@needs_fork
@of_threads
def test_forks_from_a_block(many):
    def child():
        inside = blas()
        stack.close()
        return inside, blas()

    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        inside, after = in_fork(child)
        assert ones(inside)
        assert after == many
        assert ones(blas())


# ---------------------------------------------------------------- fits


def digits(n=300):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def test_fits_in_threads_are_those_of_one_thread(many):
    sets = [load_wine(return_X_y=True), load_iris(return_X_y=True), digits(200)]

    def fit(data):
        return bits(MulticlassSVC("ovr", C=1e4, tol=1e-2, random_state=0).fit(*data))

    expected = [fit(data) for data in sets]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(fit, 2 * sets)) == 2 * expected


# ---------------------------------------------------------------- what else multiplies


def test_similar_classes():
    rng = np.random.default_rng(0)
    model = MulticlassSVC("ovr").fit(np.eye(3), np.arange(3))
    model.coef_ = rng.standard_normal((50, 20_000))
    model.classes_ = np.arange(50)
    found = []
    for threads in (1, 2, 3, 4):
        with threadpool_limits(threads):
            found.append(similar_classes(model, 3, k=49))
    assert all(other == found[0] for other in found[1:])
