"""Ranks of a host that solve as one."""

import os
import sys
import threading

import numpy as np
import pytest

from multimargin import MulticlassSVC, distributed, save_model
from multimargin.distributed import _host_pool
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._base import BaseSolver
from tests.distributed.test_fit import SCALARS, coef_bytes, make_data
from tests.support.mpi import mpiexec, needs_mpi
from tests.support.paths import ROOT
from tests.support.rank_threads import run_ranks


@pytest.fixture(autouse=True)
def pooled(monkeypatch):
    monkeypatch.setenv("MULTIMARGIN_POOL", "1")


@pytest.fixture
def runs(monkeypatch):
    """The threads and the number of ranks of each solver that ran."""
    seen, run = [], BaseSolver.run

    def watched(self, start=None):
        seen.append((self._threads, self._comm.size))
        return run(self, start)

    monkeypatch.setattr(BaseSolver, "run", watched)
    return seen


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("k", [2, 23])
def test_a_host_trains_what_a_process_does(formulation, k, tmp_path, runs):
    X, y = make_data(n=200, d=40, k=k)
    asked = MulticlassSVC(formulation, random_state=3)
    plain = MulticlassSVC(**asked.get_params()).fit(X, y)
    save_model(plain, tmp_path / "plain")
    del runs[:]

    def work(comm):
        model = distributed.fit(asked, X, y, comm=comm)
        for name in [*SCALARS, "n_bundles_"]:
            assert getattr(model, name) == getattr(plain, name), name
        assert [r["dual"] for r in model.history_] == [r["dual"] for r in plain.history_]
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        model.save(tmp_path / "pooled")
        return model.gather()

    whole = run_ranks(3, work)[0]
    assert coef_bytes(whole) == coef_bytes(plain)
    assert (tmp_path / "pooled").read_bytes() == (tmp_path / "plain").read_bytes()
    assert [size for _, size in runs] == [1]


@pytest.mark.parametrize("formulation", ["ww", "ovr", "llw"])
def test_hosts_train_what_as_many_ranks_do(formulation, tmp_path, runs, monkeypatch):
    X, y = make_data(n=200, d=40, k=23)
    asked = MulticlassSVC(formulation, random_state=3)

    def work(path):
        return lambda comm: distributed.fit(asked, X, y, comm=comm).save(path)

    run_ranks(6, work(tmp_path / "pooled"), hosts=[0, 0, 1, 2, 2, 2])
    assert sorted(size for _, size in runs) == [3, 3, 3]
    monkeypatch.setenv("MULTIMARGIN_POOL", "0")
    run_ranks(3, work(tmp_path / "apart"), hosts=[0, 1, 2])
    assert (tmp_path / "pooled").read_bytes() == (tmp_path / "apart").read_bytes()


def test_one_rank_has_the_threads_and_the_processors_of_all(runs, monkeypatch):
    X, y = make_data()
    processors = os.sched_getaffinity(0)
    monkeypatch.setattr(_host_pool, "usable_processors", lambda: np.arange(64))

    def work(comm):
        distributed.fit(MulticlassSVC(n_jobs=1 + comm.rank, random_state=0), X, y, comm=comm)
        assert os.sched_getaffinity(0) == processors

    run_ranks(3, work)
    assert runs == [(6, 1)]


def test_not_more_threads_than_processors(runs, monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(_host_pool, "usable_processors", lambda: np.arange(2))
    run_ranks(5, lambda comm: distributed.fit(MulticlassSVC(n_jobs=1), X, y, comm=comm))
    assert runs == [(2, 1)]


def test_ranks_whose_processors_are_kept_apart_solve_apart(runs, monkeypatch):
    X, y = make_data()
    calls = {}

    def own():
        name = threading.get_ident()
        calls.setdefault(name, len(calls))
        return np.array([calls[name]])  # whatever is asked for: a container's limit

    monkeypatch.setattr(_host_pool, "usable_processors", own)
    run_ranks(2, lambda comm: distributed.fit(MulticlassSVC(random_state=0), X, y, comm=comm))
    assert [size for _, size in runs] == [2, 2]


def test_an_error_of_the_solving_rank_is_raised_by_all(monkeypatch):
    X, y = make_data()
    failed = []

    def broken(self, start=None):
        raise RuntimeError("no more")

    monkeypatch.setattr(BaseSolver, "run", broken)

    def work(comm):
        with pytest.raises(RuntimeError, match="no more"):
            distributed.fit(MulticlassSVC(), X, y, comm=comm)
        failed.append(comm.rank)

    run_ranks(3, work)
    assert sorted(failed) == [0, 1, 2]


def test_a_folder_that_cannot_be_made_fails_on_all(tmp_path):
    X, y = make_data()
    (tmp_path / "file").write_text("")

    def work(comm):
        with pytest.raises(OSError, match="file"):
            distributed.fit(MulticlassSVC(), X, y, comm=comm, checkpoint=tmp_path / "file" / "run")

    run_ranks(2, work, hosts=[0, 0])


def test_checkpoints_go_on_with_other_hosts(tmp_path):
    X, y = make_data(n=200, d=40, k=23)

    def fit(comm, **options):
        model = MulticlassSVC("ww", random_state=0, tol=1e-4, **options)
        return distributed.fit(model, X, y, comm=comm, checkpoint=tmp_path, checkpoint_every=0)

    with pytest.warns(match="max_iter=3 was reached"):
        run_ranks(4, lambda comm: fit(comm, max_iter=3), hosts=[0, 0, 1, 1])
    found = run_ranks(3, lambda comm: fit(comm).gather(), hosts=[0, 0, 0])
    straight = MulticlassSVC("ww", random_state=0, tol=1e-4, n_bundles=4).fit(X, y)
    assert coef_bytes(found[0]) == coef_bytes(straight)


PROGRAM = """
import os, sys
import numpy as np
from multimargin import MulticlassSVC, distributed
from multimargin.parallel._mpi import world
from tests.distributed.test_fit import make_data

before = os.sched_getaffinity(0)
X, y = make_data(n=200, d=40, k=23)
model = distributed.fit(MulticlassSVC("ww", random_state=3, n_jobs=2), X, y)
model.save(sys.argv[1])
assert os.sched_getaffinity(0) == before
assert model.n_bundles_ is None, model.n_bundles_
"""


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_under_mpi(ranks, tmp_path):
    X, y = make_data(n=200, d=40, k=23)
    save_model(MulticlassSVC("ww", random_state=3, n_jobs=2).fit(X, y), tmp_path / "plain")
    result = mpiexec(
        ranks,
        ["-c", PROGRAM, tmp_path / "pooled"],
        env={"MULTIMARGIN_POOL": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert result.status == 0, result.output
    assert (tmp_path / "pooled").read_bytes() == (tmp_path / "plain").read_bytes()
