"""A large C: passes over the samples with most of the gap, and passes that take off losses."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import _core
from multimargin.datasets import make_hierarchical_text
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set import _large_boxes
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import LocalWorkspace
from tests.solvers.active_set.test_solver import bits


def problem_of(formulation, C=100.0, bias=0.0, dense=False, dtype=np.float64, opposed=True):
    """Text whose samples come twice, a tenth of them with two labels: their variables rise to C.

    Not quite twice: those of equal samples would start there.
    """
    X, y = make_hierarchical_text(300, 200, 70, words_per_sample=8, random_state=5)
    other = y.copy()
    if opposed:
        other[::10] = (y[::10] + 1) % 70
    X = sp.vstack([X, np.float32(1.0001) * X], format="csr").astype(dtype)
    y = np.concatenate([y, other])
    classes, y = np.unique(y, return_inverse=True)
    X = np.ascontiguousarray(X.toarray()) if dense else as_core_csr(X)
    box = np.full(len(y), C, dtype=dtype)
    return Problem(X, y.astype(np.int32), box, len(classes), bias, formulation)


def rule(spare=-1.0):
    nothing_rests = {"leave_below": 0.0, "idle": -1.0, "quiet_gap": -1.0, "quiet_violation": -1.0}
    return _core.VisitRule(everything=True, spare=spare, **nothing_rests)


def passes(workspace, count, spare=-1.0):
    return [workspace.run_pass(rule(spare), False) for _ in range(count)]


def certificate(workspace):
    workspace.recompute()
    return workspace.scan(1, 10**9, np.inf, True)


def within_bounds(problem, lists):
    alpha = lists.alpha.copy()
    alpha[lists.slot_begin[:-1]] = 0
    if problem.formulation == "cs":
        alpha = np.add.reduceat(alpha, lists.slot_begin[:-1])
    return lists.alpha.min() >= 0 and alpha.max() <= problem.box[0] * (1 + 1e-6)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_focus_takes_most_of_the_gap_off_a_few_samples(formulation, dense):
    problem = problem_of(formulation, dense=dense)
    workspace = LocalWorkspace(problem, 2, 0, None)
    workspace.nearest_centroids(10, 1000)
    passes(workspace, 4)
    before = certificate(workspace).dual
    seen = workspace.focus(rule())
    assert 0 < seen.samples < len(problem.y) / 4  # of all with a gap
    assert seen.left <= 0.1 * seen.gap
    assert certificate(workspace).dual > before
    assert within_bounds(problem, workspace.lists())


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_passes_with_something_to_spare_take_off_losses(formulation, dense):
    problem = problem_of(formulation, dense=dense, opposed=False)
    workspace = LocalWorkspace(problem, 2, 0, None)
    workspace.nearest_centroids(69, 1000)
    passes(workspace, 100)
    before = certificate(workspace)
    alpha = workspace.lists().alpha
    own = np.zeros(len(alpha), dtype=bool)
    own[workspace.lists().slot_begin[:-1]] = True
    passes(workspace, 1, spare=0.001)
    assert (workspace.lists().alpha - alpha)[~own].sum() > 0
    passes(workspace, 5, spare=0.001)
    after = certificate(workspace)
    assert after.primal - after.dual < (before.primal - before.dual) / 2
    assert after.dual > before.dual * (1 - 1e-3)
    assert within_bounds(problem, workspace.lists())


@pytest.mark.parametrize("opposed", [False, True])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_bits_do_not_depend_on_threads(formulation, bias, opposed):
    problem = problem_of(formulation, 1000.0, bias, dtype=np.float32, opposed=opposed)
    found = [
        ActiveSetSolver(problem, GapStopping(0.01), Limits(5000), threads=threads).run()
        for threads in (1, 3)
    ]
    assert found[0].converged
    assert bits(found[0].weights) == bits(found[1].weights)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_a_large_box_needs_fewer_passes_to_the_same_optimum(formulation, monkeypatch):
    problem = problem_of(formulation, C=1000.0, dtype=np.float32, opposed=False)

    def solve():
        return ActiveSetSolver(problem, GapStopping(0.01), Limits(5000)).run()

    found = solve()
    monkeypatch.setattr(_large_boxes, "_LARGE", np.inf)
    other = solve()
    assert found.converged
    assert other.converged
    assert found.passes < 0.7 * other.passes  # 370 and 1083; Crammer-Singer: 246 and 482
    assert found.dual == pytest.approx(other.dual, rel=0.01)
    assert found.dual <= other.primal
    assert other.dual <= found.primal
