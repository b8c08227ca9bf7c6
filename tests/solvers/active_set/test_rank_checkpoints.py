"""Runs over ranks from checkpoints: interrupted at any moment, resumed on any number of ranks."""

import numpy as np
import pytest

from multimargin import MulticlassSVC, distributed
from multimargin.checkpoints._folder import steps
from multimargin.checkpoints._store import Checkpoints
from multimargin.solvers._best_so_far import ZERO, BestSoFar
from multimargin.solvers._records import Observer, Observers
from multimargin.solvers.active_set._pass_plan import Plan
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.solvers.active_set.rank_problems import (
    check_certified,
    crawling_problem,
    some_problem,
)
from tests.support.memory_checkpoints import Shelf
from tests.support.rank_runs import problem_of, solve
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import many_classes_problem

NAMES = ["ww", "cs"]


class InterruptionError(Exception):
    pass


class Interrupting(Checkpoints):
    """Ends the run when it is asked for the ``most``-th time whether a checkpoint is due."""

    def __init__(self, folder, comm, most):
        super().__init__(folder, 0.0, comm, {"run": 1})
        self._left = most

    def due(self):
        if self._left == 0:
            self.close()
            raise InterruptionError
        self._left -= 1
        return super().due()


class InterruptingObserver(Observer):
    """Ends rank 0, wherever the others are, after a pass."""

    def __init__(self, checkpoints, most):
        self._checkpoints, self._most = checkpoints, most

    def on_pass(self, passes, done=None):
        if passes == self._most:
            self._checkpoints[0].close()
            raise InterruptionError

    def on_scan(self, record, weights):
        return False

    def close(self):
        pass


def resumed(problem, folder, ranks, **options):
    kept = []

    def checkpoints(comm):
        made = Checkpoints(folder, 0.0, comm, {"run": 1})
        kept.append(made)
        return made

    found = solve(problem, ActiveSetSolver, ranks, checkpoints=checkpoints, **options)
    for made in kept:
        made.close()
    return found


# ---------------------------------------------------------------- on disk


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_ends_with_the_bits_of_one_that_was_not(name, tmp_path):
    problem = some_problem(name, np.float32, n_classes=70, n=100)
    options = {"bundles": 4, "tol": 0.05}
    whole = solve(problem, ActiveSetSolver, **options)
    passes = whole.scalars[4]
    assert passes > 10 and len(whole.solutions[0].history) > 2
    step = passes // 3
    for k, most in enumerate(range(0, passes, step)):
        folder = tmp_path / str(most)
        try:
            solve(problem, ActiveSetSolver, 1 + (k + 1) % 3, **options,
                  checkpoints=lambda comm, f=folder, m=most: Interrupting(f, comm, m))  # fmt: skip
        except InterruptionError:
            pass
        else:
            assert most > passes - len(whole.solutions[0].history)
            continue
        assert resumed(problem, folder, 1 + k % 3, **options).same_bits(whole), most


@pytest.mark.parametrize("name", NAMES)
def test_one_rank_that_ends_while_others_are_elsewhere(name, tmp_path):
    problem = some_problem(name, n_classes=70, n=140)
    options = {"bundles": 6, "tol": 0.01}
    whole = solve(problem, ActiveSetSolver, **options)
    kept = []

    def checkpoints(comm):
        made = Checkpoints(tmp_path / "run", 0.0, comm, {"run": 1})
        if comm.rank == 0:
            kept.append(made)
        return made

    with pytest.raises(InterruptionError):
        solve(problem, ActiveSetSolver, 3, checkpoints=checkpoints, **options,
              observers=Observers([InterruptingObserver(kept, 9)]))  # fmt: skip
    assert resumed(problem, tmp_path / "run", 2, **options).same_bits(whole)


def test_a_run_that_is_interrupted_again_and_again(tmp_path):
    problem = some_problem("cs", n_classes=70, n=140)
    options = {"bundles": 4, "tol": 0.01}
    whole = solve(problem, ActiveSetSolver, **options)
    for times in range(100):
        try:
            found = solve(problem, ActiveSetSolver, 1 + times % 3, **options,
                          checkpoints=lambda comm: Interrupting(tmp_path, comm, 3))  # fmt: skip
            break
        except InterruptionError:
            continue
    assert times > 2
    assert found.same_bits(whole)


