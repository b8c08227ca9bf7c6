"""The identity of a run, by which a checkpoint is known to belong to it."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from multimargin.checkpoints._folder import ManifestError, read_manifest, step_folder, steps
from multimargin.estimator._options import FitOptions
from multimargin.io._atomic import StrPath
from multimargin.parallel._collectives import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.solvers._problem import Problem, fingerprint

# Version of the states that solvers keep: raised when one of them can no longer read older ones.
_STATES = 2


def run_identity(
    options: FitOptions, problem: Problem, solver: str, seed: int, bundles: int | None
) -> dict[str, Any]:
    """Everything that must be the same for a run to go on from a checkpoint.

    Differences are looked for in this order. The fingerprint differs with most of the others, so
    it comes last. Limits of passes and time, threads and ranks may differ. Solver, seed and bundles
    are the chosen ones, where the options leave them open.
    """
    given = options.random_state
    return {
        "states": _STATES,
        "formulation": options.formulation,
        "loss": options.loss,
        "C": options.C if np.isfinite(options.C) else "inf",  # JSON has no infinity
        "tol": options.tol,
        "stopping": options.stopping,
        # As given, for users to recognise it.
        "seed": int(given) if isinstance(given, Integral) else seed,
        "solver": solver,
        "reductions": options.n_reductions,
        "shrinking": options.shrinking,
        "bundles": bundles,
        "intercept": problem.bias,
        "dtype": problem.X.dtype.name,
        "fingerprint of data and weights": fingerprint(problem),
    }


def kept_identity(folder: StrPath, comm: Communicator) -> dict[str, Any] | None:
    """The identity of the run that left checkpoints in a folder, if any; called by all ranks."""
    found = None  # all checkpoints of a folder belong to one run, so the newest readable one tells
    with raise_on_all(comm):
        if comm.rank == 0 and Path(folder).is_dir():
            for step in reversed(steps(Path(folder))):
                try:
                    found = read_manifest(step_folder(Path(folder), step)).get("identity")
                    break
                except ManifestError:
                    continue
    identity: dict[str, Any] | None = broadcast_value(comm, found)
    return identity
