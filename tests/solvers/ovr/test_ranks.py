"""One-vs-rest over ranks: the same bits for any number of them, shares, ends and checkpoints."""

import numpy as np
import pytest

from multimargin.checkpoints._store import Checkpoints
from multimargin.solvers._records import Observers
from multimargin.solvers._registry import choose
from multimargin.solvers._solution import DenseAlpha, Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.ovr import _rank_classes as _ovr_lines
from multimargin.solvers.ovr import _solver as _ovr_solver
from multimargin.solvers.ovr._solver import OvrSolver
from tests.support.memory_checkpoints import Shelf
from tests.support.rank_runs import problem_of, solve
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import CallbackObserver, many_classes_problem


def some_problem(n_classes=70, dtype=np.float64, C=1.0, n=200, loss="hinge"):
    X, y = many_classes_problem(n=n, d=90, n_classes=n_classes)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    return problem_of(X, y, "ovr", C=C, dtype=dtype, weight=weight, loss=loss)


@pytest.fixture
def small_groups(monkeypatch):
    """Groups of three lines, so that small problems have several."""
    monkeypatch.setattr(_ovr_lines, "_LINES", 3)
    monkeypatch.setattr(_ovr_lines, "_GROUPS", 100)


@pytest.fixture
def no_rows(monkeypatch):
    monkeypatch.setattr(OvrSolver, "_may_try_rows", lambda self: False)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_ranks_and_threads(dtype, loss, small_groups):
    problem = some_problem(dtype=dtype, loss=loss)
    alone = solve(problem, OvrSolver)
    assert alone.solutions[0].converged and len(alone.solutions[0].history) >= 2
    for ranks in (1, 2, 3, 4):
        for threads in (1, 2):
            for bundles in (None, 1, 3, 8):
                found = solve(problem, OvrSolver, ranks, threads=threads, bundles=bundles)
                assert found.same_bits(alone)


def test_same_bits_without_dual_variables(no_rows, small_groups):
    problem = some_problem(n_classes=90)
    alone = solve(problem, OvrSolver)
    for ranks in (2, 5):
        assert solve(problem, OvrSolver, ranks).same_bits(alone)


