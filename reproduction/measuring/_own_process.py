"""A fit measured in a process of its own, or in several ranks that ``mpiexec`` starts.

What else the reproduction has in memory, and the threads of libraries, then have no part in it.
``python -m reproduction.measuring._own_process JOB`` is what is started; rank 0 prints one line of
JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from multimargin import distributed
from multimargin.datasets._sets import SetDiffersWarning
from multimargin.distributed._data_cache import shared
from multimargin.estimator._svc import MulticlassSVC
from multimargin.parallel._collectives import allgather_value
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.parallel._mpi import world
from multimargin.solvers.active_set._rank_workspace import RankWorkspace
from multimargin.solvers.active_set._workspace import LocalWorkspace
from reproduction.interface._cell import UNLIKE
from reproduction.measuring._ranks import (
    ONE_THREAD,
    POOL,
    command,
    descendants,
    environment,
    kill,
)
from reproduction.measuring._samples import training_samples
from reproduction.measuring._training import MOST_PASSES

_MODULE = "reproduction.measuring._own_process"
_GRACE = 5.0  # seconds for a launcher to end its ranks


class OwnProcessError(RuntimeError):
    """A process ended without a measurement."""


@dataclass(frozen=True)
class Job:
    """A fit.

    Attributes
    ----------
    dataset : str
        As of `reproduction.measuring._samples.training_samples`.
    folder : str
        The folder of data sets.
    parameters : mapping of str to JSON value
        Of `MulticlassSVC`, but for `n_jobs`. Unless they say otherwise there is no intercept and
        no limit of passes.
    threads : int, default=1
        Of each rank.
    ranks : int or None, default=None
        None: one process, without ``mpiexec``.
    one_scan : bool, default=False
        Let Weston-Watkins and Crammer-Singer with many classes make all passes before the first
        scan, and none after it: the same work on any number of ranks. When a scan comes otherwise
        depends on what passes have reached.
    pooled : bool, default=False
        Whether the ranks, which are on one host, solve as one; otherwise as on a host each.
    """

    dataset: str
    folder: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    ranks: int | None = None
    one_scan: bool = False
    pooled: bool = False

    def estimator(self) -> MulticlassSVC:
        settings = {"fit_intercept": False, "max_iter": MOST_PASSES, **self.parameters}
        return MulticlassSVC(**settings, n_jobs=self.threads)


# ---------------------------------------------------------------- here


def measured_apart(job: Job, give_up_after: float | None = None) -> dict[str, Any]:
    """Measure a fit in a new process, or on new ranks.

    Nothing of them is left when this returns or raises, for Ctrl-C and a full memory, too.

    Parameters
    ----------
    job : Job
    give_up_after : float, default=None
        Seconds, reading of the data included, after which all is ended.

    Returns
    -------
    dict with
        seconds : of the fit, on the slowest rank;
        cpu_seconds : of the processors, on all ranks together;
        peak_mb : the most memory that ranks held, in millions of bytes, summed over ranks (data
            that ranks of a host share are counted for each);
        peak_mb_per_rank : of the rank that held most;
        model : a hash of all bits of the weights;
        shape : samples, features, classes;
        bundles : of classes, None for none;
        passes, scans, converged, gap, violation, primal, dual, density : as of `fit_and_measure`.

    Raises
    ------
    OwnProcessError
        If there is no measurement; the message says why.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Not pipes, whose other ends daemons of a launcher may hold after the run has ended.
        process = subprocess.Popen(
            command(job.ranks, ["-m", _MODULE, json.dumps(asdict(job))]),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment() | ONE_THREAD | ({POOL: "1"} if job.pooled else {}),
        )
        try:
            status = process.wait(give_up_after)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise OwnProcessError(f"ended after {give_up_after:g} s without a result") from None
            raise
        return _result(status, _text(out), _text(err))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started."""
    below = descendants(process.pid)
    process.terminate()  # by which a launcher ends its ranks
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    below += descendants(process.pid)
    process.kill()
    process.wait()
    for pid in below:
        kill(pid)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _result(status: int, out: str, err: str) -> dict[str, Any]:
    """Return the measurement among the printed lines; raise the failure, if there is one."""
    result: dict[str, Any] | None = None
    for line in out.splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            printed = json.loads(line)
            if isinstance(printed, dict):
                result = printed
                if "failed" in printed:
                    raise OwnProcessError(printed["failed"])
    if status == 0 and result is not None:
        return result
    if status < 0:
        name = signal.Signals(-status).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        raise OwnProcessError(f"the process was ended by {name}{hint}")
    said = " ".join(" ".join(err.split()[-60:]).strip("- ").split()) or "it said nothing"
    hint = " (out of memory?)" if "signal 9" in err or status == 128 + signal.SIGKILL else ""
    raise OwnProcessError(f"the process ended with status {status}{hint}: {said}")


# ---------------------------------------------------------------- in the process


def _measure(job: Job, comm: Communicator) -> dict[str, Any]:
    """Read and train; called by all ranks."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SetDiffersWarning)
        X, y = shared(comm, lambda: training_samples(job.dataset, Path(job.folder)))
    unlike = [str(each.message) for each in said if issubclass(each.category, SetDiffersWarning)]
    model = job.estimator()
    if job.one_scan:
        LocalWorkspace.first_share = RankWorkspace.first_share = 0.0
    comm.barrier()
    with warnings.catch_warnings():
        # Whether a fit has converged is among the measurements.
        warnings.simplefilter("ignore", ConvergenceWarning)
        began, cpu_began = time.perf_counter(), time.process_time()
        fitted: Any = (
            model.fit(X, y) if job.ranks is None else distributed.fit(model, X, y, comm=comm)
        )
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    each = allgather_value(comm, {"seconds": seconds, "cpu": cpu, "peak_mb": peak_mb()})
    coef = fitted.coef_ if job.ranks is None else fitted._owned.coef
    return {
        "seconds": max(rank["seconds"] for rank in each),
        "cpu_seconds": sum(rank["cpu"] for rank in each),
        "peak_mb": sum(rank["peak_mb"] for rank in each),
        "peak_mb_per_rank": max(rank["peak_mb"] for rank in each),
        "model": model_hash(coef, comm),
        "shape": [*X.shape, len(fitted.classes_)],
        "bundles": fitted.n_bundles_,
        "passes": int(fitted.n_iter_),
        "scans": len(fitted.history_),
        "converged": bool(fitted.converged_),
        "gap": float(fitted.dual_gap_),
        "violation": float(fitted.violation_),
        "primal": float(fitted.primal_objective_),
        "dual": float(fitted.dual_objective_),
        "density": 100.0 * float(fitted.model_density_),
        **({UNLIKE: unlike[0]} if unlike else {}),
    }


