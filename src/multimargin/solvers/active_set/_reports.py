"""Results of passes and scans, whoever made them: one process or several ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multimargin.parallel._communicator import Communicator


@dataclass(frozen=True)
class PassSummary:
    """What a pass saw, each sample just before its move; sums are in a fixed order."""

    gap: float
    violation: float
    complete: bool


@dataclass(frozen=True)
class Scan:
    """A certificate, see `multimargin.solvers._stopping.Certificate`.

    Attributes
    ----------
    rounding : float
        The part of primal - dual that is there because scores are rounded.
    found : int
        Violators that were not active.
    complete : bool
        Whether the scan came to its end; otherwise it is no certificate.
    outside : float or None
        The part of the gap that lies in violators that are not active, where it can be told apart.
    """

    primal: float
    dual: float
    violation: float
    rounding: float
    found: int
    complete: bool
    outside: float | None = None


def gathered_summary(
    comm: Communicator, seen: dict[tuple[int, int], tuple[float, float]], complete: bool
) -> PassSummary:
    """Summary of all ranks' meetings: gap and violation by round and match."""
    places = np.array(list(seen), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(seen.values()), dtype=np.float64).reshape(-1, 2)
    rows: list[tuple[int, int, float, float]] = []
    for place, value, full in comm.allgather([places, values, np.array([complete])]):
        rows += [(*p, *v) for p, v in zip(place.tolist(), value.tolist(), strict=True)]
        complete = complete and bool(full[0])
    rows.sort()
    return PassSummary(
        gap=sum(row[2] for row in rows),
        violation=max((row[3] for row in rows), default=0.0),
        complete=complete,
    )
