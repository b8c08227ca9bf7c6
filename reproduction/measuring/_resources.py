"""Cores, memory and ranks that this process may use."""

from __future__ import annotations

from multimargin.parallel._threads import thread_count
from reproduction.interface._experiment import Missing, Options
from reproduction.measuring._memory import gigabytes, needed, usable
from reproduction.measuring._ranks import MPIEXEC, why_not
from reproduction.measuring._samples import size_of


def usable_cores(options: Options) -> int:
    """Return the number of cores that fits may use: as requested, and no more than there are."""
    return max(1, min(options.threads, thread_count(-1)))


def too_large(dataset: str, formulation: str, log_c: float) -> Missing | None:
    """Return a `Missing` if a fit would not fit into the memory; None if it would."""
    taken, memory = needed(formulation, 10.0**log_c, size_of(dataset)), usable()
    if taken <= memory:
        return None
    why = f"would take about {gigabytes(taken)} of memory, and {gigabytes(memory)} can be used here"
    name = f"{dataset}, {formulation}, log C = {log_c:g}"
    return Missing(name, why, "a machine with more memory")


def possible_ranks(
    names: dict[int, str], cores: int
) -> tuple[tuple[int, ...], tuple[Missing, ...]]:
    """Return the numbers of ranks that can be measured, and what is missing for the others.

    Parameters
    ----------
    names : dict of int to str
        What runs on so many ranks are called, such as "WW-MPI-2"; one rank needs no MPI.
    cores : int
    """
    reason = why_not()
    possible, missing = [], []
    for ranks, name in names.items():
        if ranks > 1 and reason is not None:
            remedy = f'pip install "multimargin[mpi]", or name an mpiexec by {MPIEXEC}'
            missing.append(Missing(name, f"no MPI: {reason}", remedy))
        elif ranks > cores:
            plural = "core" if cores == 1 else "cores"
            why = f"{ranks} ranks need {ranks} cores, and {cores} {plural} may be used"
            missing.append(Missing(name, why, f"a machine with {ranks} cores"))
        else:
            possible.append(ranks)
    return tuple(possible), tuple(missing)
