"""The launcher that started this process, by the variables that it set."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

# Variables set by launchers: Open MPI, MPICH and its relatives, MVAPICH, any with PMIx.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID")


def under_mpi() -> bool:
    """Return whether an MPI launcher (mpiexec, srun) started this process. Does not load MPI."""
    return any(name in os.environ for name in (*_RANKS, *_SIZES))


def launched_size() -> int | None:
    """Return the number of ranks that the launcher started; None if it does not say."""
    # Slurm says so for any step, but only one with PMI is a run of MPI.
    slurm = ("SLURM_STEP_NUM_TASKS",) if any(name in os.environ for name in _RANKS) else ()
    return _first_number((*_SIZES, *slurm))


def launched_rank() -> int:
    """Return the rank of this process by its launcher, 0 without one. Does not load MPI."""
    return _first_number(_RANKS) or 0


def _first_number(variables: Sequence[str]) -> int | None:
    for name in variables:
        with contextlib.suppress(KeyError, ValueError):
            return int(os.environ[name])
    return None
