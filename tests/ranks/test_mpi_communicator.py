"""The communicator over MPI does what `communicator_checks` asks of it, and a little more."""

import os
import subprocess
import sys

import pytest

from tests.parallel import communicator_checks
from tests.parallel.communicator_checks import CHECKS, LAUNCHED
from tests.support import mpi

SCRIPT = communicator_checks.__file__


@mpi.needs_mpi
@pytest.mark.parametrize(("size", "chunk"), [(1, 64), (2, 777), (3, 0), (4, 9001)])
def test_ranks(size, chunk):
    """With whole messages (0) and in pieces so small that each message has many."""
    result = mpi.mpiexec(size, [SCRIPT, chunk])
    assert result.status == 0, result.output
    done = result.stdout.split()
    assert len(done) >= len(CHECKS) - 1
    assert set(done) <= {check.__name__ for check in CHECKS}


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
    """A rank that waits lets go of its core again and again; one that asks without end does not."""
    script = """
import resource, time
import numpy as np
from multimargin.parallel._mpi import world
comm = world()
comm.barrier()
if comm.rank == 0:
    time.sleep(2)
    comm.send([np.zeros(1)], 1).wait()
else:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    comm.receive(0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before)
"""
    result = mpi.mpiexec(2, ["-c", script])
    # A thousand on an idle machine.
    assert int(result.stdout) > 50, result.output


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
