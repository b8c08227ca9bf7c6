"""Where numbers were measured, and beside which versions of the peers."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

import multimargin
from benchmarks._data import ROOT
from benchmarks._ranks import launcher
from benchmarks.peers.bench_liblinear_multicore import FOLDER
from multimargin.reproduce._machine import commit, hardware, installed, load, software


def machine() -> dict[str, str]:
    """Processor, load, versions and commit."""
    return {
        **hardware(),
        "load before": load(),
        **software(),
        "multimargin": f"{multimargin.__version__} in {Path(multimargin.__file__).parent}",
        "liblinear-official": installed("liblinear-official"),
        "liblinear-multicore": _multicore(),
        "mpi4py": f"{installed('mpi4py')}, {launcher() or 'no mpiexec'}",
        "commit": commit(ROOT),
    }


def _multicore() -> str:
    """Looked for as its peer module does: it cannot be installed beside the other one."""
    found = next(iter(distributions(name="liblinear-multicore", path=[str(FOLDER)])), None)
    return "not installed" if found is None else found.version
