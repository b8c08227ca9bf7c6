"""Ranks that are killed: the job ends, and the same command goes on to the same bytes."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file

from multimargin.checkpoints._folder import MANIFEST, steps
from multimargin.cli import main
from multimargin.datasets import make_hierarchical_text
from tests.support.every_formulation import write_data
from tests.support.mpi import Run, needs_mpi, wait_until_gone

pytestmark = [
    needs_mpi,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds ranks by /proc"),
]

RESUMED = "multimargin: going on from the checkpoint in state"
# To tolerances that take many passes, each followed by a checkpoint. That of one-vs-rest is
# written after some of the classes: so it has more of them.
TRAININGS = {
    "ww": ["few.svm", "--formulation", "ww", "--tol", "1e-4"],
    "cs": ["few.svm", "--formulation", "cs", "--tol", "1e-5"],
    "ovr": ["many.svm", "--formulation", "ovr", "--tol", "1e-4"],
    "llw": ["few.svm", "--formulation", "llw", "--C", "10", "--tol", "1e-2"],
    "atm": ["few.svm", "--formulation", "atm", "--C", "10", "--tol", "1e-4"],
}
# Ranks, and when one of them is killed: when so many checkpoints are there, or this is under way.
# Each run goes on from what the one before it has left.
KILLED = {
    "ww": ((3, "start"), (2, 1), (3, "writing")),
    "cs": ((3, 2),),
    "ovr": ((2, "writing"), (3, 1)),
    "llw": ((2, 2),),
    "atm": ((2, 2),),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and the models of runs that nobody disturbed, without MPI."""
    folder = tmp_path_factory.mktemp("kills")
    write_data(folder / "few.svm", 400, 1, n_classes=90, n_features=120)
    X, y = make_hierarchical_text(2_500, 4_000, 1_600, random_state=0)
    dump_svmlight_file(X, y, str(folder / "many.svm"), zero_based=False)
    before = os.getcwd()  # noqa: PTH109
    (folder / "whole").mkdir()
    os.chdir(folder / "whole")
    try:
        for name in TRAININGS:
            assert main(arguments(name, name)[2:]) == 0
    finally:
        os.chdir(before)
    return folder


def arguments(name, model):
    """Of Python."""
    data, *options = TRAININGS[name]
    more = ["--bundles", "6", "--threads", "1"]
    return ["-m", "multimargin", "train", f"../{data}", model, *options, *more]


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


def reached(when, run, ranks, state, before):
    """Whether the moment for the kill has come, after what was there before."""
    if when == "start":
        return len(run.ranks()) == ranks
    complete, begun = newest(state)
    return begun > max(before) if when == "writing" else complete >= before[0] + when


def kill_one(folder, name, ranks, when, chance):
    """Run until the moment, kill one rank, and see that all ends; returns what was said."""
    state = folder / "state"
    command = [*arguments(name, "model"), "--checkpoint", "state", "--checkpoint-every", "0"]
    before = newest(state)
    with Run(ranks, command, cwd=folder) as run:
        while not reached(when, run, ranks, state, before):
            assert run.process.poll() is None, run.finish().output
            time.sleep(0.002)
        pids = run.ranks()
        run.signal(signal.SIGKILL, chance.choice(pids))
        result = run.finish()
        assert not result.timed_out
        wait_until_gone(pids)
    assert result.status != 0
    assert "signal" in result.stderr, result.stderr  # mpiexec names it and the rank
    return result.stderr


@pytest.mark.parametrize("name", TRAININGS)
def test_killed_runs_end_with_the_same_bytes(folder, name):
    place = folder / name
    place.mkdir()
    chance = random.Random(name)
    for ranks, when in KILLED[name]:
        had = newest(place / "state")[0]
        said = kill_one(place, name, ranks, when, chance)
        # One that is killed at the start may not have come to it.
        assert when == "start" or (RESUMED in said) == (had > 0)
        assert not (place / "model").exists()
    assert newest(place / "state")[0] > 0
    command = [*arguments(name, "model"), "--checkpoint", "state"]
    with Run(2, command, cwd=place) as run:
        result = run.finish()
    assert result.status == 0, result.output
    assert RESUMED in result.stderr
    assert (place / "model").read_bytes() == (folder / "whole" / name).read_bytes()
    assert not (place / "state").exists()