def test_history_does_not_show_the_ranks():
    """Also with the groups that are used in earnest: more than 64 lines of classes."""
    X, y = many_classes_problem(n=600, d=60, n_classes=555)
    problem = problem_of(X, y, "ovr", C=0.1)
    alone = solve(problem, OvrSolver, tol=0.2)
    assert len(alone.solutions[0].history) == 2
    assert solve(problem, OvrSolver, 3, tol=0.2).same_bits(alone)


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_more_ranks_than_lines(n_classes):
    problem = some_problem(n_classes=n_classes, n=60)
    alone = solve(problem, OvrSolver)
    for ranks in (2, 5):
        found = solve(problem, OvrSolver, ranks)
        assert found.same_bits(alone)
        lines = -(-problem.weight_rows // 8)
        assert sum(s.weights.coef.shape[0] > 0 for s in found.solutions) == min(ranks, lines)


def test_every_rank_has_its_turn(small_groups):
    """Lines that are left over after an even division do not all go to the first ranks."""
    problem = some_problem(n_classes=160)
    held = [len(s.weights.classes) for s in solve(problem, OvrSolver, 2).solutions]
    assert sum(held) == 160 and abs(held[0] - held[1]) <= 8


def test_a_rank_holds_a_share(no_rows):
    problem = some_problem(n_classes=160)
    whole = solve(problem, OvrSolver).engine_bytes[0]
    for held in solve(problem, OvrSolver, 5).engine_bytes:
        assert 0 < held < 0.3 * whole


def test_only_certificates_travel(no_rows):
    found = solve(some_problem(n_classes=160), OvrSolver, 4)
    # Six numbers and its name for each class, to three others.
    assert max(found.bytes_sent) <= 3 * 40 * 7 * 8 + 1000


def test_rows_help_all_ranks(monkeypatch):
    """Few dense features and a large C: passes do not finish, and rank 0 helps all."""
    monkeypatch.setattr(_ovr_solver, "_SLOW_PASSES", 5)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 20
    X = rng.standard_normal((120, 4)) * [1, 10, 100, 0.1]
    problem = problem_of(X, y, "ovr", C=100.0)
    alone = solve(problem, OvrSolver, tol=1e-3, max_passes=100_000)
    tried = [s for s in alone.solutions[0].history if s.passes > 5]
    assert tried and alone.solutions[0].converged
    shelf = Shelf()
    options = {"tol": 1e-3, "max_passes": 100_000}
    assert solve(problem, OvrSolver, 3, shelf=shelf, **options).same_bits(alone)
    for checkpoint in shelf.checkpoints:
        again = solve(problem, OvrSolver, 2, shelf=Shelf(), resume_from=checkpoint, **options)
        assert again.same_bits(alone)


def test_start_from_dual_variables():
    problem = some_problem()
    kept = solve(problem, OvrSolver, keep_alpha=True, tol=1e-3).solutions[0].alpha
    assert isinstance(kept, DenseAlpha)

    def work(comm):
        return OvrSolver(problem, GapStopping(2e-3), Limits(100), comm=comm).run(kept)

    (alone,) = run_ranks(1, work)
    for found in run_ranks(3, work):
        assert found.passes == 0 and found.alpha is None
        assert found.dual == alone.dual


# ---------------------------------------------------------------- ends


def test_max_iter_ends_all_ranks(no_rows):
    found = solve(some_problem(C=100.0), OvrSolver, 3, max_passes=3, tol=1e-6)
    assert found.solutions[0].ended_by == "max_iter" and found.scalars[4] == 3
    assert solve(some_problem(C=100.0), OvrSolver, 1, max_passes=3, tol=1e-6).same_bits(found)


def test_a_time_limit_ends_all_ranks(no_rows, small_groups):
    problem = some_problem(n_classes=150, C=1e6, n=1500)
    found = solve(problem, OvrSolver, 3, tol=1e-9, time_limit=0.3, max_passes=10**7)
    assert found.solutions[0].ended_by == "time_limit"


def test_a_callback_of_rank_0_ends_all_ranks(small_groups):
    seen = []

    def stop(record, weights):
        seen.append(weights().coef.shape[0])
        return len(seen) == 2

    observers = Observers([CallbackObserver(stop)])
    found = solve(some_problem(n_classes=100), OvrSolver, 3, tol=1e-9, observers=observers)
    assert found.solutions[0].ended_by == "a callback"
    assert len(seen) == 2 and len(found.solutions[0].history) == 2


# ---------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("keep_alpha", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_every_checkpoint_on_any_number_of_ranks(
    dtype, keep_alpha, no_rows, small_groups, monkeypatch
):
    monkeypatch.setattr(_ovr_solver, "_LINES_AT_ONCE", 1)  # also within a group
    problem, options = some_problem(n_classes=100, dtype=dtype), {"keep_alpha": keep_alpha}
    whole = solve(problem, OvrSolver, **options)
    shelf = Shelf()
    assert solve(problem, OvrSolver, shelf=shelf, **options).same_bits(whole)
    assert len(shelf.checkpoints) == -(-100 * np.dtype(dtype).itemsize // 64)
    for ranks in (1, 2, 3):
        for step, checkpoint in enumerate(shelf.checkpoints):
            found = solve(
                problem, OvrSolver, ranks, shelf=Shelf(), resume_from=checkpoint, **options
            )
            assert found.same_bits(whole), f"from checkpoint {step} on {ranks} ranks"


def test_from_a_checkpoint_of_several_ranks(no_rows, small_groups, monkeypatch):
    monkeypatch.setattr(_ovr_solver, "_LINES_AT_ONCE", 1)
    problem, shelf = some_problem(n_classes=100), Shelf()
    whole = solve(problem, OvrSolver, 3, shelf=shelf)
    for step, checkpoint in enumerate(shelf.checkpoints):
        found = solve(problem, OvrSolver, 1 + step % 4, shelf=Shelf(), resume_from=checkpoint)
        assert found.same_bits(whole)


def test_a_timed_run_goes_on_from_its_round(no_rows, small_groups):
    """Two rounds, the rough one first; the limit itself is far."""
    problem, shelf = some_problem(n_classes=60), Shelf()
    options = {"time_limit": 1000.0, "tol": 1e-3, "max_passes": 10_000}
    whole = solve(problem, OvrSolver, 2, shelf=shelf, **options)
    assert whole.solutions[0].converged
    for checkpoint in shelf.checkpoints:
        again = solve(problem, OvrSolver, 3, shelf=Shelf(), resume_from=checkpoint, **options)
        assert again.same_bits(whole)
    assert {c.common["at"][0] for c in shelf.checkpoints} == {0, 1}


@pytest.mark.parametrize("limits", [(1e6, None), (None, 1e6)])
def test_a_run_goes_on_with_another_time_limit(limits, no_rows, small_groups):
    problem, shelf = some_problem(n_classes=60), Shelf()
    options = {"tol": 1e-3, "max_passes": 10_000}
    before, after = limits
    whole = solve(problem, OvrSolver, 2, shelf=shelf, time_limit=before, **options)
    for checkpoint in shelf.checkpoints:
        found = solve(
            problem,
            OvrSolver,
            3,
            shelf=Shelf(),
            resume_from=checkpoint,
            time_limit=after,
            **options,
        )
        assert found.same_bits(whole)


@pytest.mark.parametrize("keep_alpha", [False, True])
def test_a_run_goes_on_with_more_passes(keep_alpha, no_rows, small_groups, monkeypatch):
    monkeypatch.setattr(_ovr_solver, "_LINES_AT_ONCE", 1)
    problem, shelf, options = some_problem(), Shelf(), {"keep_alpha": keep_alpha, "tol": 1e-3}
    few = solve(problem, OvrSolver, 2, shelf=shelf, max_passes=3, **options)
    assert few.solutions[0].ended_by == "max_iter"
    for checkpoint in shelf.checkpoints:
        for ranks in (1, 3):
            found = solve(
                problem, OvrSolver, ranks, shelf=Shelf(), resume_from=checkpoint, **options
            )
            assert found.solutions[0].converged


def test_checkpoints_on_disk(tmp_path, no_rows, small_groups):
    problem = some_problem(n_classes=60)
    whole = solve(problem, OvrSolver)
    seen = []

    def run(observers):
        def work(comm):
            kept = Checkpoints(tmp_path / "run", 0.0, comm, {"C": 1.0})
            solver = OvrSolver(
                problem,
                GapStopping(0.05),
                Limits(400),
                comm=comm,
                checkpoints=kept,
                observers=observers if comm.rank == 0 else None,
            )
            found = solver.run()
            kept.close()
            return found

        return work

    stop = CallbackObserver(lambda record, weights: seen.append(record) or len(seen) == 2)
    run_ranks(3, run(Observers([stop])))
    found = run_ranks(2, run(None))
    assert [f.dual for f in found] == [whole.solutions[0].dual] * 2
    for s in found:
        assert np.array_equal(s.weights.coef.toarray(), whole.coef[s.weights.classes])


def test_choice_of_the_solver():
    for divided in ({"ranks": 4}, {"bundles": 8}, {"checkpoints": True}):
        assert choose("ovr", **divided).solver is OvrSolver
