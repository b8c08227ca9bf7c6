"""The names that parameters take, for type checkers; the registries check them in a run."""

from __future__ import annotations

from typing import Literal

FormulationName = Literal["ww", "cs", "llw", "ovr", "adm", "ats", "atm", "mmr", "rm"]
LossName = Literal["hinge", "squared_hinge"]
SolverName = Literal["auto", "passes", "block", "alternating", "extrapolated"]
StoppingName = Literal["gap", "violation"]
