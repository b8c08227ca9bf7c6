"""One measured run on ranks: ``mpiexec -n N python -m benchmarks.common.ranks_worker JOB``.

JOB as of `benchmarks.common.worker`. Rank 0 prints one line of JSON: the measurements as there,
with the longest time and the largest memory of any rank, the sum of processor times, and
``details`` for each rank by itself. Without ``mpiexec`` it is a run of one rank.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import multimargin
from benchmarks.common import evaluate
from benchmarks.common.data import DataUnavailableError, load
from benchmarks.common.memory import PeakRise
from benchmarks.peers import Task, peak_mb
from benchmarks.peers.bench_multimargin import TOL, estimator
from multimargin import distributed
from multimargin.distributed._data_cache import shared
from multimargin.parallel._collectives import allgather_value
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._mpi import world
from multimargin.solvers.active_set._rank_workspace import RankWorkspace


@dataclass
class Traffic:
    """Bytes that one rank sent in passes of the round robin, and how much was not zero."""

    passes: int = 0
    bytes_in_passes: int = 0
    bundles_sent: int = 0  # in passes
    weights: int = 0  # in them, that are not zero
    dense: int = 0  # weights of them, zero or not
    busy_s: float = 0.0  # of processor time in steps of the core


@contextmanager
def _watched(comm: Communicator, features: int, *, look_inside: bool) -> Iterator[Traffic]:
    """Count what the round robin sends; stays empty for formulations without one.

    Looking inside of messages takes time: not in runs that are timed.
    """
    seen, originals = Traffic(), (RankWorkspace.run_pass, RankWorkspace._pack)
    workspaces: list[RankWorkspace] = []
    packed: list[Any] = []

    def run_pass(self: RankWorkspace, *args: Any) -> Any:
        if self not in workspaces:
            workspaces.append(self)
        before = comm.bytes_sent
        packed.clear()
        report = originals[0](self, *args)
        seen.passes += 1
        seen.bytes_in_passes += comm.bytes_sent - before
        seen.bundles_sent += len(packed)
        for (sizes, mask, _), classes in packed if look_inside else []:
            seen.weights += _first_bits(mask, int(sizes[0] + sizes[1]))
            seen.dense += classes * features
        return report

    def pack(self: RankWorkspace, bundle: int) -> Any:
        arrays = originals[1](self, bundle)
        packed.append((arrays, int(np.count_nonzero(self._bundle_of == bundle))))
        return arrays

    RankWorkspace.run_pass, RankWorkspace._pack = run_pass, pack  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        RankWorkspace.run_pass, RankWorkspace._pack = originals  # type: ignore[method-assign]
        seen.busy_s = sum(each.busy_seconds for each in workspaces)


def _first_bits(mask: Any, count: int) -> int:
    """How many of the first bits are set: weights come first."""
    bits = np.unpackbits(np.asarray(mask).view(np.uint8), bitorder="little")
    return int(np.count_nonzero(bits[:count]))


def _data(job: dict[str, Any], comm: Communicator) -> tuple[Any, Any, str]:
    """Read once per host."""
    folder = None if job["folder"] is None else Path(job["folder"])
    source = []

    def read() -> tuple[Any, Any]:
        data = load(job["dataset"], folder)
        source.append(data.source)
        return data.X, data.y

    X, y = shared(comm, read)
    return X, y, source[0] if source else ""


def run(job: dict[str, Any], comm: Communicator) -> dict[str, Any]:
    """Load and train; the same on all ranks but for the model's hash, which rank 0 knows."""
    X, y, source = _data(job, comm)
    task = Task(**job["task"])
    tol = TOL if task.tol is None else task.tol
    X.data.sum(), X.indices.sum()  # rows that ranks share are in the memory of none before
    comm.barrier()
    sent, rise = comm.bytes_sent, PeakRise()
    with warnings.catch_warnings(), _watched(comm, X.shape[1], look_inside=job["judge"]) as seen:
        warnings.simplefilter("ignore", ConvergenceWarning)  # fixed numbers of passes
        began, cpu_began = time.perf_counter(), time.process_time()
        model = distributed.fit(estimator(task, tol), X, y, comm=comm)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    mine = {"seconds": seconds, "cpu_s": cpu, "peak_mb": peak_mb(), "rise_mb": rise.mb()}
    mine |= asdict(seen)
    mine["bytes_sent"] = comm.bytes_sent - sent
    each = allgather_value(comm, mine)
    whole = model.gather()
    return {
        "seconds": max(rank["seconds"] for rank in each),
        "cpu_seconds": sum(rank["cpu_s"] for rank in each),
        "peak_mb": max(rank["peak_mb"] for rank in each),
        "hash": "" if whole is None else evaluate.fingerprint(whole.coef_),
        "loss": task.loss(),
        "dual": model.dual_objective_,
        "passes": model.n_iter_,
        "version": multimargin.__version__,
        "source": source,
        "shape": [*X.shape, len(model.classes_)],
        "nonzeros": int(X.nnz),
        "density": float(model.model_density_),
        "details": {
            "tol": tol,
            "active": [record.get("active") for record in model.history_],
            "own_gap": model.dual_gap_,
            "converged": model.converged_,
            "bundles": model.n_bundles_,
            "scans": len(model.history_),
            "ranks": each,
        },
    }


def main() -> None:
    """Do the job of the command line."""
    comm = world()
    try:
        result = run(json.loads(sys.argv[1]), comm)
    except DataUnavailableError as error:
        result = {"unavailable": str(error)}
    if comm.rank == 0:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
