"""Which run a checkpoint belongs to."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from multimargin.checkpoints._folder import ManifestError, read_manifest, step_folder, steps
from multimargin.parallel._agreement import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.solvers._problem import Problem, fingerprint

# Of the states that solvers keep: raised when one of them can no longer read those of before.
_STATES = 2


def run_identity(
    estimator: Any, problem: Problem, solver: str, seed: int, bundles: int | None
) -> dict[str, Any]:
    """What has to be the same for a run to go on from a checkpoint.

    In the order in which differences are looked for. The fingerprint differs with most of the
    others, so it comes last. Limits of passes and time, threads and ranks may be others.
    """
    given = estimator.random_state
    return {
        "states": _STATES,
        "formulation": estimator.formulation,
        "loss": estimator.loss,
        "C": float(estimator.C) if np.isfinite(estimator.C) else "inf",  # JSON has no infinity
        "tol": float(estimator.tol),
        "stopping": estimator.stopping,
        # As it was given, for users to know it again.
        "seed": int(given) if isinstance(given, Integral) else seed,
        "solver": solver,
        "reductions": int(estimator.n_reductions),
        "shrinking": bool(estimator.shrinking),
        "bundles": bundles,
        "intercept": problem.bias,
        "dtype": problem.X.dtype.name,
        "fingerprint of data and weights": fingerprint(problem),
    }


def kept_identity(folder: str | os.PathLike[str], comm: Communicator) -> dict[str, Any] | None:
    """The identity of the run whose checkpoints are in a folder; None without any.

    Called by all ranks. All checkpoints of a folder are of one run, so any of them tells.
    """
    found = None
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
