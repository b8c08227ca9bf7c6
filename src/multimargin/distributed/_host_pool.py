"""Pools: the ranks of a host solve as one.

Within a host, threads read each other's weights where ranks would have to send them. So the first
rank of each host solves, with the threads and the processors of all its ranks. The others sleep
until it is done; then the model is divided among all. Hosts exchange what ranks would.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.estimator._fit import CheckpointFolder, Fit, Solved
from multimargin.parallel._collectives import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._threads import usable_processors
from multimargin.solvers._records import Observer, Weights, packed, unpacked
from multimargin.solvers._solution import Solution

POOL = "MULTIMARGIN_POOL"  # environment variable of rank 0: "0" leaves every rank to itself


def solve_by_hosts(
    fit: Fit,
    observers: list[Observer],
    *,
    threads: int,
    comm: Communicator,
    folder: CheckpointFolder | None,
) -> Solved:
    """Solve as `Fit.solve` does, with the ranks of each host as one; called by all ranks.

    A rank that is not the first of its host gets a solution without classes.
    """
    host, cpus = comm.host, _processors(comm)
    if not _pooled(comm, cpus):
        return fit.solve(observers, threads=threads, comm=comm, folder=folder)
    of_all = int(host.allreduce(np.array([threads]), "sum")[0])
    solving, solved = comm.first_of_hosts, None
    with raise_on_all(host):
        if solving is not None:
            with _running_on(cpus):
                threads = max(threads, min(of_all, len(cpus)))
                solved = fit.solve(observers, threads=threads, comm=solving, folder=folder)
    return _told(host, solved, fit)


def solving_ranks(comm: Communicator) -> Communicator | None:
    """Return those that `solve_by_hosts` lets solve, None on the others; called by all ranks."""
    return comm.first_of_hosts if _pooled(comm, _processors(comm)) else comm


def _processors(comm: Communicator) -> NDArray[np.int64]:
    every = comm.host.allgather([usable_processors()])
    return np.unique(np.concatenate([part for (part,) in every]))


def _pooled(comm: Communicator, cpus: NDArray[np.int64]) -> bool:
    """Say whether ranks solve as one: where some host has two, and their processors are shared."""
    with _running_on(cpus):
        # A container may keep them from each other.
        shared = np.isin(cpus, usable_processors()).all()
    wanted = broadcast_value(comm, os.environ.get(POOL, "1") != "0")
    least = int(comm.allreduce(np.array([comm.host.rank > 0 or shared], dtype=np.int64), "min")[0])
    most = int(comm.allreduce(np.array([comm.host.size]), "max")[0])
    return bool(wanted and least and most > 1)


@contextlib.contextmanager
def _running_on(cpus: NDArray[np.int64]) -> Iterator[None]:
    """Let threads that begin here use these processors, if they may: launchers bind ranks."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cpus.tolist())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _told(host: Communicator, solved: Solved | None, fit: Fit) -> Solved:
    """Return what the first rank of a host found, elsewhere without its weights."""
    found = None
    if solved is not None:
        solution = solved.solution
        history = packed(solution.history).tolist()
        dense = isinstance(solution.weights.coef, np.ndarray)
        found = [
            [solution.passes, solution.ended_by, solution.is_zero, history],
            [solved.bundles, solved.engine, dense],
        ]
    (passes, ended_by, is_zero, history), (bundles, engine, dense) = broadcast_value(host, found)
    if solved is not None:
        return solved
    dtype, shape = fit.problem.X.dtype, (0, fit.problem.X.shape[1])
    none = np.empty(shape, dtype) if dense else sp.csr_matrix(shape, dtype=dtype)
    weights = Weights(none, np.empty(0, dtype), np.empty(0, np.int32))
    records = unpacked(np.array(history))
    solution = Solution(weights, None, passes, ended_by, records, is_zero)
    return Solved(solution, bundles, None, engine)