# ---------------------------------------------------------------- from every checkpoint


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_from_every_checkpoint_on_any_number_of_ranks(name, dtype):
    problem = some_problem(name, dtype, n_classes=70, n=100)
    options = {"bundles": 4, "tol": 0.05}
    whole = solve(problem, ActiveSetSolver, **options)
    shelf = Shelf()
    assert solve(problem, ActiveSetSolver, 2, shelf=shelf, **options).same_bits(whole)
    assert len(shelf.checkpoints) >= 6
    some = shelf.checkpoints[:: 1 + len(shelf.checkpoints) // 8]
    for step, checkpoint in enumerate(some):
        ranks = 1 + step % 3
        again = solve(problem, ActiveSetSolver, ranks, shelf=Shelf(), resume_from=checkpoint,
                      **options)  # fmt: skip
        assert again.same_bits(whole), f"from checkpoint {step} on {ranks} ranks"


@pytest.mark.parametrize("name", NAMES)
def test_in_batches(name):
    X, y = many_classes_problem(n=200, d=900, n_classes=100)
    problem = problem_of(X, y, name, dtype=np.float32)
    options = {"bundles": 4, "tol": 0.02, "plan": Plan(batch=16, coupling=0.2), "max_passes": 40}
    shelf = Shelf()
    whole = solve(problem, ActiveSetSolver, 2, shelf=shelf, **options)
    some = [shelf.checkpoints[0], shelf.checkpoints[len(shelf.checkpoints) // 2]]
    for (ranks, threads), checkpoint in zip([(3, 1), (1, 2)], some, strict=True):
        again = solve(problem, ActiveSetSolver, ranks, shelf=Shelf(), threads=threads,
                      resume_from=checkpoint, **options)  # fmt: skip
        assert again.same_bits(whole)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_goes_back_to_its_best(name, monkeypatch):
    """It ends before its tolerance: what it goes back to lies before the checkpoint."""
    # Whether the primal falls from scan to scan is a matter of luck: later ones are called worse.
    once = BestSoFar.take
    monkeypatch.setattr(
        BestSoFar,
        "take",
        lambda self, *now: once(self, *now) if self.primal_state is ZERO else None,
    )
    problem = some_problem(name, n_classes=70, n=140)
    options = {"bundles": 3, "tol": 1e-12, "max_passes": 16}
    shelf = Shelf()
    whole = solve(problem, ActiveSetSolver, 2, shelf=shelf, **options)
    history = whole.scalars[-1]
    assert whole.solutions[0].ended_by == "max_iter"
    assert len(history) > 2
    assert history[-1][:4] == history[0][:4] != history[-2][:4]
    check_certified(problem, whole)
    for ranks, checkpoint in zip((1, 3), shelf.checkpoints[-2:], strict=True):
        assert checkpoint.common["best"]
        again = solve(problem, ActiveSetSolver, ranks, shelf=Shelf(), resume_from=checkpoint,
                      **options)  # fmt: skip
        assert again.same_bits(whole)


def test_checkpoints_of_resumed_runs_are_the_same():
    """Nothing that matters is left out: what is written later is equal, too."""
    problem = some_problem("ww", n_classes=70, n=140)
    options = {"bundles": 4, "tol": 0.01}
    first, second = Shelf(), Shelf()
    solve(problem, ActiveSetSolver, 2, shelf=first, **options)
    at = len(first.checkpoints) // 2
    solve(problem, ActiveSetSolver, 3, shelf=second, resume_from=first.checkpoints[at],
          **options)  # fmt: skip
    for before, after in zip(first.checkpoints[at + 1 :], second.checkpoints, strict=True):
        mine, others = before.common, after.common
        assert {**mine, "seconds": 0} == {**others, "seconds": 0}
        assert set(before.names) == set(after.names)
        for name in before.names:
            one, other = before.part(name), after.part(name)
            assert set(one) == set(other)
            for key in one:
                if name == "history":  # the first column is a time
                    assert np.array_equal(one[key][:, 1:], other[key][:, 1:])
                else:
                    assert one[key].tobytes() == other[key].tobytes(), (name, key)


def test_around_the_row_engine():
    problem = crawling_problem()
    options = {"bundles": 3, "tol": 1e-4, "max_passes": 5000}
    shelf = Shelf()
    whole = solve(problem, ActiveSetSolver, 2, shelf=shelf, **options)
    assert whole.solvers[0]._tried_rows
    before = [c for c in shelf.checkpoints if not c.common["tried_interior_point"]]
    after = [c for c in shelf.checkpoints if c.common["tried_interior_point"]]
    assert len(before) > 100
    for ranks, checkpoint in zip((1, 3, 2, 1), [before[0], before[-1], *after[:2]], strict=False):
        again = solve(problem, ActiveSetSolver, ranks, shelf=Shelf(), resume_from=checkpoint,
                      **options)  # fmt: skip
        assert again.same_bits(whole)


# ---------------------------------------------------------------- whose they are


def test_checkpoints_of_another_run_are_refused(tmp_path, monkeypatch):
    X, y = many_classes_problem(n=160, d=90, n_classes=20)
    given = {"C": 1.0, "tol": 1e-2, "random_state": 0, "n_bundles": 4}

    def fit(ranks, **changed):
        def work(comm):
            model = MulticlassSVC("ww", **{**given, **changed})
            return distributed.fit(model, X, y, comm=comm, checkpoint=tmp_path / "run",
                                   checkpoint_every=0.0)  # fmt: skip

        return run_ranks(ranks, work)

    def interrupted(self):
        if steps(tmp_path / "run"):
            raise InterruptionError
        return True

    with monkeypatch.context() as patch, pytest.raises(InterruptionError):
        patch.setattr(Checkpoints, "due", interrupted)
        fit(2)
    for changed in ({"tol": 1e-3}, {"random_state": 1}, {"C": 2.0}, {"n_bundles": 6}):
        with pytest.raises(ValueError, match="of another run"):
            fit(2, **changed)
    found = fit(3)
    whole = MulticlassSVC("ww", **given).fit(X, y)
    assert found[0].n_iter_ == whole.n_iter_
    assert found[0].dual_objective_ == whole.dual_objective_
