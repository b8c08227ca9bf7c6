"""Start Python on several ranks by ``mpiexec``, and find the processes below another."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

MPIEXEC = "MULTIMARGIN_MPIEXEC"
"""The variable that names the launcher, where it is neither beside Python nor on the path."""

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
"""Variables for measured processes: their threads are those they are told to use, and none come in
through libraries."""

POOL = "MULTIMARGIN_POOL"
"""Variable that lets the ranks of a host solve as one ("1") or each by itself ("0")."""

# Ranks stand for hosts, of which this machine is one. Open MPI as root, with more ranks than cores,
# and without libfabric, which is not used on one machine and sleeps for a second at the start.
# Other launchers ignore all of it.
_VARIABLES = {
    POOL: "0",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_btl": "^ofi",
}


_ROOT = Path(__file__).resolve().parents[2]


def launcher() -> str | None:
    """Return the ``mpiexec`` to use: $MULTIMARGIN_MPIEXEC, else beside Python, else on the path."""
    if given := os.environ.get(MPIEXEC):
        return given
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def why_not() -> str | None:
    """Return why ranks cannot be started on this machine; None if they can."""
    if importlib.util.find_spec("mpi4py") is None:
        return 'mpi4py is not installed (pip install "multimargin[mpi]")'
    if launcher() is None:
        return f'no mpiexec (pip install "multimargin[mpi]", or name one by {MPIEXEC})'
    return None


def environment() -> dict[str, str]:
    """Return the variables of a run on ranks; those that are set already stay.

    Python finds the packages of this repository, which are not installed, from any folder.
    """
    paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
    found = {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return _VARIABLES | dict(os.environ) | found


def command(ranks: int | None, python_args: Sequence[str]) -> list[str]:
    """Return the command line of Python on so many ranks; None: without ``mpiexec``."""
    python = [sys.executable, *python_args]
    if ranks is None:
        return python
    found = launcher()
    if found is None:
        raise RuntimeError(why_not())
    return [found, "-n", str(ranks), *python]


def kill(pid: int) -> bool:
    """Send SIGKILL; return whether there still was such a process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes below ``pid`` (Linux; elsewhere none are found).

    Ranks have process groups of their own: they are found through ``mpiexec`` while it lives.
    """
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found
