"""The folder of checkpoints: what is removed, who may write there, and kills at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

from multimargin.checkpoints import _lock, _store
from multimargin.checkpoints._store import Checkpoints
from multimargin.parallel._communicator import SerialCommunicator
from tests.checkpoints.steps import IDENTITY, write_steps
from tests.support.paths import ROOT
from tests.support.rank_threads import run_ranks


def test_the_folder_must_have_a_name():
    with pytest.raises(ValueError, match="empty name"):
        Checkpoints("", 0, SerialCommunicator(), {})


def test_remove_takes_only_what_was_made(tmp_path):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 2)
    (folder / "step-000001" / "notes.txt").write_text("mine")
    (folder / "readme").write_text("mine")

    def work(comm):
        checkpoints = Checkpoints(folder, 0, comm, IDENTITY)
        checkpoints.remove()
        with pytest.raises(RuntimeError, match="closed"):
            checkpoints.read()

    run_ranks(2, work)
    left = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert left == ["readme", "step-000001/notes.txt"]


def test_remove_takes_the_folder_if_a_run_had_made_it(tmp_path):
    made, given = tmp_path / "made", tmp_path / "given"
    given.mkdir()
    for folder in (made, given):
        write_steps(folder, 1, 1, 1)
        Checkpoints(folder, 0, SerialCommunicator(), IDENTITY).remove()  # a second run
    assert not made.exists()
    assert list(given.iterdir()) == []


def test_a_second_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_store, "_PATIENCE", 0.2)
    first = Checkpoints(tmp_path / "c", 0, SerialCommunicator(), IDENTITY)
    with pytest.raises(OSError, match=f"another run .process {os.getpid()} on .*another folder"):
        run_ranks(2, lambda comm: Checkpoints(tmp_path / "c", 0, comm, IDENTITY))
    first.close()
    Checkpoints(tmp_path / "c", 0, SerialCommunicator(), IDENTITY).close()


def test_a_lock_is_waited_for(tmp_path):
    first = Checkpoints(tmp_path / "c", 0, SerialCommunicator(), IDENTITY)

    def work(comm):
        if comm.rank == 1:
            time.sleep(0.3)
            first.remove()  # the lock file goes, too: it must be made anew
        else:
            Checkpoints(tmp_path / "c", 0, SerialCommunicator(), IDENTITY).close()

    run_ranks(2, work)
    assert (tmp_path / "c" / _lock.NAME).exists()


def test_an_unshared_folder_is_refused(tmp_path):
    def work(comm):
        # As if it were one path, which is another folder on another host.
        folder = tmp_path / f"host-{comm.rank // 2}"
        folder.mkdir(exist_ok=True)
        Checkpoints(folder, 0, comm, IDENTITY)

    with pytest.raises(OSError, match=r"rank 2 .*does not see what rank 0.*all ranks share"):
        run_ranks(3, work)
    assert not list(tmp_path.rglob(".token*"))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    for folder, kind in (("no/c", FileNotFoundError), ("file", NotADirectoryError)):
        failures = []

        def work(comm, folder=folder, kind=kind, failures=failures):
            with pytest.raises(kind) as error:
                Checkpoints(tmp_path / folder, 0, comm, IDENTITY)
            failures.append(error.value.filename)

        run_ranks(2, work)
        assert len(failures) == 2


WRITER = textwrap.dedent("""
    import sys
    import numpy as np
    from tests.support.rank_threads import run_ranks
    from multimargin.checkpoints._store import Checkpoints

    def work(comm):
        checkpoints = Checkpoints(sys.argv[1], 0, comm, {"seed": 1})
        found = checkpoints.read()
        step = 0 if found is None else found.common["step"]
        while True:
            step += 1
            values = np.full(20000, step * 2 + comm.rank)
            checkpoints.write({"step": step}, {f"part-{comm.rank}": {"values": values}})
            if comm.rank == 0:
                print(step, flush=True)

    run_ranks(2, work)
""")


def test_kills_at_any_moment_leave_a_complete_one(tmp_path):
    folder = tmp_path / "c"
    generator = random.Random(1)
    tests = ROOT
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tests}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    reported = 0
    for _ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WRITER, str(folder)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        first = writer.stdout.readline()  # before that it imports
        time.sleep(generator.uniform(0, 0.15))
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0].splitlines()
        reported = int([first, *rest][-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checkpoints = Checkpoints(folder, 0, SerialCommunicator(), {"seed": 1})
            found = checkpoints.read()
        step = found.common["step"]
        # What was reported is durable; one more may have been finished and not reported.
        assert reported <= step <= reported + 1
        for rank in range(2):
            values = found.part(f"part-{rank}")["values"]
            assert len(values) == 20000
            assert (values == step * 2 + rank).all()
        checkpoints.close()
    assert reported > 6
    Checkpoints(folder, 0, SerialCommunicator(), {"seed": 1}).remove()
    assert not folder.exists()
