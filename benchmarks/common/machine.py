"""Where numbers were measured, and beside which versions of the peers."""

from __future__ import annotations

from pathlib import Path

import multimargin
from benchmarks.common.data import ROOT
from benchmarks.common.ranks import launcher
from benchmarks.peers._folder import versions
from reproduction.measuring._machine import commit, hardware, installed, load, software


def machine() -> dict[str, str]:
    """Processor, load, versions and commit."""
    return {
        **hardware(),
        "load before": load(),
        **software(),
        "multimargin": f"{multimargin.__version__} in {Path(multimargin.__file__).parent}",
        **versions(),
        "mpi4py": f"{installed('mpi4py')}, {launcher() or 'no mpiexec'}",
        "commit": commit(ROOT),
    }
