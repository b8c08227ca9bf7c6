"""Ranks end together, with one message and a status that is not zero."""

import signal

import pytest

from multimargin.parallel._launch import status_of
from tests.support import mpi

pytestmark = mpi.needs_mpi

HEAD = """
import os, signal, sys, time
import numpy as np
from multimargin.parallel._mpi import world
comm = world()
comm.barrier()
"""


def ranks(body, size=3, timeout=30):
    return mpi.mpiexec(size, ["-c", HEAD + body], timeout=timeout)


def test_an_exception_on_one_rank_ends_all():
    body = """
def fail():
    raise LookupError("the words of rank 1")
if comm.rank == 1:
    fail()
comm.receive((comm.rank + 1) % 3)
"""
    result = ranks(body)
    assert result.status == 1, result.output
    assert not result.timed_out
    assert "multimargin: rank 1 of 3: Traceback (most recent call last):" in result.stderr
    assert "in fail" in result.stderr
    assert result.stderr.count("LookupError: the words of rank 1") == 1


@pytest.mark.parametrize(("code", "who"), [(0, "comm"), (7, "comm.host")])
def test_a_rank_that_leaves_alone_ends_all(code, who):
    # SystemExit is no exception that a hook would see, and MPI waits for the others at the end.
    body = f"""
if comm.rank == 1:
    sys.exit({code})
{who}.allgather([np.zeros(1)])
"""
    result = ranks(body)
    assert result.status == 1, result.output
    assert result.stderr.count("rank 1 has ended while this one waits for it") == 1, result.output


def test_ranks_may_end_at_different_times():
    body = """
comm.allgather([np.zeros(1)])
if comm.rank == 1:
    if os.fork() == 0:
        import atexit
        atexit._run_exitfuncs()  # a child is no rank: its end is not that of its parent
        os._exit(3)  # not sys.exit: the end of MPI itself, in a child, would wait for ever
    os.wait()
if comm.rank == 2:
    time.sleep(2)
    comm.send([np.zeros(10_000_000)], 0).wait()
elif comm.rank == 0:
    comm.receive(2)
"""
    result = ranks(body)
    assert result.status == 0, result.output


def test_what_all_ranks_raise_is_told_once():
    result = ranks("raise LookupError('the same words')", size=2)
    assert result.status == 1
    assert result.stderr.count("LookupError: the same words") == 1, result.output
    assert "rank 0 of 2: Traceback" in result.stderr


def test_an_interrupt_of_one_rank_ends_all():
    body = """
if comm.rank == 2:
    os.kill(os.getpid(), signal.SIGINT)
comm.receive((comm.rank + 1) % 3)
"""
    result = ranks(body)
    assert result.status == 130, result.output
    assert "rank 2 of 3: Traceback" in result.stderr
    assert "KeyboardInterrupt" in result.stderr


def started(run):
    """Wait until the ranks have said that they run, and return their process ids."""
    lines = [run.line() for _ in range(3)]
    assert sorted(line.split()[0] for line in lines) == ["0", "1", "2"], lines
    return {int(rank): int(pid) for rank, pid in map(str.split, lines)}


WAITS = {
    "messages": "comm.receive((comm.rank + 1) % 3)",
    "work": "import time; time.sleep(60)",
}
RUNNING = HEAD + "print(comm.rank, os.getpid(), flush=True)\n"


@pytest.mark.parametrize(("victim", "wait"), [(0, "messages"), (2, "messages"), (2, "work")])
def test_killing_a_rank_ends_all(victim, wait):
    with mpi.Run(3, ["-c", RUNNING + WAITS[wait]], timeout=30) as run:
        pids = started(run)
        run.signal(signal.SIGKILL, pids[victim])
        result = run.finish()
        assert result.status != 0
        assert not result.timed_out
        assert f"rank {victim}" in result.stderr, result.output
        assert "signal 9 (Killed)" in result.stderr
        mpi.wait_until_gone(pids.values())


def test_interrupting_mpiexec_ends_all():
    with mpi.Run(3, ["-c", RUNNING + WAITS["messages"]], timeout=30) as run:
        pids = started(run)
        run.signal(signal.SIGINT)
        result = run.finish()
        assert result.status != 0
        assert not result.timed_out
        mpi.wait_until_gone(pids.values())


def test_killing_mpiexec_leaves_no_rank_behind():
    with mpi.Run(3, ["-c", RUNNING + WAITS["messages"]], timeout=30) as run:
        pids = started(run)
        run.signal(signal.SIGKILL)
        run.finish()
        mpi.wait_until_gone(pids.values())


def command(*args, env=None):
    return mpi.mpiexec(2, ["-m", "multimargin", *args], timeout=60, env=env)


def test_a_wrong_argument_is_told_once(tmp_path):
    result = command("train", "--C", "-1", tmp_path / "data", tmp_path / "model")
    assert result.status == 2
    assert result.stderr.count("is not a positive number") == 1, result.output
    assert result.stderr.count("try 'multimargin") == 1


def test_an_error_of_all_ranks_is_told_once(tmp_path):
    result = command("train", tmp_path / "nothing", tmp_path / "model")
    assert result.status == 1
    assert result.stderr.count("No such file") == 1, result.output
    assert "multimargin: rank 0 of 2: error: " in result.stderr
    assert "Traceback" not in result.stderr


def test_help_and_version_are_told_once():
    result = command("--version")
    assert result.status == 0
    assert result.stdout.count("multimargin") == 1


def test_mpi4py_missing_is_told_once(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("raise ImportError('no such module')")
    result = command("train", "data", "model", env={"PYTHONPATH": str(tmp_path)})
    assert result.status == 1
    assert result.stderr.count('pip install "multimargin[mpi]"') == 1, result.output


def test_a_rank_by_itself_just_raises():
    result = ranks("raise LookupError('words')", size=1)
    assert result.status == 1
    assert result.stderr.startswith("Traceback"), result.output


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError(), 1), (KeyboardInterrupt(), 130), (SystemExit(3), 3), (SystemExit(), 0)],
)
def test_status(error, status):
    assert status_of(error) == status
