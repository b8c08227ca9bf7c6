"""Checkpoints that are written and read by some ranks."""

from __future__ import annotations

import numpy as np

from multimargin.checkpoints._store import Checkpoints
from tests.support.rank_threads import run_ranks

IDENTITY = {"formulation": "ww", "C": 1.0, "seed": 3, "data": "abc"}


def parts_of(comm, step):
    """Two parts per rank, of several types, one array empty; rank 1 of three holds nothing."""
    if comm.size == 3 and comm.rank == 1:
        return {}
    base = 100 * comm.rank + step
    return {
        f"bundle-{comm.rank}": {
            "alpha": np.arange(base, base + 5, dtype=np.float64),
            "a name that is longer than thirty-two characters": np.full((2, 3), base, np.int32),
        },
        f"fixture-{comm.rank}-{comm.rank + 1}": {"empty": np.zeros((0, 4), np.float32)},
    }


def write_steps(folder, ranks, first, last, identity=IDENTITY):
    def work(comm):
        checkpoints = Checkpoints(folder, 0, comm, identity)
        for step in range(first, last + 1):
            checkpoints.write({"pass": step, "gap": float("inf")}, parts_of(comm, step))
        checkpoints.close()

    run_ranks(ranks, work)
