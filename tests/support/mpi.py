"""Run Python on several ranks, for tests; skip where there is no MPI."""

from __future__ import annotations

import importlib.util
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from reproduction.measuring._ranks import descendants
from tests.support.paths import ROOT

_BESIDE = Path(sys.executable).parent / "mpiexec"
MPIEXEC = str(_BESIDE) if _BESIDE.exists() else shutil.which("mpiexec")


def why_not():
    """The reason why there is no MPI here, or an empty string."""
    if importlib.util.find_spec("mpi4py") is None:
        return 'mpi4py is missing (pip install "multimargin[mpi]")'
    if MPIEXEC is None:
        return 'mpiexec is missing (pip install "multimargin[mpi]", or an MPI of the system)'
    return ""


needs_mpi = pytest.mark.skipif(bool(why_not()), reason=why_not())


def environment(env=None):
    """The variables of a run: Open MPI as root, on fewer cores than ranks; others ignore them."""
    variables = dict(os.environ)
    variables.update(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
        PRTE_MCA_hwloc_default_binding_policy="none",
        OMPI_MCA_btl="^ofi",  # libfabric sleeps for one second at the start, and is not used here
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        PYTHONPATH=os.pathsep.join([str(ROOT), *filter(None, [variables.get("PYTHONPATH")])]),
    )
    variables.update(env or {})
    return variables


@dataclass
class Result:
    """How a run ended; ``timed_out`` runs were killed and have the status of that signal."""

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def output(self):
        return self.stdout + self.stderr


class Run:
    """``args`` of Python on ``n`` ranks, started; `finish` waits for it, at most ``timeout`` s.

    ``options`` are those of mpiexec, ``launcher`` a command that runs what it is given in a shell.
    The whole of it, mpiexec and all ranks, is killed when the time is over or the block is left.
    """

    def __init__(self, n, args, timeout=60.0, env=None, cwd=None, options=(), launcher=()):
        self._timeout, self._started = timeout, time.monotonic()
        command = [MPIEXEC, "-n", str(n), *options, sys.executable, *map(str, args)]
        if launcher:
            command = [*launcher, shlex.join(command)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment(env),
            cwd=cwd,
            start_new_session=True,
        )
        self._out, self._err = _Reader(self.process.stdout), _Reader(self.process.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def ranks(self):
        """The process ids of the ranks: Python, below mpiexec."""
        return [pid for pid in descendants(self.process.pid) if _is_python(pid)]

    def signal(self, number, pid=None):
        os.kill(self.process.pid if pid is None else pid, number)

    def kill(self):
        # Ranks have process groups of their own: first find them, then end mpiexec.
        pids = [self.process.pid, *descendants(self.process.pid)]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def line(self):
        """The next line of stdout, waited for."""
        return self._out.line(self._left())

    def finish(self):
        timed_out = False
        try:
            self.process.wait(self._left())
        except subprocess.TimeoutExpired:
            timed_out = True
            self.kill()
            self.process.wait()
        stdout, stderr = self._out.rest(), self._err.rest()
        return Result(self.process.returncode, stdout, stderr, timed_out)

    def _left(self):
        return max(0.01, self._timeout - (time.monotonic() - self._started))


class _Reader:
    """The lines of a pipe. Its other end may be held by daemons that outlive the run."""

    def __init__(self, pipe):
        self._pipe, self._lines = pipe, queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with self._pipe:
            for line in self._pipe:
                self._lines.put(line)

    def line(self, timeout):
        return self._lines.get(timeout=timeout)

    def rest(self):
        self._thread.join(timeout=2)
        return "".join(self._lines.get() for _ in range(self._lines.qsize()))


def mpiexec(n, args, timeout=60.0, env=None, cwd=None, options=()):
    """Run Python with ``args`` on ``n`` ranks and return how it ended."""
    with Run(n, args, timeout, env, cwd, options) as run:
        result = run.finish()
    assert not result.timed_out, f"{args} on {n} ranks: no end in {timeout} s\n{result.output}"
    return result


def alive(pids):
    """Those of the processes that still run; one that is dead but not buried does not."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def wait_until_gone(pids):
    """Wait for processes to end; pytest's time limit ends the wait."""
    while alive(pids):
        time.sleep(0.02)


def _is_python(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == os.fsencode(
            sys.executable
        )
    except OSError:
        return False
