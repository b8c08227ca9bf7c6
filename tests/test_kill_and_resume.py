"""Ranks that are killed: the job ends, and the same command goes on to the same bytes."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from mpi import Run, alive, needs_mpi
from test_mpi_command import write_data

from multimargin._checkpoint_folder import MANIFEST, steps
from multimargin.cli import main

pytestmark = [
    needs_mpi,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds ranks by /proc"),
]

ENDED_WITHIN = 10.0  # seconds after a kill
RESUMED = "multimargin: going on from the checkpoint in state"
# To tolerances that take many passes, each followed by a checkpoint.
TRAININGS = {
    "ww": ["--formulation", "ww", "--tol", "1e-6"],
    "cs": ["--formulation", "cs", "--tol", "1e-6"],
    "ovr": ["--formulation", "ovr", "--tol", "1e-6"],
    "llw": ["--formulation", "llw", "--C", "10", "--tol", "1e-3"],
}
# Ranks, and when one of them is killed: when so many checkpoints are there, or this is under way.
# Each run goes on from what the one before it has left.
KILLED = ((3, "start"), (2, 1), (3, "writing"), (2, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and the models of runs that nobody disturbed, without MPI."""
    folder = tmp_path_factory.mktemp("kills")
    write_data(folder / "train.svm", 400, 1, n_classes=90, n_features=120)
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        for name in TRAININGS:
            assert main(["train", *arguments(name, f"{name}.whole")[4:]]) == 0
    finally:
        os.chdir(before)
    return folder


def arguments(name, model):
    """Of Python."""
    more = ["--bundles", "6", "--threads", "1"]
    return ["-m", "multimargin", "train", "train.svm", model, *TRAININGS[name], *more]


def newest(state):
    """Number of the newest complete checkpoint, 0 without one; and of one that is being written."""
    complete = begun = 0
    if state.is_dir():
        for step in steps(state):
            if (state / f"step-{step:06d}" / MANIFEST).exists():
                complete = step
            else:
                begun = step
    return complete, begun


def reached(when, run, ranks, state, first):
    """Whether the moment for the kill has come."""
    if when == "start":
        return len(run.ranks()) == ranks
    complete, begun = newest(state)
    return begun > first if when == "writing" else complete >= first + when


def kill_one(folder, name, ranks, when, chance):
    """Run until the moment, kill one rank, and see that all ends; returns what was said."""
    state = folder / "state"
    command = [*arguments(name, "model"), "--checkpoint", "state", "--checkpoint-every", "0"]
    first = newest(state)[0]
    with Run(ranks, command, cwd=folder) as run:
        while not reached(when, run, ranks, state, first):
            assert run.process.poll() is None, run.finish().output
            time.sleep(0.002)
        pids = run.ranks()
        run.signal(signal.SIGKILL, chance.choice(pids))
        killed = time.monotonic()
        result = run.finish()
        while alive(pids) and time.monotonic() < killed + ENDED_WITHIN:
            time.sleep(0.01)
        assert time.monotonic() - killed < ENDED_WITHIN
        assert not alive(pids)
    assert result.status != 0
    assert "signal" in result.stderr, result.stderr  # mpiexec names it and the rank
    return result.stderr


@pytest.mark.parametrize("name", TRAININGS)
def test_killed_runs_end_with_the_same_bytes(folder, name):
    chance = random.Random(name)
    for ranks, when in KILLED:
        had = newest(folder / "state")[0]
        said = kill_one(folder, name, ranks, when, chance)
        # One that is killed at the start may not have come to it.
        assert when == "start" or (RESUMED in said) == (had > 0)
        assert not (folder / "model").exists()
    assert newest(folder / "state")[0] > 1
    command = [*arguments(name, "model"), "--checkpoint", "state"]
    with Run(2, command, cwd=folder) as run:
        result = run.finish()
    assert result.status == 0, result.output
    assert RESUMED in result.stderr
    assert (folder / "model").read_bytes() == (folder / f"{name}.whole").read_bytes()
    assert not (folder / "state").exists()
    (folder / "model").unlink()
