"""Fits that are measured in processes and on ranks of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin.datasets._sets import SetUnavailableError
from multimargin.parallel._communicator import SerialCommunicator
from reproduction.experiments._speedup import BUNDLES
from reproduction.measuring import _own_process, _ranks
from reproduction.measuring._own_process import Job, OwnProcessError, measured_apart, model_hash
from tests.support import mpi


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with a tiny set, under a name of the catalogue."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("data")
    (folder / "xcsvm-iris").mkdir()
    lines = []
    for i in range(60):
        values = rng.normal(size=4) + np.eye(4)[i % 3]
        lines.append(f"{i % 3} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(values)))
    (folder / "xcsvm-iris" / "train.libsvm").write_text("\n".join(lines) + "\n")
    return folder


def job(folder, **more):
    parameters = {"formulation": "llw", "solver": "alternating", "n_bundles": BUNDLES}
    parameters |= {"max_iter": 10, "tol": 1e-12, "shrinking": False, "random_state": 0}
    return Job("xcsvm-iris", str(folder), parameters, **more)


@pytest.fixture(scope="module")
def alone(folder):
    return measured_apart(job(folder, threads=2))


def test_a_process_of_its_own(alone):
    assert alone["shape"] == [60, 4, 3] and alone["passes"] == 10
    assert 0 < alone["seconds"] < 60 and alone["cpu_seconds"] > 0
    assert 10 < alone["peak_mb"] == alone["peak_mb_per_rank"] < 2000
    assert not alone["converged"] and alone["gap"] > 0


@mpi.needs_mpi
def test_ranks_give_the_same_bits(folder, alone):
    together = measured_apart(job(folder, ranks=2))
    assert together["model"] == alone["model"]
    assert together["peak_mb"] > together["peak_mb_per_rank"]


def test_passes_without_a_scan_between_them(folder):
    parameters = {"formulation": "ww", "solver": "passes", "stopping": "violation", "tol": 1e-6}
    parameters |= {"max_iter": 10, "shrinking": False, "random_state": 0}
    found = [
        measured_apart(Job("generator-small", str(folder), parameters, one_scan=one))
        for one in (False, True)
    ]
    assert [run["passes"] for run in found] == [10, 10]
    assert found[0]["scans"] > found[1]["scans"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {"C": -1.0}}, "ValueError: C"),
        ({"dataset": "xcsvm-glass"}, "SetUnavailableError: xcsvm-glass is not on this machine"),
    ],
)
def test_what_went_wrong_is_said(folder, change, message, monkeypatch, capsys):
    failing = asdict(replace(job(folder), **change))
    monkeypatch.setattr(sys, "argv", ["", json.dumps(failing)])
    with pytest.raises((ValueError, SetUnavailableError)):
        _own_process.main()
    with pytest.raises(OwnProcessError, match=message):
        _own_process._result(1, capsys.readouterr().out, "Traceback ...")


def test_how_a_process_ended_is_said():
    with pytest.raises(OwnProcessError, match=r"ended by SIGKILL \(out of memory\?\)"):
        _own_process._result(-signal.SIGKILL, "", "")
    with pytest.raises(OwnProcessError, match="status 3: no such thing"):
        _own_process._result(3, "not JSON\n", "no such thing\n")
    with pytest.raises(OwnProcessError, match="status 0: it said nothing"):
        _own_process._result(0, "", "")


@pytest.fixture
def sleepers(monkeypatch):
    """Start, instead of a fit, a process that starts another one, and sleeps."""
    inner = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    outer = [sys.executable, "-S", "-c", f"import subprocess; subprocess.run({inner})"]
    monkeypatch.setattr(_own_process, "command", lambda ranks, args: outer)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="finds processes by /proc"
)


@needs_proc
def test_what_does_not_end_is_ended(folder, sleepers, monkeypatch):
    ended = []
    monkeypatch.setattr(_own_process, "kill", lambda pid: ended.append(pid) or _ranks.kill(pid))
    with pytest.raises(OwnProcessError, match="ended after 2 s without a result"):
        measured_apart(job(folder), give_up_after=2)
    assert ended and not running(ended)


@needs_proc
def test_interrupts_end_what_was_started(folder, sleepers):
    """As Ctrl-C does, but told to this process alone: it has to end the others itself."""
    before, started = set(_ranks.descendants(os.getpid())), set()

    def interrupt():
        deadline = time.monotonic() + 20
        while len(started) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
            started.update(set(_ranks.descendants(os.getpid())) - before)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        measured_apart(job(folder))
    thread.join()
    assert len(started) == 2 and not running(started)


def running(pids):
    """Those that have not ended. Who was killed may be there until its parent takes notice."""
    deadline = time.monotonic() + 5
    left = list(pids)
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if _state(pid) not in ("", "Z")]
        time.sleep(0.01)
    return left


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_a_models_name_does_not_depend_on_its_form():
    weights = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]], dtype=np.float32)
    comm = SerialCommunicator()
    assert model_hash(weights, comm) == model_hash(sp.csr_matrix(weights), comm)
    changed = weights.copy()
    changed[1, 2] = np.nextafter(np.float32(-1.0), np.float32(0.0))
    assert model_hash(weights, comm) != model_hash(changed, comm)
    assert model_hash(weights, comm) != model_hash(weights[::-1], comm)
