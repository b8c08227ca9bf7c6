"""One fit: samples are checked, the problem is solved, and an estimator takes the solution.

`MulticlassSVC.fit`, `multimargin.distributed.fit` and `multimargin.path` all train by the class
`Fit`; they differ in who watches, in how many ranks there are, and in what a fit starts from.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from multimargin.checkpoints._folder import ManifestError, read_manifest, step_folder, steps
from multimargin.checkpoints._store import Checkpoint, Checkpoints
from multimargin.estimator._observers import Bar, note
from multimargin.estimator._options import FitOptions
from multimargin.estimator._samples import box_of, checked_samples, problem_of
from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import StrPath
from multimargin.models._coef import coefficients, in_form, kept_sparse, nonzeros, one_row_for_two
from multimargin.parallel._collectives import broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.parallel._divided_rows import DividedRows
from multimargin.parallel._partition import default_bundles
from multimargin.solvers._problem import Problem, fingerprint
from multimargin.solvers._records import Observer, Observers, Weights
from multimargin.solvers._registry import choose
from multimargin.solvers._solution import Limits, Solution, Start
from multimargin.solvers._stopping import STOPPINGS

# Version of the states that solvers keep: raised when one of them can no longer read older ones.
_STATES = 2


@dataclass(frozen=True)
class CheckpointFolder:
    """Where the state of a run is kept, how often, and whether to say that a run goes on."""

    path: StrPath
    every: float
    spoken: bool


@dataclass(frozen=True)
class Solved:
    """A solution, and how it was found: the bundles (None: it depends on none), the engine."""

    solution: Solution
    bundles: int | None
    checkpoints: Checkpoints | None
    engine: str  # which one, and why


@dataclass(frozen=True)
class Fit:
    """Samples after scikit-learn's checks, and the problem that they make with some options."""

    options: FitOptions
    X: Any
    y: Any
    classes: NDArray[Any]  # their labels; the problem counts them from zero
    problem: Problem
    learned: Mapping[str, Any]  # fitted attributes of the features, such as `features_`

    @classmethod
    def of(
        cls, estimator: Any, options: FitOptions, X: Any, y: ArrayLike, sample_weight: Any
    ) -> Fit:
        """Check the samples that an estimator was given; it learns its features from them."""
        X, y, learned = checked_samples(estimator, X, y)
        classes, problem = problem_of(options, X, y, sample_weight)
        return cls(options, X, y, classes, problem, learned)

    def at(self, formulation: str, C: float, *, warm_start: bool) -> Fit:
        """The same samples with another formulation and C, from a fit whose C is 1."""
        assert self.options.C == 1  # the box is then the weights
        options = replace(self.options, formulation=formulation, C=C, warm_start=warm_start)
        weight, problem = self.problem.box.astype(np.float64), self.problem
        box = box_of(options, weight, problem.n_classes, problem.X.dtype)
        problem = replace(problem, formulation=formulation, box=box)
        return replace(self, options=options, problem=problem)

    def given(self, X: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Samples that other fits can be given: as they came in, where features are learned."""
        return (X if "features_" in self.learned else self.X), self.y, sample_weight

    def bar(self) -> Observer:
        options = self.options
        name = FORMULATIONS[options.formulation].title
        return Bar(name, options.tol, options.stopping, options.time_limit)

    def solve(
        self,
        observers: list[Observer],
        *,
        threads: int,
        start: Start | None = None,
        comm: Communicator | None = None,
        folder: CheckpointFolder | None = None,
    ) -> Solved:
        """Solve the problem; called by all ranks, each with its own number of threads."""
        options, problem = self.options, self.problem
        comm = comm or SerialCommunicator()
        if isinstance(problem.X, DividedRows) and getattr(problem.X, "comm", None) is not comm:
            raise ValueError("divided samples are for distributed.fit, by the ranks that have them")
        seed = _common_seed(options.random_state, comm)
        bundles = _bundles(options, problem, comm, folder)
        asked, kept = (options.formulation, options.solver), folder is not None
        kind, reason = choose(
            *asked, ranks=comm.size, bundles=bundles, checkpoints=kept, problem=problem
        )
        engine = f"{kind.engine} ({reason})"
        if options.verbose > 1 and comm.rank == 0:
            note(f"engine: {engine}")
        checkpoints = None
        if folder is not None:
            # The solver chosen, not the one asked for: "auto" and its choice are the same run.
            identity = _run_identity(options, problem, kind.name, seed, bundles)
            checkpoints = _ToldCheckpoints(folder, comm, identity)
        try:
            solver = kind(
                problem,
                STOPPINGS[options.stopping](options.tol),
                Limits(options.max_iter, options.time_limit),
                threads=threads,
                seed=seed,
                observers=Observers(observers),
                keep_alpha=options.warm_start,
                comm=comm,
                bundles=bundles,
                checkpoints=checkpoints,
                shrinking=options.shrinking,
                **({"reductions": options.n_reductions} if kind.takes_reductions else {}),
            )
            solution = solver.run(start)
        except BaseException:
            if checkpoints is not None:
                checkpoints.close()
            raise
        bundles = bundles if kind.depends_on_bundles else None
        return Solved(solution, bundles, checkpoints, engine)

    def linear_model(self, weights: Weights) -> dict[str, Any]:
        """The fitted attributes that prediction needs, from the weights of all classes."""
        coef, intercept = coefficients(weights, self.problem)
        density = nonzeros(coef) / max(1, coef.shape[0] * coef.shape[1])
        if self.problem.sets is None:
            coef, intercept = one_row_for_two(coef, intercept)
        wanted = self.options.sparse_coef
        sparse = kept_sparse(wanted, coef.shape, coef.dtype.itemsize, nonzeros(coef))
        return {
            "classes_": self.classes,
            "n_features_in_": coef.shape[1],
            "coef_": in_form(coef, sparse=sparse),
            "intercept_": intercept,
            "model_density_": density,
            **self.learned,
        }

    def warn_unless_converged(self, solution: Solution, stacklevel: int) -> None:
        """Say how far the fit came, why it ended there, and what to change."""
        if solution.converged:
            return
        options = self.options
        remedy = {
            "max_iter": f"max_iter={options.max_iter} was reached: raise it, or raise tol",
            "time_limit": f"time_limit={options.time_limit} s was reached: raise it, or raise tol",
            "precision": "rounding does not allow more: train on float64 data, or raise tol",
            "a callback": "a callback asked to stop",
            "interrupt": "Ctrl-C ended the training",
        }[solution.ended_by]
        text = (
            f"tol was not reached after {solution.passes} passes: relative duality gap "
            f"{solution.gap:.3g}, largest violation {solution.violation:.3g}, with "
            f"stopping={options.stopping!r} and tol={options.tol:g}. {remedy}."
        )
        if solution.is_zero:
            text += " All weights are zero: nothing better was certified before the end."
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)


def take(estimator: Any, solved: Solved, attributes: Mapping[str, Any]) -> None:
    """Set the fitted attributes: those given, and the results of the solver."""
    for name in ("preprocessing_", "pruned_"):  # of a model loaded before
        estimator.__dict__.pop(name, None)
    for name, value in attributes.items():
        setattr(estimator, name, value)
    solution = solved.solution
    estimator.n_iter_ = solution.passes
    estimator.primal_objective_ = solution.primal
    estimator.dual_objective_ = solution.dual
    estimator.dual_gap_ = solution.gap
    estimator.violation_ = solution.violation
    estimator.converged_ = solution.converged
    engine = {"engine": solved.engine}
    estimator.history_ = [record.as_dict() | engine for record in solution.history]
    estimator.n_bundles_ = solved.bundles


def _run_identity(
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


def _kept_bundles(folder: Path, comm: Communicator) -> int | None:
    """The bundles of the run that left checkpoints in a folder, if any; called by all ranks."""
    identity = None  # all checkpoints belong to one run, so the newest readable one tells
    with raise_on_all(comm):
        if comm.rank == 0 and folder.is_dir():
            for step in reversed(steps(folder)):
                try:
                    identity = read_manifest(step_folder(folder, step)).get("identity")
                    break
                except ManifestError:
                    continue
    bundles = broadcast_value(comm, (identity or {}).get("bundles"))
    return None if bundles is None else int(bundles)


def _common_seed(random_state: Any, comm: Communicator) -> int:
    """The seed of all ranks, drawn by one: without a random state each would draw its own."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return int(comm.broadcast([np.array([seed], dtype=np.int64)])[0][0])


def _bundles(
    options: FitOptions, problem: Problem, comm: Communicator, folder: CheckpointFolder | None
) -> int | None:
    """How many bundles the classes are divided into; None: classes are not divided."""
    if options.n_bundles is not None:
        return options.n_bundles
    # A run that goes on has as many as the run before it, however many ranks there are.
    kept = None if folder is None else _kept_bundles(Path(folder.path), comm)
    if kept is not None:
        return kept
    wanted = default_bundles(comm.size, folder is not None)
    return None if wanted is None else min(wanted, problem.n_classes)


class _ToldCheckpoints(Checkpoints):
    """Checkpoints that say when a run goes on from one of them."""

    def __init__(
        self, folder: CheckpointFolder, comm: Communicator, identity: dict[str, Any]
    ) -> None:
        super().__init__(folder.path, folder.every, comm, identity)
        self._given = folder

    def read(self) -> Checkpoint | None:
        found = super().read()
        if found is not None and self._given.spoken:
            note(f"going on from the checkpoint in {os.fspath(self._given.path)}")
        return found
