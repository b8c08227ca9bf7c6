"""What the ranks of a league have seen: in a season, in a scan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scan:
    """A certificate, see `multimargin.solvers._stopping.Certificate`.

    ``outside`` is what of the gap lies in violators that are not active; None where that cannot
    be told apart.
    """

    primal: float
    dual: float
    violation: float
    rounding: float
    found: int
    complete: bool
    outside: float | None


@dataclass(frozen=True)
class PassSummary:
    """What a pass saw, summed over rounds and matches in their order."""

    gap: float
    violation: float
    complete: bool


class Losses:
    """What samples lose: the sum over classes, or, with a shared budget, in the worst of them.

    Bundle by bundle, so that no more than one number per sample is kept.
    """

    def __init__(self, samples: int, shared: bool) -> None:
        self.sums: dict[int, float] = {}
        self.most = np.zeros(samples if shared else 0)
        self._shared = shared

    def add(self, bundle: int, loss: NDArray[np.float64]) -> None:
        if self._shared:
            np.maximum(self.most, loss, out=self.most)
        else:
            self.sums[bundle] = float(loss.sum())
