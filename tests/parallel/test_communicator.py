"""Communicators of one rank and of threads, and whether MPI has started this process."""

import os
import sys

import pytest

from multimargin.parallel._communicator import SerialCommunicator
from multimargin.parallel._launcher import launched_rank, launched_size, under_mpi
from multimargin.parallel._mpi import world
from tests.parallel.communicator_checks import CHECKS, LAUNCHED
from tests.support import rank_threads


@pytest.fixture
def no_launcher(monkeypatch):
    for name in [name for name in os.environ if name.startswith(LAUNCHED)]:
        monkeypatch.delenv(name)
    world.cache_clear()
    yield monkeypatch
    world.cache_clear()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_serial(check):
    check(SerialCommunicator())


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_threads(check, size):
    rank_threads.run_ranks(size, check)


def test_without_a_launcher_there_is_one_rank(no_launcher):
    assert not under_mpi()
    assert launched_size() is None
    assert launched_rank() == 0
    assert isinstance(world(), SerialCommunicator)


@pytest.mark.parametrize(
    ("variables", "rank", "size"),
    [
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "5"}, 2, 5),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, 1, 4),
        ({"PMIX_RANK": "3", "SLURM_STEP_NUM_TASKS": "8"}, 3, 8),
        ({"PMIX_RANK": "3"}, 3, None),
    ],
)
def test_launchers_are_recognised(no_launcher, variables, rank, size):
    for name, value in variables.items():
        no_launcher.setenv(name, value)
    assert under_mpi()
    assert (launched_rank(), launched_size()) == (rank, size)


def test_a_batch_script_of_slurm_is_not_mpi(no_launcher):
    for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"):
        no_launcher.setenv(name, "4")
    assert not under_mpi()
    assert launched_size() is None


def without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)


def test_mpi4py_is_missing(no_launcher):
    without_mpi4py(no_launcher)
    no_launcher.setenv("PMI_RANK", "0")
    no_launcher.setenv("PMI_SIZE", "2")
    with pytest.raises(RuntimeError, match=r'pip install "multimargin\[mpi\]"'):
        world()


def test_one_rank_needs_no_mpi4py(no_launcher):
    without_mpi4py(no_launcher)
    no_launcher.setenv("PMI_RANK", "0")
    no_launcher.setenv("PMI_SIZE", "1")
    assert isinstance(world(), SerialCommunicator)
