"""The memory that a run with divided samples takes on a host."""

from __future__ import annotations

from typing import NamedTuple

from multimargin.parallel._divided_rows import DividedRows
from multimargin.parallel._partition import BUNDLES_PER_RANK
from multimargin.solvers._problem import Problem
from multimargin.solvers.active_set._solver import first_classes

_PER_SAMPLE = 150  # bytes of labels, norms, sums and scores, which every host has of all samples


class Memory(NamedTuple):
    """Bytes on one host, at the start of a run."""

    rows: int
    pairs: int
    weights: int  # at most

    def __str__(self) -> str:
        rows, pairs, weights = (f"{part / 2**20:,.0f} MB" for part in self)
        return (
            f"memory per host: about {rows} for rows, {pairs} for active pairs at the start, up to "
            f"{weights} for weights"
        )


def memory_of_host(problem: Problem, X: DividedRows, hosts: int) -> Memory:
    """Estimate the memory of a host; `X` are the rows of the problem."""
    total, classes = int(X.starts[-1]), first_classes(problem)
    value, index = X.dtype.itemsize, X.indices.dtype.itemsize
    # Its own, those of the meetings of a round, and some that go by.
    rows = total * (value + index) * 5 // (2 * hosts) + _PER_SAMPLE * len(problem.y)
    # Positions of features, once more for the own class in each meeting.
    meetings = min(classes, BUNDLES_PER_RANK * hosts - 1)
    weights = min(problem.n_classes * X.shape[1], (classes + 1) * total)
    return Memory(rows, 4 * total * (classes + meetings) // hosts, weights * (value + 4) // hosts)
