"""Solvers for tests of what comes after training: each rank solves all, and keeps some classes.

What ranks hold is scattered, so that nothing is where it has to be in the end.
"""

import numpy as np

from multimargin.estimator import _fit
from multimargin.solvers import _registry
from multimargin.solvers._solution import Weights


def scattered(comm, rows, seed=0):
    """The classes of this rank: any set of them, each on exactly one rank."""
    owner = np.random.default_rng(seed).integers(comm.size, size=rows)
    return np.flatnonzero(owner == comm.rank).astype(np.int32)


def scattering(kind):
    """The solver ``kind``, with some of its weights on each rank."""

    class Scattering(kind):
        def __init__(self, *args, comm=None, **kwargs):
            super().__init__(*args, **kwargs)
            self._ranks = comm

        def run(self, start=None):
            solution = super().run(start)
            if self._ranks is not None and self._ranks.size > 1:
                held = scattered(self._ranks, self._problem.weight_rows)
                whole = solution.weights
                solution.weights = Weights(whole.coef[held], whole.constant[held], held)
            return solution

    return Scattering


def scatter_all(monkeypatch):
    """Let every formulation be trained so."""

    def choose(formulation, solver, ranks, **options):
        kind, reason = _registry.choose(formulation, solver, **options)
        return scattering(kind), reason

    monkeypatch.setattr(_fit, "choose", choose)
