"""The best that a run has certified so far: what it returns if it does not reach its tolerance.

Passes lead to a larger dual, but the primal of a point on the way can be far off. So the two are
kept apart: the weights with the least primal, and the dual variables with the largest dual. Any
weights and any dual variables are a certificate together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from multimargin.solvers._records import ScanRecord

ZERO: Final = "zero"
"""The state in which all dual variables, and so all weights, are zero."""


@dataclass
class BestSoFar:
    """Two records, each with the state of the solver that it was made at.

    A state is what the solver's ``_snapshot`` returned; None where that would be too much to keep.
    """

    primal: ScanRecord
    primal_state: Any
    dual: ScanRecord
    dual_state: Any

    def take(self, record: ScanRecord, snapshot: Callable[[], Any]) -> None:
        """Look at a new record; its state is asked for only if it is kept."""
        lower, higher = record.primal < self.primal.primal, record.dual > self.dual.dual
        state = snapshot() if lower or higher else None
        if lower:
            self.primal, self.primal_state = record, state
        if higher:
            self.dual, self.dual_state = record, state

    # ------------------------------------------------------------ for checkpoints

    @property
    def states(self) -> dict[str, Any]:
        """Those that have to be kept, by name; zero is known."""
        states = {"best-primal": self.primal_state, "best-dual": self.dual_state}
        return {name: s for name, s in states.items() if s is not None and s is not ZERO}

    def places(self, history: list[ScanRecord]) -> list[int]:
        """Where the two records stand in the history; -1 of zero weights, which are not in it."""
        return [history.index(r) if r in history else -1 for r in (self.primal, self.dual)]

    def recall(
        self, history: list[ScanRecord], places: list[int], state_of: Callable[[str], Any]
    ) -> None:
        """Come back to what a checkpoint holds; for a new object, which knows zero weights only."""
        primal, dual = places
        if primal >= 0:
            self.primal, self.primal_state = history[primal], state_of("best-primal")
        if dual >= 0:
            self.dual, self.dual_state = history[dual], state_of("best-dual")
