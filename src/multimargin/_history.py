"""A history as an array, for checkpoints: every bit of it, which decimal text need not keep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multimargin._progress import ScanRecord


def packed(history: list[ScanRecord]) -> NDArray[np.float64]:
    """One row per record."""
    rows = [(r.time, r.primal, r.dual, r.violation, r.active, r.passes) for r in history]
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def unpacked(rows: NDArray[np.float64]) -> list[ScanRecord]:
    """The history that `packed` was given."""
    history = []
    for time, primal, dual, violation, active, passes in rows.tolist():
        history.append(ScanRecord(time, primal, dual, violation, int(active), int(passes)))
    return history
