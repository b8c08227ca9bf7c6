"""Phases of a run: the passes between two scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

USUAL_WAIT = 8


@dataclass
class Phase:
    """Passes between two scans: their target, and how they have fared so far."""

    target: float | None  # unknown before the first scan
    floor: float
    everything: bool = True  # whether the next pass visits all samples
    first: bool = True
    best: float = np.inf
    passes: int = 0
    stale: int = 0  # passes since the best
    since: int = 0  # passes since the last focus on a few samples
    wait: int = USUAL_WAIT  # passes until the next

    def set_target(self, measure: float, first_share: float, phase_share: float) -> float:
        """Choose the target from the measure of the first pass, and return it.

        Where most of the gap lies outside the active set, the scan's target is reached at once; but
        passes are cheaper than scans, so get on with the part inside.
        """
        share = first_share if self.target is None else phase_share
        wanted = np.inf if self.target is None else self.target
        self.target = max(self.floor, min(share * measure, wanted))
        self.first = False
        return self.target

    def note(self, gap: float) -> None:
        """Count passes, and those without progress."""
        self.passes += 1
        if gap < 0.95 * self.best:
            self.start_over(gap)
        else:
            self.stale += 1

    def start_over(self, gap: float) -> None:
        self.best, self.stale = gap, 0

    def focused(self, worth_it: bool) -> None:
        """Wait as usual for the next focus, or twice as long as for this one."""
        self.since, self.wait = 0, USUAL_WAIT if worth_it else 2 * self.wait
        self.stale = 0 if worth_it else self.stale

    def to_json(self) -> dict[str, Any]:
        """Return the fields; JSON has no infinity."""
        return {k: "inf" if v == np.inf else v for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Phase:
        values: dict[str, Any] = {k: np.inf if v == "inf" else v for k, v in fields.items()}
        # Others are of earlier versions.
        return cls(**{k: v for k, v in values.items() if k in cls.__dataclass_fields__})
