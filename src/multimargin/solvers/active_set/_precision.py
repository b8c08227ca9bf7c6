"""When scans have to add up scores in double precision, which costs more the more pairs lose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from multimargin.solvers._stopping import Stopping
from multimargin.solvers.active_set._workspace import Scan

# The share of the gap that rounding may hide: where that may end the run, and where it cannot.
_BLURRED, _MOSTLY_BLURRED = 0.1, 0.5
NEAR = 0.5
"""The dual, over the primal, from which on the next scan may be the last."""


def is_blurred(scan: Scan, stopping: Stopping, dtype: DTypeLike) -> bool:
    """Say whether single precision hides a good part of the gap that is left."""
    if dtype != np.float32 or (stopping.by_gap and stopping.reached(scan)):
        return False
    exact = replace(scan, primal=scan.primal - scan.rounding)  # as good as it can be
    useful = not stopping.by_gap or stopping.reached(exact)
    share = _BLURRED if useful else _MOSTLY_BLURRED
    return bool(scan.rounding > share * (scan.primal - scan.dual))


def will_be_blurred(scan: Scan, stopping: Stopping) -> bool:
    """Say whether the next scan may be the last, and would need double precision for that."""
    near = scan.dual > NEAR * scan.primal
    wanted = 2 * stopping.floor(scan)
    return bool(stopping.by_gap and near and scan.rounding > _BLURRED * wanted)
