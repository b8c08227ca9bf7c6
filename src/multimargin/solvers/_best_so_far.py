"""The best certificate so far, for runs that end before their tolerance.

Passes raise the dual, but the primal on the way can be far off. So two points are kept: the weights
of the least primal, the dual variables of the largest dual. Any two make a certificate together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from multimargin.solvers._records import ScanRecord

ZERO: Final = "zero"  # the state in which all dual variables, and so all weights, are zero


@dataclass
class BestSoFar:
    """Two records, each with the solver's ``_snapshot`` at that point, or None if too large."""

    primal: ScanRecord
    primal_state: Any
    dual: ScanRecord
    dual_state: Any

    def take(self, record: ScanRecord, snapshot: Callable[[], Any]) -> None:
        """Keep a new record if it is better; only then is its state asked for."""
        lower, higher = record.primal < self.primal.primal, record.dual > self.dual.dual
        state = snapshot() if lower or higher else None
        if lower:
            self.primal, self.primal_state = record, state
        if higher:
            self.dual, self.dual_state = record, state

    @property
    def states(self) -> dict[str, Any]:
        """The states to be kept, by name; zero need not be."""
        states = {"best-primal": self.primal_state, "best-dual": self.dual_state}
        return {name: s for name, s in states.items() if s is not None and s is not ZERO}

    def places(self, history: list[ScanRecord]) -> list[int]:
        """Return the places of the two records in the history; -1 for zero weights."""
        return [history.index(r) if r in history else -1 for r in (self.primal, self.dual)]

    def recall(
        self, history: list[ScanRecord], places: list[int], state_of: Callable[[str], Any]
    ) -> None:
        """Take over the records of a checkpoint, in an object that is new."""
        primal, dual = places
        if primal >= 0:
            self.primal, self.primal_state = history[primal], state_of("best-primal")
        if dual >= 0:
            self.dual, self.dual_state = history[dual], state_of("best-dual")