def model_hash(coef: Any, comm: Communicator) -> str:
    """Hash all bits of the weights that are not zero, dense or sparse, on one rank or many.

    Parameters
    ----------
    coef : ndarray or csr_matrix of shape (n_held, n_features)
        The rows of this rank; they follow the rows of the rank before.
    """
    rows = []
    sparse = sp.issparse(coef)
    matrix: Any = coef
    for k in range(matrix.shape[0]):
        if sparse:
            inside = slice(matrix.indptr[k], matrix.indptr[k + 1])
            index, value = matrix.indices[inside], matrix.data[inside]
        else:
            index, value = np.arange(matrix.shape[1]), matrix[k]
        used = np.flatnonzero(value)
        used = used[np.argsort(index[used], kind="stable")]
        row = hashlib.sha256(index[used].astype("<i8").tobytes())
        row.update(np.ascontiguousarray(value[used]).tobytes())
        rows.append(row.hexdigest())
    every = hashlib.sha256("".join(itertools.chain(*allgather_value(comm, rows))).encode())
    return every.hexdigest()[:16]


def peak_mb() -> float:
    """Return the most memory that this process has held, in millions of bytes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource  # which Windows does not have

    # On Linux this one begins with what the process that started this one held.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def main() -> None:
    """Do the job of the command line."""
    job = Job(**json.loads(sys.argv[1]))
    comm = SerialCommunicator() if job.ranks is None else world()
    try:
        result = _measure(job, comm)
    except Exception as error:
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"}), flush=True)
        raise
    if comm.rank == 0:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
