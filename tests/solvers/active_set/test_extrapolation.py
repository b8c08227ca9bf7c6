"""Steps in the direction of the last passes: the dual objective gains what they say it does."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import _core
from multimargin.datasets import make_hierarchical_text
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import LocalWorkspace
from tests.solvers.active_set.test_solver import bits


def problem_of(formulation, C=100.0, bias=0.0, dense=False, dtype=np.float64):
    """Text whose samples come twice, a tenth of them with two labels: their variables rise to C."""
    X, y = make_hierarchical_text(300, 200, 70, words_per_sample=8, random_state=5)
    other = y.copy()
    other[::10] = (y[::10] + 1) % 70
    X, y = sp.vstack([X, X], format="csr").astype(dtype), np.concatenate([y, other])
    classes, y = np.unique(y, return_inverse=True)
    X = np.ascontiguousarray(X.toarray()) if dense else as_core_csr(X)
    box = np.full(len(y), C, dtype=dtype)
    return Problem(X, y.astype(np.int32), box, len(classes), bias, formulation)


def passes(workspace, count):
    rule = _core.VisitRule(
        everything=True, leave_below=0.0, idle=-1.0, quiet_gap=-1.0, quiet_violation=-1.0
    )
    for _ in range(count):
        workspace.run_pass(rule, False)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("bias", "holds"), [(0.0, False), (1.0, False), (1.0, True)])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_gains_are_those_of_the_dual_objective(formulation, bias, holds, dense):
    problem = problem_of(formulation, bias=bias, dense=dense)
    workspace = LocalWorkspace(problem, 2, 0, None, holds)
    workspace.nearest_centroids(10, 1000)
    passes(workspace, 4)

    def lagrangian():
        """The dual objective, or where the intercept is held what passes maximise at it."""
        lists = workspace.lists()
        workspace.recompute()
        scan = workspace.scan(1, np.inf, True)
        own = lists.slot_begin[:-1]
        alpha = lists.alpha.copy()
        alpha[own] = 0
        s = -np.bincount(lists.cls, weights=alpha, minlength=problem.n_classes)
        s += np.bincount(problem.y, weights=lists.alpha[own], minlength=problem.n_classes)
        made = bias * s
        return scan.dual + (made @ made / 2 - lists.constant @ made if holds else 0.0)

    first = lagrangian()
    workspace.mark()
    passes(workspace, 4)
    second = lagrangian()
    gain, of_passes = workspace.extrapolate()
    assert of_passes == pytest.approx(second - first, rel=1e-6)
    assert gain > 0
    assert gain == pytest.approx(lagrangian() - second, rel=1e-6)
    lists = workspace.lists()
    assert lists.alpha.min() >= 0
    limit = lists.alpha[lists.slot_begin[:-1]].max() if formulation == "cs" else lists.alpha
    others = np.ones(len(lists.cls), dtype=bool)
    others[lists.slot_begin[:-1]] = False
    assert (limit if formulation == "cs" else limit[others].max()) <= 100 * (1 + 1e-12)
    with pytest.raises(RuntimeError, match="mark"):
        workspace.extrapolate()  # there is no direction left


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_samples_with_two_labels_get_to_a_large_bound(formulation):
    problem = problem_of(formulation, C=1000.0, dtype=np.float32)
    found = [
        ActiveSetSolver(problem, GapStopping(0.01), Limits(2000), threads=threads).run()
        for threads in (1, 3)
    ]
    assert found[0].converged  # Crammer-Singer in 1,151 passes; without such steps in 3,008
    assert bits(found[0].weights) == bits(found[1].weights)
