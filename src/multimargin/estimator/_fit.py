"""One run of a solver for an estimator, by this process alone or by several ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from multimargin.checkpoints._store import Checkpoint, Checkpoints
from multimargin.estimator._run_identity import kept_identity, run_identity
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.parallel._partition import default_bundles
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Observer, Observers
from multimargin.solvers._registry import choose
from multimargin.solvers._solution import Limits, Solution, Start
from multimargin.solvers._stopping import STOPPINGS


@dataclass(frozen=True)
class CheckpointFolder:
    """Where the state of a run is kept, how often, and who is told when a run goes on from it."""

    path: str | os.PathLike[str]
    every: float
    on_resume: Callable[[], None]


@dataclass(frozen=True)
class Solved:
    """A solution, and what of the choices left to the run it depends on."""

    solution: Solution
    bundles: int | None
    checkpoints: Checkpoints | None


def solve(
    estimator: Any,
    problem: Problem,
    observers: list[Observer],
    *,
    threads: int,
    start: Start | None = None,
    comm: Communicator | None = None,
    folder: CheckpointFolder | None = None,
) -> Solved:
    """Solve the problem as the estimator's parameters ask for it; called by all ranks.

    Parameters
    ----------
    estimator : MulticlassSVC
        With valid parameters.
    problem : Problem
        The same on all ranks.
    observers : list of Observer
    threads : int
        Of this rank.
    start : Start, default=None
        Dual variables to start from.
    comm : Communicator, default=None
        The ranks; this process alone if not given.
    folder : CheckpointFolder, default=None
    """
    comm = comm or SerialCommunicator()
    seed = _common_seed(estimator.random_state, comm)
    bundles = _bundles(estimator, problem, comm, folder)
    kind = choose(
        estimator.formulation,
        estimator.solver,
        ranks=comm.size,
        bundles=bundles,
        checkpoints=folder is not None,
    )
    options = {"reductions": int(estimator.n_reductions)} if kind.takes_reductions else {}
    checkpoints = None
    if folder is not None:
        # What was chosen, not what was asked for: "auto" and its choice are the same run.
        identity = run_identity(estimator, problem, kind.name, seed, bundles)
        checkpoints = _ToldCheckpoints(folder, comm, identity)
    try:
        solver = kind(
            problem,
            STOPPINGS[estimator.stopping](float(estimator.tol)),
            Limits(int(estimator.max_iter), estimator.time_limit),
            threads=threads,
            seed=seed,
            observers=Observers(observers),
            keep_alpha=bool(estimator.warm_start),
            comm=comm,
            bundles=bundles,
            checkpoints=checkpoints,
            shrinking=bool(estimator.shrinking),
            **options,
        )
        solution = solver.run(start)
    except BaseException:
        if checkpoints is not None:
            checkpoints.close()
        raise
    return Solved(solution, bundles if kind.depends_on_bundles else None, checkpoints)


def _common_seed(random_state: Any, comm: Communicator) -> int:
    """The seed of all ranks, drawn by one: without a random state each would draw its own."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return int(comm.broadcast([np.array([seed], dtype=np.int64)])[0][0])


def _bundles(
    estimator: Any, problem: Problem, comm: Communicator, folder: CheckpointFolder | None
) -> int | None:
    """How many bundles the classes are divided into; None: the solver for one machine.

    A run that goes on has those of the run before it, however many ranks there are.
    """
    if estimator.n_bundles is not None:
        return int(estimator.n_bundles)
    if folder is not None:
        kept = kept_identity(folder.path, comm)
        if kept is not None and kept.get("bundles") is not None:
            return int(kept["bundles"])
    wanted = default_bundles(comm.size, folder is not None)
    return None if wanted is None else min(wanted, problem.n_classes)


class _ToldCheckpoints(Checkpoints):
    """Checkpoints that say when a run goes on from one of them."""

    def __init__(
        self, folder: CheckpointFolder, comm: Communicator, identity: dict[str, Any]
    ) -> None:
        super().__init__(folder.path, folder.every, comm, identity)
        self._on_resume = folder.on_resume

    def read(self) -> Checkpoint | None:
        found = super().read()
        if found is not None:
            self._on_resume()
        return found
