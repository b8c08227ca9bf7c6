"""How a run over ranks begins and ends: starts, plans, limits, callbacks, the row engine."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, distributed
from multimargin.solvers._records import Observers
from multimargin.solvers.active_set._rank_workspace import RankWorkspace
from multimargin.solvers.active_set._solver import ActiveSetSolver
from multimargin.solvers.active_set._workspace import Lists
from tests.solvers.active_set.rank_problems import (
    NAMES,
    check_certified,
    crawling_problem,
    run,
    some_problem,
)
from tests.support.rank_runs import solve
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import CallbackObserver, many_classes_problem

# ---------------------------------------------------------------- one process


@pytest.mark.parametrize("name", NAMES)
def test_warm_start_in_one_process(name):
    X, y = many_classes_problem(n=160, d=90, n_classes=20)
    model = MulticlassSVC(name, n_bundles=4, warm_start=True, tol=1e-3, random_state=0)
    for C in (0.1, 1.0, 0.3):
        model.set_params(C=C).fit(X, y)
        plain = MulticlassSVC(name, C=C, tol=1e-3, random_state=0).fit(X, y)
        assert model.converged_
        assert model.dual_objective_ <= plain.primal_objective_ * (1 + 1e-9)
        assert model.primal_objective_ * (1 - 1e-3) <= plain.primal_objective_ * (1 + 1e-9)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 0, "the optimum was known"
    np.testing.assert_allclose(model.coef_, before, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_start_goes_from_one_process_to_bundles_and_back(name):
    problem = some_problem(name)
    plain = solve(problem, ActiveSetSolver, tol=1e-3)
    start = plain.solutions[0].alpha
    found = [run(problem, ranks, bundles=4, tol=1e-3, start=start) for ranks in (1, 3)]
    assert found[0].scalars[4] == 0 and found[1].same_bits(found[0])
    assert found[0].solutions[0].dual == pytest.approx(plain.solutions[0].dual, rel=1e-3)
    again = solve(problem, ActiveSetSolver, tol=1e-3, start=found[0].solutions[0].alpha)
    assert again.scalars[4] == 0


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize("name", NAMES)
def test_max_iter_ends_all_ranks(name):
    problem = some_problem(name, C=100.0)
    alone = run(problem, bundles=4, tol=1e-9, max_passes=7)
    assert alone.solutions[0].ended_by == "max_iter" and alone.scalars[4] == 7
    assert not alone.solutions[0].converged
    check_certified(problem, alone)
    for ranks in (2, 3):
        assert run(problem, ranks, bundles=4, tol=1e-9, max_passes=7).same_bits(alone)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seconds", [1e-9, 0.2])
def test_a_time_limit_ends_all_ranks(name, seconds):
    problem = some_problem(name, n_classes=120, n=400, C=1e4)
    found = run(problem, 3, bundles=6, tol=1e-14, time_limit=seconds, max_passes=10**8)
    assert found.solutions[0].ended_by == "time_limit"
    check_certified(problem, found)


@pytest.mark.parametrize("name", NAMES)
def test_a_time_limit_between_rounds(name, monkeypatch):
    """Whatever the round after which it is up, dual variables come back to their owners."""
    problem = some_problem(name)
    for rounds_left in range(1, 7):
        left = itertools.count()
        monkeypatch.setattr(
            RankWorkspace, "_time_is_up",
            lambda self, left=left, most=rounds_left: bool(
                self._comm.broadcast(
                    [np.array([self._comm.rank == 0 and next(left) >= most])]
                )[0][0]
            ),
        )  # fmt: skip
        found = run(problem, 2, bundles=8, tol=1e-9, time_limit=1000.0)
        assert found.solutions[0].ended_by == "time_limit"
        assert found.solutions[0].dual > 0
        check_certified(problem, found)


def test_a_callback_of_rank_0_ends_all_ranks():
    seen = []

    def stop(record, weights):
        seen.append(weights().classes)
        return len(seen) == 2

    problem = some_problem("ww", n_classes=100, n=300)
    found = run(problem, 3, bundles=6, tol=1e-9, max_passes=10_000,
                   observers=Observers([CallbackObserver(stop)]))  # fmt: skip
    assert found.solutions[0].ended_by == "a callback"
    assert len(seen) == 2 and 0 < len(seen[0]) < 100
    check_certified(problem, found)


@pytest.mark.parametrize("name", NAMES)
def test_a_tolerance_that_single_precision_cannot_reach(name):
    """Whatever ends it, the best certificate is near what rounding allows."""
    problem = some_problem(name, np.float32, n_classes=12, n=80, d=50)
    found = run(problem, 2, bundles=4, tol=1e-12, max_passes=1000)
    assert abs(found.solutions[0].gap) < 1e-4
    check_certified(problem, found, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_whoever_is_not_done_says_how_far_it_came(name):
    X, y = many_classes_problem(n=160, d=90, n_classes=20)

    def work(comm):
        model = MulticlassSVC(name, C=100.0, tol=1e-9, max_iter=3, n_bundles=4, random_state=0)
        return distributed.fit(model, X, y, comm=comm)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run_ranks(3, work)
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(told) == 1
    assert "max_iter" in told[0]
    assert "gap" in told[0]
    assert [f.n_iter_ for f in found] == [3] * 3


# ---------------------------------------------------------------- the row engine


def test_rows_help_all_ranks():
    problem = crawling_problem()
    alone = run(problem, bundles=3, tol=1e-4, max_passes=5000)
    assert alone.solvers[0]._tried_rows
    assert alone.solutions[0].converged
    check_certified(problem, alone, rel=1e-7)
    for ranks in (2, 3):
        assert run(problem, ranks, bundles=3, tol=1e-4, max_passes=5000).same_bits(alone)


@pytest.mark.parametrize("most", [300, 302, 306])
def test_limits_in_the_middle_of_rows(most):
    problem = crawling_problem()
    found = [run(problem, ranks, bundles=3, tol=1e-9, max_passes=most) for ranks in (1, 3)]
    assert found[1].same_bits(found[0])
    assert found[0].solutions[0].ended_by == "max_iter"
    check_certified(problem, found[0], rel=1e-7)


def test_back_to_what_was_before_a_new_start():
    """Dual variables that were kept belong to the classes that they were kept of."""
    problem = some_problem("ww")
    best = run(problem, bundles=5, tol=1e-3)
    workspace, kept = best.solvers[0]._workspace, best.solutions[0].alpha
    snapshot = workspace.snapshot()
    n = len(problem.y)
    other = ((problem.y + 1) % problem.n_classes).astype(np.int32)
    cls = np.stack([problem.y, other], axis=1).reshape(-1)
    workspace.begin(Lists(np.arange(0, 2 * n + 1, 2), cls, np.zeros(2 * n)))
    workspace.restore(snapshot)
    for found, expected in zip(
        workspace.lists()[:3], (kept.slot_begin, kept.cls, kept.value), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    weights = workspace.weights()
    np.testing.assert_allclose(weights.coef.toarray(), best.coef, atol=1e-12)
