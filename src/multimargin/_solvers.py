"""Which solver trains which formulation."""

from __future__ import annotations

from multimargin._active_set_solver import ActiveSetSolver
from multimargin._base_solver import BaseSolver
from multimargin._llw_alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin._llw_solver import BlockSolver
from multimargin._ovr_solver import OvrSolver

# By formulation, then by what users write as ``solver=``.
SOLVERS: dict[str, dict[str, type[BaseSolver]]] = {
    "ww": {"auto": ActiveSetSolver},
    "cs": {"auto": ActiveSetSolver},
    "ovr": {"auto": OvrSolver},
    "llw": {
        "auto": BlockSolver,
        "block": BlockSolver,
        "alternating": AlternatingSolver,
        "extrapolated": ExtrapolatedSolver,
    },
}
