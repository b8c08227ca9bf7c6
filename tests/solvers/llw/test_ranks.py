"""Lee-Lin-Wahba over ranks: the same bits for any number of them, shares, ends and checkpoints."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from multimargin.checkpoints._store import Checkpoints
from multimargin.parallel._partition import bundle_cuts, divided, stretches
from multimargin.solvers._records import Observers
from multimargin.solvers._registry import choose
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.llw._alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin.solvers.llw._hard_margin import HardMargin
from multimargin.solvers.llw._rank_classes import Share
from multimargin.solvers.rows._solver import RowSolver
from tests.support.memory_checkpoints import Shelf
from tests.support.rank_runs import problem_of, solve
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import CallbackObserver, many_classes_problem, separable_problem

KINDS = [AlternatingSolver, ExtrapolatedSolver]


def some_problem(n_classes=70, dtype=np.float64, C=0.3, seed=0, n=200):
    X, y = many_classes_problem(n=n, d=90, n_classes=n_classes, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(y))
    return problem_of(X, y, "llw", C=C, dtype=dtype, weight=weight)


@pytest.mark.parametrize("bundles", [1, 3, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_any_number_of_ranks_and_threads(kind, dtype, bundles):
    problem = some_problem(dtype=dtype)
    alone = solve(problem, kind, bundles=bundles)
    assert alone.solutions[0].converged and len(alone.solutions[0].history) > 2
    for ranks in (1, 2, 3, 4):
        for threads in (1, 2):
            assert solve(problem, kind, ranks, bundles=bundles, threads=threads).same_bits(alone)


@pytest.mark.parametrize("kind", KINDS)
def test_one_bundle_is_the_plain_run(kind):
    problem = some_problem()
    assert solve(problem, kind).same_bits(solve(problem, kind, 3, bundles=1))


@pytest.mark.parametrize("n_classes", [2, 3, 9, 17])
def test_more_ranks_and_bundles_than_lines(n_classes):
    problem = some_problem(n_classes=n_classes, n=60)
    alone = solve(problem, ExtrapolatedSolver, bundles=64)
    for ranks in (2, 5):
        found = solve(problem, ExtrapolatedSolver, ranks, bundles=64)
        assert found.same_bits(alone)
        lines = -(-n_classes // 8)
        assert sum(len(s.weights.classes) > 0 for s in found.solutions) == min(ranks, lines)


def test_bundles_are_two_per_rank_if_nothing_is_said():
    problem = some_problem()
    assert solve(problem, ExtrapolatedSolver, 3).same_bits(
        solve(problem, ExtrapolatedSolver, 1, bundles=6)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.03, 1.0])
def test_the_optimum_is_that_of_sample_blocks(C, dtype):
    problem = some_problem(n_classes=20, dtype=dtype, C=C)
    tol = 1e-3
    block = solve(problem, RowSolver, tol=tol)
    for kind in KINDS:
        if kind is AlternatingSolver and C == 1.0:
            continue  # its epochs grow with C
        found = solve(problem, kind, 3, bundles=3, tol=tol, max_passes=20_000)
        assert found.solutions[0].converged
        # Each primal is within tol of the optimum, each dual below it.
        assert found.solutions[0].dual <= block.solutions[0].primal * (1 + 1e-6)
        assert block.solutions[0].dual <= found.solutions[0].primal * (1 + 1e-6)
        np.testing.assert_allclose(found.coef.sum(axis=0), 0, atol=1e-4)


def test_certificate_is_that_of_the_weights():
    """Primal and dual of the joined weights, by the formulas."""
    problem = some_problem(n_classes=30)
    found = solve(problem, ExtrapolatedSolver, 3, bundles=4)
    scores = problem.X @ found.coef.T + problem.bias * found.constant
    margins = np.maximum(0, 1 + scores)
    margins[np.arange(len(problem.y)), problem.y] = 0
    norm = np.sum(found.coef**2) + np.sum(found.constant**2)
    primal = 0.5 * norm + problem.box @ margins.sum(axis=1)
    assert found.solutions[0].primal == pytest.approx(primal, rel=1e-9)


def test_a_rank_holds_a_share():
    problem = some_problem(n_classes=160, dtype=np.float32)
    whole = solve(problem, ExtrapolatedSolver, bundles=5).engine_bytes[0]
    for held in solve(problem, ExtrapolatedSolver, 5, bundles=5).engine_bytes:
        assert held <= whole * (2 + 1) / 10 * 1.01  # two of ten lines, and one that pads a row


def test_what_travels_does_not_grow_with_the_reductions():
    problem = some_problem(n_classes=64, n=400)
    n, d = problem.X.shape
    for reductions in (2, 10):
        found = solve(problem, ExtrapolatedSolver, 4, bundles=4, reductions=reductions)
        looks, epochs = len(found.solutions[0].history), found.scalars[4]
        # A number per sample and epoch, there and back; at a look also one per feature.
        numbers = 2 * epochs * n + 2 * looks * (2 * n + 2 * d)
        small = 100 * (epochs * reductions + 4 * looks)
        assert max(found.bytes_sent) <= 8 * (numbers + small)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_margin_over_ranks(kind):
    X, y = separable_problem(3, n=40, n_classes=9)
    problem = problem_of(X, y, "llw", C=np.inf)
    options = {"bundles": 2, "tol": 0.3, "max_passes": 100}
    alone = solve(problem, kind, **options)
    assert len(alone.solutions[0].history) > 5
    assert solve(problem, kind, 3, **options).same_bits(alone)


def test_a_hard_margin_is_kept():
    rng = np.random.default_rng(0)
    y = np.arange(36) % 9
    problem = problem_of(np.eye(9)[y] + 0.01 * rng.standard_normal((36, 9)), y, "llw", C=np.inf)
    found = solve(problem, ExtrapolatedSolver, 2, bundles=2, tol=0.1, max_passes=2000)
    assert found.solutions[0].converged
    scores = problem.X @ found.coef.T + found.constant
    scores[np.arange(len(y)), y] = -np.inf
    assert scores.max() <= -1 + 1e-9


def test_a_rounded_hard_margin_of_rows_is_that_of_all_ranks():
    """Weights are scaled by the largest margin of all classes, whoever holds them."""
    X, y = separable_problem(3, n=40, n_classes=9)
    problem = replace(problem_of(X, y, "llw", C=np.inf), dtype=np.float32)
    alone = solve(problem, RowSolver, tol=1e-3, max_passes=5000)
    assert alone.solutions[0].converged
    assert alone.solutions[0].weights.coef.dtype == np.float32
    found = solve(problem, RowSolver, 3, tol=1e-3, max_passes=5000)
    assert found.same_bits(alone)
    assert {s.primal for s in found.solutions} == {alone.solutions[0].primal}


def test_a_hopeless_hard_margin_is_refused_on_all_ranks():
    """One point in two classes: the dual variables grow along a direction without weights."""
    X = np.vstack([np.eye(9), np.eye(9)[:1]])
    y = np.arange(10) % 9
    y[-1] = 1
    problem = problem_of(X, y, "llw", C=np.inf, bias=0.0)
    alpha = np.zeros((10, 9))
    # For every class one of the two, or both, says no: equal sums over them cancel.
    alpha[0], alpha[-1] = 1.0, 1.0
    alpha[0, 0] = alpha[-1, 1] = 0.0
    alpha[0, 2:] = alpha[-1, 2:] = 0.5

    def work(comm):
        share = Share(problem, comm, 2, threads=1, seed=0)
        hard = HardMargin(problem, share)
        assert hard.goes_on(share_of(np.eye(10, 9, 1), share))
        with pytest.raises(ValueError, match="infeasible"):
            hard.goes_on(share_of(alpha, share))
        return hard._least_norm(share_of(np.eye(10, 9, 1), share))

    def share_of(rows, share):
        return np.ascontiguousarray(rows[:, share.classes])

    alone = HardMargin(problem)._least_norm(np.eye(10, 9, 1))
    assert run_ranks(3, work) == [pytest.approx(alone)] * 3


# ---------------------------------------------------------------- ends


def test_max_iter_ends_all_ranks():
    found = solve(some_problem(C=100.0), ExtrapolatedSolver, 3, bundles=3, max_passes=7, tol=1e-6)
    assert found.solutions[0].ended_by == "max_iter" and found.scalars[4] == 7


def test_a_time_limit_ends_all_ranks():
    problem = some_problem(n_classes=200, C=1e4)
    found = solve(
        problem, AlternatingSolver, 3, bundles=3, tol=1e-9, time_limit=0.3, max_passes=10**8
    )
    assert found.solutions[0].ended_by == "time_limit"


def test_a_callback_of_rank_0_ends_all_ranks():
    seen = []

    def stop(record, weights):
        seen.append(weights().classes)
        return len(seen) == 3

    found = solve(
        some_problem(C=100.0),
        ExtrapolatedSolver,
        3,
        bundles=3,
        tol=1e-6,
        observers=Observers([CallbackObserver(stop)]),
    )
    assert found.solutions[0].ended_by == "a callback"
    assert len(seen) == 3 and len(seen[0]) < 70


# ---------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_from_every_checkpoint_on_any_number_of_ranks(kind, dtype):
    problem = some_problem(dtype=dtype, C=2.0)
    options = {"bundles": 3, "tol": 0.02, "max_passes": 24}
    whole = solve(problem, kind, **options)
    shelf = Shelf()
    watched = solve(problem, kind, 2, shelf=shelf, **options)
    assert watched.same_bits(whole)
    assert len(shelf.checkpoints) >= 10
    for step, checkpoint in enumerate(shelf.checkpoints):
        ranks = 1 + step % 3
        again = solve(problem, kind, ranks, shelf=Shelf(), resume_from=checkpoint, **options)
        assert again.same_bits(whole), f"from checkpoint {step} on {ranks} ranks"


def test_back_to_the_best_dual_from_every_checkpoint(monkeypatch):
    """Momentum seldom makes the dual fall, so it is pushed here."""
    plain = ExtrapolatedSolver._held_mean

    def pushed(self):
        held = plain(self)
        return held - (5.0 if 9 <= self._passes < 11 else 0.0)

    monkeypatch.setattr(ExtrapolatedSolver, "_held_mean", pushed)
    fallen = []
    assign = ExtrapolatedSolver._assign
    monkeypatch.setattr(
        ExtrapolatedSolver,
        "_assign",
        lambda self, alpha: (fallen.append(self._passes), assign(self, alpha)),
    )
    problem, shelf = some_problem(C=2.0), Shelf()
    options = {"bundles": 3, "tol": 1e-4, "max_passes": 20}
    whole = solve(problem, ExtrapolatedSolver, **options)
    assert any(9 < passes < 20 for passes in fallen), "the dual has to fall for this test"
    assert solve(problem, ExtrapolatedSolver, 3, shelf=shelf, **options).same_bits(whole)
    for step, checkpoint in enumerate(shelf.checkpoints):
        again = solve(
            problem,
            ExtrapolatedSolver,
            1 + step % 3,
            shelf=Shelf(),
            resume_from=checkpoint,
            **options,
        )
        assert again.same_bits(whole), f"from checkpoint {step}"


def test_checkpoints_of_resumed_runs_are_the_same():
    """Nothing that matters is left out: what is written later is equal, too."""
    problem = some_problem(C=2.0)
    options = {"bundles": 3, "tol": 0.02, "max_passes": 24}
    first, second = Shelf(), Shelf()
    solve(problem, ExtrapolatedSolver, 2, shelf=first, **options)
    at = len(first.checkpoints) // 2
    solve(
        problem, ExtrapolatedSolver, 3, shelf=second, resume_from=first.checkpoints[at], **options
    )
    for before, after in zip(first.checkpoints[at + 1 :], second.checkpoints, strict=True):
        assert before.common == after.common and set(before.names) == set(after.names)
        for name in before.names:
            mine, other = before.part(name), after.part(name)
            assert set(mine) == set(other)
            for key in set(mine) - {"history", "seconds"}:
                assert mine[key].tobytes() == other[key].tobytes(), (name, key)


def test_number_of_bundles_is_that_of_the_checkpoint():
    problem, shelf = some_problem(C=2.0), Shelf()
    whole = solve(problem, ExtrapolatedSolver, 3, shelf=shelf)
    again = solve(problem, ExtrapolatedSolver, 2, shelf=Shelf(), resume_from=shelf.checkpoints[0])
    assert again.same_bits(whole)


def test_hard_margin_from_checkpoints():
    X, y = separable_problem(3, n=40, n_classes=9)
    problem = problem_of(X, y, "llw", C=np.inf)
    options = {"bundles": 2, "tol": 0.001, "max_passes": 60}
    shelf = Shelf()
    whole = solve(problem, ExtrapolatedSolver, 2, shelf=shelf, **options)
    for checkpoint in shelf.checkpoints[::7]:
        again = solve(
            problem, ExtrapolatedSolver, 1, shelf=Shelf(), resume_from=checkpoint, **options
        )
        assert again.same_bits(whole)


def test_checkpoints_on_disk(tmp_path):
    problem = some_problem(C=2.0)
    whole = solve(problem, ExtrapolatedSolver, bundles=3, tol=0.02)

    def run(passes):
        def work(comm):
            kept = Checkpoints(tmp_path / "run", 0.0, comm, {"C": 2.0})
            found = ExtrapolatedSolver(
                problem, GapStopping(0.02), Limits(passes), comm=comm, bundles=3, checkpoints=kept
            ).run()
            kept.close()
            return found

        return work

    run_ranks(3, run(5))
    found = run_ranks(2, run(400))
    assert [f.dual for f in found] == [whole.solutions[0].dual] * 2
    assert found[0].history[0].dual == whole.solutions[0].history[0].dual
    for s in found:
        assert np.array_equal(s.weights.coef, whole.coef[s.weights.classes])


# ---------------------------------------------------------------- who and what


def test_choice_of_the_solver():
    def chosen(*args, **given):
        return choose("llw", *args, **given).solver

    assert chosen() is chosen("block") is RowSolver
    assert chosen(ranks=2) is ExtrapolatedSolver
    assert chosen(bundles=1) is ExtrapolatedSolver
    assert chosen(checkpoints=True) is ExtrapolatedSolver
    assert chosen("alternating", 4, 8) is AlternatingSolver
    # Every rank does all of the work then.
    assert chosen("block", ranks=2) is RowSolver


@pytest.mark.parametrize("lanes", [8, 16])
def test_bundles_are_whole_lines(lanes):
    for n_classes in (2, 7, 8, 9, 40, 129):
        lines = -(-n_classes // lanes)
        for bundles in (1, 2, 3, 8, 200):
            cuts = bundle_cuts(n_classes, lanes, bundles)
            assert cuts[0] == 0 and cuts[-1] == n_classes and len(cuts) - 1 == min(bundles, lines)
            assert all(a < b for a, b in itertools.pairwise(cuts))
            assert all(cut % lanes == 0 for cut in cuts[:-1])


def test_ranges():
    assert divided(7, 3) == [0, 3, 5, 7] and divided(2, 4) == [0, 1, 2, 2, 2]
    assert list(stretches([])) == []
    assert list(stretches([2, 3, 4, 7, 9, 10])) == [(2, 5), (7, 8), (9, 11)]
