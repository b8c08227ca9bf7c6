"""A real Ctrl-C in the middle of ``multimargin train``: what becomes of the model so far."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

from multimargin import load_model
from multimargin.cli import main

pytestmark = pytest.mark.timeout(120)
TRAIN = [sys.executable, "-m", "multimargin", "train", "hard.svm", "m"]
# Nobody reaches this tolerance, so the training goes on until it is interrupted.
ENDLESS = ["--C", "10", "--tol", "1e-13", "--dtype", "float64", "--max-iter", "100000000"]


@pytest.fixture
def hard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, W = rng.random((4000, 40)), rng.normal(size=(40, 200))
    labels = (X @ W + rng.normal(size=(4000, 200))).argmax(axis=1)
    rows = (" ".join(f"{j}:{value:.3f}" for j, value in enumerate(row, 1)) for row in X)
    (tmp_path / "hard.svm").write_text(
        "".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True))
    )
    return tmp_path


def interrupted(*options, after=1.0, times=1, until="pass"):
    """Interrupt a training some time after its progress bar said `until`.

    Return its status and what it said.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen([*TRAIN, *ENDLESS, *options], text=True, **pipes) as process:
        assert "read 4,000 samples" in process.stderr.readline()
        said = ""
        while not re.search(until, said):  # on a busy machine it may take a while
            said += (read := process.stderr.read(1))
            assert read, f"the training ended: {said}"
        time.sleep(after)
        assert process.poll() is None
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        out, err = process.communicate(timeout=90)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_without_a_terminal_the_model_is_discarded(hard):
    for options in ([], ["--on-interrupt", "discard"]):
        status, out, err = interrupted(*options)
        assert (status, out) == (130, "")
        assert err.endswith("multimargin: interrupted\n")
        assert sorted(path.name for path in hard.iterdir()) == ["hard.svm"]


@pytest.mark.parametrize(
    "options",
    [
        ["--formulation", "ww"],
        ["--formulation", "cs"],
        # Newton steps would end it by themselves within a second: rounding allows no more.
        ["--formulation", "ovr", "--solver", "passes"],
        ["--formulation", "llw"],
        ["--formulation", "llw", "--solver", "alternating"],
        ["--keep-dual"],
        ["--checkpoint", "state"],
    ],
    ids=" ".join,
)
def test_the_model_so_far_is_kept(hard, options):
    # The first certificate of bundles may come late, and zero weights have a gap of 74 %.
    until = r"gap [1-4]?\d\.\d+%" if "--checkpoint" in options else "pass"
    kept = "--on-interrupt", "keep", "--json"
    status, out, err = interrupted(*options, *kept, until=until)
    assert (status, out != "") == (130, True), err
    result = json.loads(out)
    assert result["converged"] is False
    model = load_model("m", verify=True)
    assert model.dual_gap_ == result["gap"]
    assert 1e-13 < model.dual_gap_ < 1
    assert model.model_density_ > 0
    assert "ending with the model so far; Ctrl-C again ends at once" in err
    assert f"saving the model so far as m (duality gap {result['gap']:.3g}, 1e-13 was" in err
    assert "Ctrl-C ended the training" in err
    assert (hard / "state").exists() == ("--checkpoint" in options)
    # What is claimed is true of what was saved.
    if options[0] == "--formulation" and "alternating" not in options:
        assert main(["evaluate", "m", "hard.svm", "--certify"]) == 0


def test_a_second_time_ends_at_once(hard):
    for _ in range(10):
        status, out, err = interrupted("--formulation", "ww", "--on-interrupt", "keep", times=2)
        if not (hard / "m").exists():
            break
        (hard / "m").unlink()  # it was saved before the second signal came
    assert (status, out) == (130, "")
    assert err.endswith("multimargin: interrupted\n")
    assert sorted(path.name for path in hard.iterdir()) == ["hard.svm"]


def test_before_the_training_nothing_is_kept(hard):
    """There is no run to end: Ctrl-C ends the command as ever."""
    with subprocess.Popen(
        [*TRAIN[:-2], "/dev/stdin", "m", *ENDLESS, "--on-interrupt", "keep"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "multimargin: interrupted\n"
        process.stdin.close()
        assert process.wait(60) == 130
    assert not (hard / "m").exists()


@pytest.mark.parametrize(("answer", "kept"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(hard, answer, kept):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    with subprocess.Popen(
        [*TRAIN, *ENDLESS], stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        wait_for(ours, rb"about [^|,]* left, gap [^|]*, pass \d+")
        process.send_signal(signal.SIGINT)
        seen = wait_for(ours, rb"Save the model so far as m \(duality gap .*\)\? \[y/N\] ")
        os.write(ours, answer.encode())
        rest = wait_for(ours, None)
        assert process.wait(60) == 130
    os.close(ours)
    assert (hard / "m").exists() == kept
    assert b"ending with the model so far" in seen
    if kept:
        assert load_model("m", verify=True).converged_ is False
    else:
        assert b"multimargin: interrupted" in rest


def wait_for(terminal, pattern):
    """Read until a pattern has come, or to the end; return what was read."""
    seen, end = b"", time.monotonic() + 60
    while pattern is None or not re.search(pattern, seen):
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            try:
                more = os.read(terminal, 1 << 16)
            except OSError:  # what a terminal says at its end
                more = b""
            if not more:
                assert pattern is None, seen
                break
            seen += more
    return seen


def test_a_training_that_ends_by_itself_is_not_interrupted(hard, capsys):
    assert (
        main(["train", "hard.svm", "m", "--tol", "0.5", "--on-interrupt", "keep", "--quiet"]) == 0
    )
    assert load_model("m").converged_
    assert capsys.readouterr().err == ""
