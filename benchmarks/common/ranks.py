"""Commands on several ranks that are watched, ended or killed while they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.common.data import ROOT
from reproduction.measuring._ranks import (
    MPIEXEC,
    ONE_THREAD,
    POOL,
    command,
    descendants,
    environment,
    kill,
    launcher,
    why_not,
)

__all__ = [
    "MPIEXEC",
    "ONE_THREAD",
    "POOL",
    "Started",
    "command",
    "environment",
    "kill",
    "launcher",
    "running",
    "why_not",
]


class Started:
    """A run on ranks under way; leaving the block ends what is left of it.

    Parameters
    ----------
    ranks : int or None
        None: one process without ``mpiexec``.
    python_args : sequence of str
    cwd : Path
    variables : mapping of str to str
        Besides those of `environment`.
    """

    def __init__(
        self,
        ranks: int | None,
        python_args: Sequence[str],
        cwd: Path = ROOT,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.began = time.monotonic()
        self._by_launcher = ranks is not None
        self.process = subprocess.Popen(
            command(ranks, python_args),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment() | dict(variables or {}),
            cwd=cwd,
        )

    def __enter__(self) -> Started:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Ranks have process groups of their own: found through mpiexec while it lives.
        if self.process.poll() is None:
            for pid in [self.process.pid, *descendants(self.process.pid)]:
                kill(pid)
            self.process.wait()

    def ranks(self) -> list[int]:
        """Process ids of the ranks that run now (Linux)."""
        if not self._by_launcher:
            return [self.process.pid]
        return [pid for pid in descendants(self.process.pid) if _is_python(pid)]

    def end(self, timeout: float) -> tuple[int, str]:
        """Exit status and what was said on stderr; TimeoutExpired if it does not end in time."""
        _, said = self.process.communicate(timeout=timeout)
        return self.process.returncode, said


def running(pids: Sequence[int]) -> list[int]:
    """Those that are there and not dead already."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def _is_python(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == os.fsencode(
            sys.executable
        )
    except OSError:
        return False
