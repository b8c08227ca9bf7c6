"""The solvers by formulation, and the choice among them."""

from __future__ import annotations

from typing import NamedTuple

from multimargin.formulations import FORMULATIONS, Formulation
from multimargin.solvers._base import BaseSolver
from multimargin.solvers._engine_choice import choose_bounded, choose_engine
from multimargin.solvers._problem import Problem
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.llw._alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin.solvers.ovr._solver import OvrSolver
from multimargin.solvers.rows._bounded import BoundedSolver
from multimargin.solvers.rows._solver import RowSolver


def _by_passes(kind: type[BaseSolver]) -> type[BaseSolver]:
    facts = {"name": f"{kind.name}passes", "accelerated": False}
    return type(f"{kind.__name__}ByPasses", (kind,), facts)


_ACCELERATED: tuple[type[BaseSolver], ...] = (ActiveSetSolver, OvrSolver, RowSolver)
_PLAIN: tuple[type[BaseSolver], ...] = (AlternatingSolver, ExtrapolatedSolver)
_BY_NAME = {kind.name: kind for kind in (*_ACCELERATED, *map(_by_passes, _ACCELERATED), *_PLAIN)}


def solvers_of(formulation: type[Formulation]) -> dict[str, type[BaseSolver]]:
    """Return the solvers of a formulation by the ``solver=`` of users."""
    unknown = [name for name in formulation.solvers.values() if name not in _BY_NAME]
    if unknown:
        raise TypeError(
            f"formulation {formulation.name!r} names the solver {unknown[0]!r}, which is none of: "
            f"{', '.join(_BY_NAME)} (see CONTRIBUTING, 'Add a formulation')"
        )
    return {user: _BY_NAME[name] for user, name in formulation.solvers.items()}


# By formulation, then by the ``solver=`` of users.
SOLVERS: dict[str, dict[str, type[BaseSolver]]] = {
    name: solvers_of(formulation) for name, formulation in FORMULATIONS.items()
}


class Choice(NamedTuple):
    solver: type[BaseSolver]
    reason: str


def choose_for(problem: Problem, solver: str = "auto") -> Choice:
    """Return the solver for a run in one process, from its data."""
    kind = SOLVERS[problem.formulation][solver]
    if solver not in ("auto", "passes"):
        return Choice(kind, "it was asked for")
    if problem.sets is not None:
        return Choice(kind, "samples have sets of labels: each is trained by itself")
    rows, reason = choose_engine(problem)
    if not rows and (bounded := choose_bounded(problem)):
        return Choice(BoundedSolver, bounded)
    by_rows = {"auto": RowSolver.name, "passes": f"{RowSolver.name}passes"}
    return Choice(_BY_NAME[by_rows[solver]] if rows else kind, reason)


def choose(
    formulation: str,
    solver: str = "auto",
    ranks: int = 1,
    bundles: int | None = None,
    checkpoints: bool = False,
    problem: Problem | None = None,
) -> Choice:
    """Return the solver for a run; raise ValueError if it would have to divide classes and cannot.

    With `checkpoints` any number of ranks must be able to go on with the run.
    """
    divided = ranks > 1 or bundles is not None or checkpoints
    if divided and problem is not None and problem.free_intercept:
        raise ValueError(
            "fit_intercept='free' needs one process without bundles and checkpoints: use that, or "
            "fit_intercept=True with a large intercept_scaling"
        )
    if not divided and problem is not None:
        return choose_for(problem, solver)
    if solver == "auto" and divided:
        solver = FORMULATIONS[formulation].divided_solver
    kind = SOLVERS[formulation][solver]
    given = [f"{ranks} ranks"] if ranks > 1 else []
    given += [f"{bundles} bundles"] if (bundles or 1) > 1 else []
    given += ["checkpoints"] if checkpoints else []
    if not given or kind.divides_classes:
        return Choice(kind, f"the run has {' and '.join(given)}" if given else "")
    auto = FORMULATIONS[formulation].divided_solver
    others = [user for user, kind in SOLVERS[formulation].items() if kind.divides_classes]
    others = [f" or {user!r}" for user in others if user not in ("auto", auto)]
    raise ValueError(
        f"solver={solver!r} does not work with {' and '.join(given)}: it moves all classes of a "
        f"sample at once, so that all have to be in one place. Use solver={auto!r} (what 'auto' "
        f"takes then){''.join(others)}, or one process without bundles and checkpoints."
    )
