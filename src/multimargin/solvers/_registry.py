"""Which solver trains which formulation."""

from __future__ import annotations

from typing import NoReturn

from multimargin.formulations import FORMULATIONS, Formulation
from multimargin.solvers._base import BaseSolver
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.llw._alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin.solvers.llw._solver import BlockSolver
from multimargin.solvers.ovr._solver import OvrSolver


class ActiveSetPassesSolver(ActiveSetSolver):
    """Without an interior point."""

    name = "activesetpasses"
    accelerated = False


class OvrPassesSolver(OvrSolver):
    """Without an interior point."""

    name = "ovrpasses"
    accelerated = False


class BlockPassesSolver(BlockSolver):
    """Without an interior point and conjugate gradients."""

    name = "blockpasses"
    accelerated = False


_BY_NAME: dict[str, type[BaseSolver]] = {
    kind.name: kind
    for kind in (
        *(ActiveSetSolver, ActiveSetPassesSolver, OvrSolver, OvrPassesSolver),
        *(BlockSolver, BlockPassesSolver, AlternatingSolver, ExtrapolatedSolver),
    )
}


def solvers_of(formulation: type[Formulation]) -> dict[str, type[BaseSolver]]:
    """Return the solvers of a formulation by what users write as ``solver=``."""
    unknown = [name for name in formulation.solvers.values() if name not in _BY_NAME]
    if unknown:
        raise TypeError(
            f"formulation {formulation.name!r} names the solver {unknown[0]!r}, which is none of: "
            f"{', '.join(_BY_NAME)} (see CONTRIBUTING, 'Add a formulation')"
        )
    return {user: _BY_NAME[name] for user, name in formulation.solvers.items()}


# By formulation, then by what users write as ``solver=``.
SOLVERS: dict[str, dict[str, type[BaseSolver]]] = {
    name: solvers_of(formulation) for name, formulation in FORMULATIONS.items()
}


def choose(
    formulation: str,
    solver: str = "auto",
    ranks: int = 1,
    bundles: int | None = None,
    checkpoints: bool = False,
) -> type[BaseSolver]:
    """Return the solver for a run.

    Parameters
    ----------
    formulation, solver : str
    ranks : int, default=1
        Processes that solve the problem together.
    bundles : int or None, default=None
        Bundles of classes, where the caller has chosen a number.
    checkpoints : bool, default=False
        Whether the run must be able to go on from checkpoints, on any number of ranks.

    Raises
    ------
    ValueError
        If the solver cannot divide the classes.
    """
    if solver == "auto" and (ranks > 1 or bundles is not None or checkpoints):
        solver = FORMULATIONS[formulation].divided_solver
    kind = SOLVERS[formulation][solver]
    given = [f"{ranks} ranks"] if ranks > 1 else []
    given += [f"{bundles} bundles"] if (bundles or 1) > 1 else []
    given += ["checkpoints"] if checkpoints else []
    if given and not kind.divides_classes:
        _refuse(formulation, solver, given)
    return kind


def _refuse(formulation: str, solver: str, given: list[str]) -> NoReturn:
    auto = FORMULATIONS[formulation].divided_solver
    others = [user for user, kind in SOLVERS[formulation].items() if kind.divides_classes]
    others = [f" or {user!r}" for user in others if user not in ("auto", auto)]
    raise ValueError(
        f"solver={solver!r} does not work with {' and '.join(given)}: it moves all classes of a "
        f"sample at once, so that all have to be in one place. Use solver={auto!r} (what 'auto' "
        f"takes then){''.join(others)}, or one process without bundles and checkpoints."
    )
