"""Which solver trains which formulation."""

from __future__ import annotations

from multimargin.solvers._base import BaseSolver
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.llw._alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin.solvers.llw._solver import BlockSolver
from multimargin.solvers.ovr._solver import OvrSolver


class ActiveSetPassesSolver(ActiveSetSolver):
    """Without an interior point."""

    checkpoint_name = "activesetpasses"
    accelerated = False


class OvrPassesSolver(OvrSolver):
    """Without an interior point."""

    checkpoint_name = "ovrpasses"
    accelerated = False


class BlockPassesSolver(BlockSolver):
    """Without an interior point and conjugate gradients."""

    checkpoint_name = "blockpasses"
    accelerated = False


# By formulation, then by what users write as ``solver=``.
SOLVERS: dict[str, dict[str, type[BaseSolver]]] = {
    "ww": {"auto": ActiveSetSolver, "passes": ActiveSetPassesSolver},
    "cs": {"auto": ActiveSetSolver, "passes": ActiveSetPassesSolver},
    "ovr": {"auto": OvrSolver, "passes": OvrPassesSolver},
    "llw": {
        "auto": BlockSolver,
        "passes": BlockPassesSolver,
        "block": BlockSolver,
        "alternating": AlternatingSolver,
        "extrapolated": ExtrapolatedSolver,
    },
}


def choose(
    formulation: str,
    solver: str = "auto",
    ranks: int = 1,
    bundles: int | None = None,
    checkpoints: bool = False,
) -> type[BaseSolver]:
    """The solver for a run.

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
    divided = ranks > 1 or (bundles or 1) > 1
    if formulation == "llw":
        if solver == "auto" and (ranks > 1 or bundles is not None or checkpoints):
            return ExtrapolatedSolver
        if solver in ("block", "passes") and (divided or checkpoints):
            given = [f"{ranks} ranks"] if ranks > 1 else []
            given += [f"{bundles} bundles"] if (bundles or 1) > 1 else []
            given += ["checkpoints"] if checkpoints else []
            raise ValueError(
                f"solver={solver!r} does not work with {' and '.join(given)}: it moves all classes "
                "of a sample at once, so that all have to be in one place. Use "
                "solver='extrapolated' (what 'auto' takes then) or 'alternating', or one process "
                "without bundles and checkpoints."
            )
    return SOLVERS[formulation][solver]
