"""Every communicator does what `communicator_checks` asks of it, and MPI's a little more."""

import os
import subprocess
import sys

import pytest

from multimargin.parallel._communicator import SerialCommunicator
from multimargin.parallel._mpi import launched_rank, launched_size, under_mpi, world
from tests.parallel import communicator_checks
from tests.support import mpi, rank_threads

CHECKS = [pytest.param(check, id=check.__name__) for check in communicator_checks.CHECKS]
SCRIPT = communicator_checks.__file__
LAUNCHED = ("OMPI_", "PMI_", "PMIX_", "MV2_", "PALS_", "SLURM_")


@pytest.fixture
def no_launcher(monkeypatch):
    for name in [name for name in os.environ if name.startswith(LAUNCHED)]:
        monkeypatch.delenv(name)
    world.cache_clear()
    yield monkeypatch
    world.cache_clear()


@pytest.mark.parametrize("check", CHECKS)
def test_serial(check):
    check(SerialCommunicator())


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("check", CHECKS)
def test_threads(check, size):
    rank_threads.run_ranks(size, check)


@mpi.needs_mpi
@pytest.mark.parametrize(("size", "chunk"), [(1, 0), (1, 64), (2, 777), (3, 0), (4, 9001)])
def test_ranks(size, chunk):
    """With whole messages (0) and in pieces so small that each message has many."""
    result = mpi.mpiexec(size, [SCRIPT, chunk])
    assert result.status == 0, result.output
    done = result.stdout.split()
    assert len(done) >= len(CHECKS) - 1
    assert set(done) <= {check.__name__ for check in communicator_checks.CHECKS}


@mpi.needs_mpi
def test_a_users_own_messages_are_not_mixed_up():
    script = """
import numpy as np
from mpi4py import MPI
from multimargin.parallel._mpi import world
comm, own = world(), MPI.COMM_WORLD
other = 1 - own.rank
for tag in (0, 1, 2):  # also those that the communicator itself uses
    own.Isend(np.full(3, -1.0), other, tag)
comm.send([np.arange(4.0)], other).wait()
assert (comm.receive(other)[0] == np.arange(4.0)).all()
for tag in (0, 1, 2):
    got = np.empty(3)
    own.Recv(got, other, tag)
    assert (got == -1).all()
assert world() is comm
print("fine")
"""
    result = mpi.mpiexec(2, ["-c", script])
    assert (result.status, result.stdout) == (0, "fine\nfine\n"), result.output


@mpi.needs_mpi
def test_waiting_leaves_the_core_to_others():
    """A rank that waits for two seconds uses a small part of them."""
    script = """
import time
import numpy as np
from multimargin.parallel._mpi import world
comm = world()
comm.barrier()
if comm.rank == 0:
    time.sleep(2)
    comm.send([np.zeros(1)], 1).wait()
else:
    start = time.process_time()
    comm.receive(0)
    print(time.process_time() - start)
"""
    result = mpi.mpiexec(2, ["-c", script])
    assert float(result.stdout) < 0.8, result.output


@mpi.needs_mpi
def test_refusals():
    script = """
import numpy as np
from multimargin.parallel._mpi import MpiCommunicator, world
from mpi4py import MPI
comm = world()
def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
refused(TypeError, "arrays of numbers", lambda: comm.send([np.array([None])], 1 - comm.rank))
refused(TypeError, "arrays of numbers", lambda: comm.send([np.zeros(2, "i4,f8")], 1 - comm.rank))
refused(ValueError, "no rank 2 among 2", lambda: comm.send([], 2))
refused(ValueError, "no rank -1 among 2", lambda: comm.receive(-1))
refused(ValueError, "2 messages each, got 3", lambda: comm.alltoall([[]] * 3))
refused(ValueError, "at least 1", lambda: MpiCommunicator(MPI.COMM_WORLD, chunk=0))
if comm.rank == 0:
    refused(ValueError, "needs a message", lambda: comm.broadcast(None))
    refused(ValueError, "one type and shape", lambda: comm.allreduce(np.zeros(2), "max"))
    comm.broadcast([np.zeros(1)])
else:
    comm.allreduce(np.zeros(3), "max")
comm.barrier()
print("fine")
"""
    result = mpi.mpiexec(2, ["-c", script])
    assert (result.status, result.stdout) == (0, "fine\nfine\n"), result.output


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


@mpi.needs_mpi
def test_a_launcher_of_another_mpi_is_noticed():
    """Then each of its processes would believe to be alone, and all write the same file."""
    env = {name: v for name, v in os.environ.items() if not name.startswith(LAUNCHED)}
    env |= {"MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_RANK": "0", "OMPI_MCA_btl": "^ofi"}
    script = "from multimargin.parallel._mpi import world; world()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "started 4 ranks, but mpi4py sees 1" in done.stderr
