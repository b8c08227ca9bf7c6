"""The intercept that is held while samples move: the same optimum, and a certificate of the two."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import _core
from multimargin.datasets import make_hierarchical_text
from multimargin.parallel._communicator import SerialCommunicator
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, Limits
from multimargin.solvers._stopping import GapStopping, ViolationStopping
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._rank_workspace import RankWorkspace
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import Lists, LocalWorkspace
from tests.solvers.active_set.test_solver import bits


def problem_of(formulation, C=1.0, bias=1.0, empty=0, dtype=np.float64, free=False):
    """A problem of 200 classes whose sizes differ, so that intercepts do."""
    X, y = make_hierarchical_text(1200, 900, 200, words_per_sample=12, random_state=3)
    X = sp.vstack([X[:empty] * 0, X[empty:]], format="csr").astype(dtype)
    X.eliminate_zeros()
    classes, y = np.unique(y, return_inverse=True)
    box = np.full(len(y), C, dtype=dtype)
    y = y.astype(np.int32)
    data = (as_core_csr(X), y, box, len(classes), bias, formulation)
    return Problem(*data, free_intercept=free)


def solve(problem, stopping, kind=ActiveSetSolver, **options):
    return kind(problem, stopping, Limits(20_000), **options).run()


class Moving(ActiveSetSolver):
    """The intercept moves with the samples, as it does where there is no gap to stop at."""

    def _new_workspace(self, bundles):
        return LocalWorkspace(self._problem, self._threads, self._seed, self._isa, False)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
@pytest.mark.parametrize(("C", "bias", "empty"), [(1.0, 1.0, 0), (0.1, 3.0, 0), (30.0, 0.3, 5)])
def test_the_optimum_is_that_of_an_intercept_that_moves_with_the_samples(
    formulation, C, bias, empty
):
    problem = problem_of(formulation, C, bias, empty)
    moving = solve(problem, GapStopping(1e-5), Moving, plan=Plan())
    assert moving.converged
    for bundles in (None, 5):
        held = solve(problem, GapStopping(1e-5), bundles=bundles)
        assert held.converged
        assert held.primal == pytest.approx(moving.primal, rel=2e-5)
        # Weights whose primal exceeds the optimum by e are within sqrt(2 e) of the best ones.
        reach = sum(np.sqrt(2 * (each.primal - each.dual)) for each in (held, moving))
        assert np.linalg.norm(held.weights.constant - moving.weights.constant) <= reach


@pytest.mark.parametrize("bundles", [None, 5])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_classes_that_rest_answer_to_the_intercept(formulation, bundles):
    """Classes with many samples: passes over those that are due must do what the step expects."""
    X, y = make_hierarchical_text(6000, 600, 100, words_per_sample=12, random_state=1)
    X, y = as_core_csr(X.astype(np.float32)), np.unique(y, return_inverse=True)[1].astype(np.int32)
    problem = Problem(X, y, np.ones(len(y), np.float32), int(y.max()) + 1, 1.0, formulation)
    found = solve(problem, GapStopping(0.01), bundles=bundles)
    assert found.converged and found.passes < 150  # 250 and more if they go on resting


@pytest.mark.parametrize("bundles", [None, 5])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_a_run_without_a_gap_does_not_hold_it(formulation, bundles):
    found = solve(problem_of(formulation), ViolationStopping(0.01), bundles=bundles)
    assert found.converged
    assert found.violation <= 0.01


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_the_optimum_is_known_to_the_next_run(formulation):
    problem = problem_of(formulation, dtype=np.float32)
    first = ActiveSetSolver(problem, GapStopping(1e-3), Limits(20_000), keep_alpha=True).run()
    again = ActiveSetSolver(problem, GapStopping(1e-3), Limits(20_000)).run(first.alpha)
    assert again.converged and again.passes == 0
    np.testing.assert_array_equal(again.weights.constant, first.weights.constant)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_bits_do_not_depend_on_threads(formulation):
    problem = problem_of(formulation, dtype=np.float32)
    one, *others = (solve(problem, GapStopping(1e-3), threads=t) for t in (1, 2, 3))
    for other in others:
        assert bits(other.weights) == bits(one.weights)


def workspace_of(problem, bundles):
    if bundles is None:
        return LocalWorkspace(problem, 1, 0, None)
    return RankWorkspace(problem, SerialCommunicator(), bundles, 1, 0)


@pytest.mark.parametrize("bundles", [None, 1, 5])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_certificates_have_the_intercept_as_it_is_held(formulation, bundles):
    problem = problem_of(formulation)
    workspace = workspace_of(problem, bundles)
    workspace.nearest_centroids(5, 1000)
    workspace.arrange()
    rule = _core.VisitRule(
        everything=True, leave_below=0.0, idle=-1.0, quiet_gap=-1.0, quiet_violation=-1.0
    )
    for _ in range(4):
        workspace.run_pass(rule, True)
    workspace.recompute()
    scan, lists = workspace.scan(1, 10**9, np.inf), workspace.lists()
    held = lists.constant
    made = problem.bias * slot_sums(problem, lists)
    assert np.abs(held - made).max() > 1e-6  # two points, then, and one certificate
    weights = workspace.weights()
    scores = problem.X @ weights.coef.T.toarray() + problem.bias * held
    assert scan.primal == pytest.approx(primal(problem, scores, weights.coef, held), rel=1e-9)
    coef2 = float((weights.coef.data.astype(np.float64) ** 2).sum())
    own = lists.slot_begin[:-1]
    gain = lists.alpha.sum() - lists.alpha[own].sum()
    assert scan.dual == pytest.approx(gain - coef2 / 2 - (made**2).sum() / 2, rel=1e-9)

    workspace.restore(lists)
    assert workspace.scan(1, 10**9, np.inf).primal == scan.primal
    workspace.restore(lists._replace(constant=None))
    np.testing.assert_allclose(workspace.lists().constant, made, atol=1e-9)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_bundles_draw_the_same_classes(formulation):
    problem, pairs = problem_of(formulation), []
    start = solve(problem, GapStopping(0.1), keep_alpha=True).alpha
    for bundles in (None, 1, 5):
        workspace = workspace_of(problem, bundles)
        for drawn in (0, 6):
            workspace.begin(Lists(start.slot_begin, start.cls, start.value))
            workspace.scan(problem.n_classes, 10**9, 0.0)  # no choice among equals
            workspace.merge_found(drawn)
            slot_begin, cls = workspace.lists()[:2]
            of = np.repeat(np.arange(len(problem.y)), np.diff(slot_begin))
            pairs.append(set(zip(of.tolist(), cls.tolist(), strict=True)))
    few, many = pairs[:2]
    assert few < many
    assert pairs == [few, many] * 3


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_bundles_move_it_as_whole_samples_do(formulation):
    problem, found = problem_of(formulation), []
    rule = _core.VisitRule(
        everything=True, leave_below=0.0, idle=-1.0, quiet_gap=-1.0, quiet_violation=-1.0
    )
    for bundles in (None, 1, 2, 5):
        workspace = workspace_of(problem, bundles)
        workspace.nearest_centroids(5, 1000)
        workspace.arrange()
        first, *gaps = [workspace.run_pass(rule, True).gap for _ in range(60)]
        assert gaps[-1] < 1e-4 * first
        found.append(workspace.lists().constant)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-2)


@pytest.mark.parametrize("bundles", [None, 2])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_steps_may_be_longer_than_those_of_newton(formulation, bundles):
    problem, gaps = problem_of(formulation), {}
    rule = _core.VisitRule(
        everything=True, leave_below=0.0, idle=-1.0, quiet_gap=-1.0, quiet_violation=-1.0
    )
    for reach in (0.0, 1.0, 4.0):
        workspace = workspace_of(problem, bundles)
        workspace.nearest_centroids(20, 1000)
        workspace.arrange()
        gaps[reach] = [workspace.run_pass(rule, reach).gap for _ in range(15)][-1]
        assert np.any(workspace.lists().constant) == (reach > 0)
    assert gaps[4.0] < gaps[1.0] / 2


def slot_sums(problem: Problem, lists: Lists | Alpha) -> np.ndarray:
    """s of the optimisation problem at the head of intercept.hpp."""
    alpha = (lists.alpha if isinstance(lists, Lists) else lists.value).astype(np.float64)
    own = lists.slot_begin[:-1]
    alpha[own] = 0
    sums = -np.bincount(lists.cls, weights=alpha, minlength=problem.n_classes)
    totals = np.add.reduceat(alpha, own)
    return sums + np.bincount(problem.y, weights=totals, minlength=problem.n_classes)


def primal(problem, scores, coef, constant):
    own = scores[np.arange(len(problem.y)), problem.y][:, None]
    margins = 1 - own + scores
    margins[np.arange(len(problem.y)), problem.y] = 0
    positive = np.maximum(margins, 0)
    losses = positive.sum(axis=1) if problem.formulation == "ww" else positive.max(axis=1)
    norm2 = float((coef.data.astype(np.float64) ** 2).sum()) + float((constant**2).sum())
    return norm2 / 2 + float(problem.box @ losses)
