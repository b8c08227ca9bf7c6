"""Fits side by side: the same results, and an end when it is asked for."""

import threading
import time
from _thread import interrupt_main

import numpy as np
import pytest
from sklearn.datasets import make_classification

from multimargin import tune
from multimargin.selection._folds import Folds
from multimargin.selection._jobs import Jobs
from multimargin.selection._tune import Tuner

X, Y = make_classification(300, 12, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
X /= np.linalg.norm(X, axis=1, keepdims=True)


def without_times(tuning):
    return [
        {name: value for name, value in row.items() if name != "seconds"} for row in tuning.rows()
    ]


@pytest.mark.parametrize("seed", [0, None])
def test_the_number_of_threads_changes_no_result(seed):
    def found(n_jobs):
        state = np.random.RandomState(1) if seed is None else seed
        return without_times(tune(X, Y, folds=3, n_jobs=n_jobs, random_state=state))

    one = found(1)
    assert found(3) == one and found(8) == one


def test_results_come_as_they_are_made_and_threads_share_the_cores():
    jobs = Jobs(4)
    both = threading.Barrier(2)

    def job(k):
        both.wait(timeout=30)  # two are under way at once, or this fails
        yield k, jobs.threads()
        both.wait(timeout=30)
        yield k, None

    found = list(jobs.run([lambda: job(0), lambda: job(1)]))
    assert sorted(k for k, _ in found) == [0, 0, 1, 1]
    assert [threads for _, threads in found if threads] == [2, 2]
    alone = Jobs(4)
    assert list(alone.run([lambda: iter([alone.threads()])])) == [4]
    here = []
    few = Jobs(4).run([lambda: iter([here.append(threading.current_thread())])] * 3, 1)
    assert list(few) == [None] * 3 and set(here) == {threading.current_thread()}


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_jobs_are_raised(threads):
    def broken():
        yield 1
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        list(Jobs(threads).run([broken, lambda: iter([2])]))


def endless(jobs):
    """Hears of passes, as a fit does, until it is not wanted any more."""
    yield "begun"
    while True:
        jobs.on_pass(1)
        time.sleep(0.001)


def test_an_interruption_while_waiting_ends_the_fits_under_way():
    jobs, before = Jobs(2), threading.active_count()
    found = jobs.run([lambda: endless(jobs)] * 3)
    assert [next(found), next(found)] == ["begun"] * 2
    timer = threading.Timer(0.1, interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(found)
    timer.join()
    assert threading.active_count() == before


def test_who_stops_reading_results_ends_the_fits_under_way():
    jobs, before = Jobs(2), threading.active_count()
    found = jobs.run([lambda: endless(jobs)] * 3)
    next(found)
    found.close()
    assert threading.active_count() == before


def test_a_comparison_hears_of_passes_and_ends_where_it_is_interrupted(monkeypatch):
    passes = []
    monkeypatch.setattr(Jobs, "on_pass", lambda self, *of: (passes.append(of), self._check()))
    tuner = Tuner(X, Y, formulations=["ww", "cs"], folds=3, n_jobs=2, random_state=0)
    before = threading.active_count()

    def stop(candidate):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuner.run(stop)
    assert passes and threading.active_count() == before
    assert [len(one.points) for one in tuner.tuning.candidates] == [1]


def test_fits_share_what_is_made_of_a_split():
    made, gone = [], []

    class Part:
        def __init__(self, split):
            made.append(split)
            self.split = split

        def __del__(self):
            gone.append(self.split)

    folds = Folds(Part, [0, 0, 1])
    with folds.of(0) as first, folds.of(0) as second:
        assert first is second
        del first, second
        assert gone == []
    assert gone == [0]
    with folds.of(1) as other:
        assert other.split == 1
    del other
    assert made == [0, 1] and gone == [0, 1]


def test_memory_bounds_what_is_under_way(monkeypatch):
    most = []
    run = Jobs.run
    monkeypatch.setattr(Jobs, "run", lambda self, jobs, n: (most.append(n), run(self, jobs, n))[1])
    for memory in (1, 10 * X.nbytes):
        monkeypatch.setattr("multimargin.io._memory.available", lambda given=memory: given)
        tune(X, Y, formulations="ww", Cs=[1.0], holdout=0.3, n_jobs=3, random_state=0)
    assert (most[0], most[-1]) == (1, 5)
