"""Runs on several hosts: network namespaces with an address each, see `hosts`."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.parallel import communicator_checks
from tests.ranks import hosts
from tests.support import mpi

WHY_NOT = hosts.why_not()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

HEAD = """
import os, sys, time
import numpy as np
from multimargin.parallel._mpi import world
comm = world()
print(comm.rank, comm.host.size, os.getpid(), flush=True)
"""


@pytest.fixture
def two():
    with hosts.Hosts(2) as made:
        yield made


@pytest.fixture
def three():
    with hosts.Hosts(3) as made:
        yield made


def finished(run):
    with run:
        result = run.finish()
    assert not result.timed_out, result.output
    return result


def started(run, size):
    """Wait until all ranks have said who they are: rank, ranks on its host, process."""
    told = sorted(tuple(map(int, run.line().split())) for _ in range(size))
    assert [rank for rank, _, _ in told] == [*range(size)]
    return {rank: pid for rank, _, pid in told}


def test_communicator(two):
    result = finished(two.start(2, [communicator_checks.__file__, 5000]))
    assert result.status == 0, result.output
    assert "check_exchange" in result.stdout


def test_messages_cross_the_network_between_hosts_only(two):
    script = """
neighbour = comm.rank ^ 1  # on the same host: ranks 0 and 1 are on the first
other = (comm.rank + 2) % 4
for to in [neighbour] * 4 + [other]:
    sending = comm.send([np.zeros(500_000)], to)
    comm.receive(to)
    sending.wait()
print(comm.bytes_sent, flush=True)
"""
    before = [two.bytes_sent(k) for k in range(2)]
    result = finished(two.start(2, ["-c", HEAD + script]))
    assert result.status == 0, result.output
    lines = [[*map(int, line.split())] for line in result.stdout.splitlines()]
    assert [line[1] for line in lines if len(line) == 3] == [2] * 4  # two ranks share each host
    assert "multimargin" not in result.stderr  # the watch over hosts says nothing at a good end
    assert all(line[0] >= 20_000_000 for line in lines if len(line) == 1)
    for k in range(2):
        # Two ranks send 4 MB each to the other host, and 16 MB to each other.
        assert 8_000_000 < two.bytes_sent(k) - before[k] < 12_000_000


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(3)
    with (tmp_path / "data").open("w") as file:
        for i in range(400):
            c = i % 23
            noise = " ".join(f"{30 + j}:{v:.3f}" for j, v in enumerate(rng.random(20)))
            file.write(f"{c} {c + 1}:1 {noise}\n")
    return tmp_path / "data"


def train(data, model):
    return ["-m", "multimargin", "train", data, model, "--bundles", "8", "--threads", "1"]


@pytest.fixture
def plain(data):
    """The model file that one process writes, without MPI."""
    model = data.with_name("plain")
    command = [sys.executable, *map(str, train(data, model))]
    subprocess.run(command, check=True, capture_output=True)
    return model.read_bytes()


def test_training_gives_the_same_file(three, data, plain):
    result = finished(three.start(1, train(data, data.with_name("model"))))
    assert result.status == 0, result.output
    assert data.with_name("model").read_bytes() == plain


def test_a_slow_link_changes_nothing_else(two, data, plain):
    try:
        two.slow_down(1, "5mbit")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"tc cannot limit the rate here: {getattr(error, 'stderr', '') or error}")
    result = finished(two.start(1, train(data, data.with_name("model"))))
    assert result.status == 0, result.output
    assert data.with_name("model").read_bytes() == plain


TALK = "while True:\n    comm.allgather([np.zeros(20_000)]); time.sleep(0.02)"
WORK = "comm.barrier(); time.sleep(100)"


@pytest.mark.parametrize("occupation", [TALK, WORK], ids=["talk", "work"])
def test_a_host_that_is_cut_off_ends_the_run(three, occupation):
    env = {"MULTIMARGIN_LOST_AFTER": "5"}
    with three.start(1, ["-c", HEAD + occupation], env=env) as run:
        pids = started(run, 3)
        time.sleep(0.5)
        three.cut_off(2)
        result = run.finish()
        assert not result.timed_out
        assert result.status != 0
        expected = "rank 0 of 3: error: no sign of life from rank 2 on host3 for 5 s"
        assert expected in result.stderr, result.output
        mpi.wait_until_gone(pids.values())  # on both sides of the cut


def test_killing_a_distant_rank_ends_the_run(two):
    with two.start(1, ["-c", HEAD + TALK]) as run:
        pids = started(run, 2)
        os.kill(pids[1], signal.SIGKILL)
        result = run.finish()
        assert result.status not in (0, None)
        # Several notice at once: the launcher, the watch over hosts, and Open MPI in rank 0, which
        # may end it before the others have named the rank.
        assert any(word in result.stderr for word in ("rank 1", "host2", "Socket closed"))
        assert not result.timed_out


def test_an_exception_on_a_distant_rank_ends_the_run(two):
    fail = "if comm.rank == 1:\n    raise LookupError('far away')\ncomm.receive(1)"
    result = finished(two.start(1, ["-c", HEAD + fail]))
    assert result.status == 1
    assert "rank 1 of 2: Traceback" in result.stderr, result.output
    assert result.stderr.count("LookupError: far away") == 1


def test_a_senseless_patience_is_refused(two):
    result = finished(two.start(1, ["-c", HEAD], env={"MULTIMARGIN_LOST_AFTER": "soon"}))
    assert result.status == 1
    assert "got 'soon'" in result.stderr
