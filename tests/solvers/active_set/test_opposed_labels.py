"""Equal samples with different labels: their variables start at the bound that they must reach."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver

N_CLASSES = 70  # more than all of which would be active from the start


def contradictory(formulation, C, bias=0.0):
    X = sp.random(210, 900, 0.02, format="csr", random_state=0)
    y = (np.arange(210) % N_CLASSES).astype(np.int32)
    rows = np.arange(210)
    rows[[5, 6, 7, 8, 78]] = 5  # the labels 5, 6, 7, 8 and 8 again
    rows[100] = 20
    box = np.full(210, C)
    box[[6, 100]] *= 0.5
    return Problem(X[rows], y, box, N_CLASSES, bias, formulation)


# The labels 5 to 8 have bounds of 1, 0.5, 1 and 2 times C. Weston-Watkins: the largest sums of
# variables that leave the weights as they are, 9.5 C by a linear program. Crammer-Singer: all the
# bounds, 4.5 C. And twice 0.5 C of the other pair.
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(("formulation", "largest"), [("ww", 10.5), ("cs", 5.5)])
def test_few_passes_whatever_c(formulation, largest, bias):
    p = contradictory(formulation, 1e4, bias)
    ours = ActiveSetSolver(p, GapStopping(1e-2), Limits(300)).run()
    assert ours.converged  # by steps of 1 / |x|^2 it takes thousands of passes
    assert largest * 1e4 * (1 - 2e-6) <= ours.dual <= 1.01 * largest * 1e4
