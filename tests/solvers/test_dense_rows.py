"""Dense rows are used in place, and give what sparse rows give."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, _core
from multimargin.models._sample_keys import row_keys
from multimargin.solvers import _layout
from multimargin.solvers._base import Limits
from multimargin.solvers._layout import as_core_rows, core_rows
from multimargin.solvers._problem import Problem
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.support.memory_checkpoints import Shelf
from tests.support.rank_runs import solve

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]


def samples(n=400, features=37, classes=180, dtype=np.float32, noise=0.8):
    rng = np.random.default_rng(n + features)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    centres = rng.normal(size=(classes, features))
    X = centres[y] + noise * rng.normal(size=(n, features))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype), y


def as_sparse(monkeypatch, X):
    """Return the same rows as a CSR matrix that stays one."""
    monkeypatch.setattr(_layout, "_FULL_SHARE", 2.0)
    return sp.csr_matrix(X)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "features", "classes"), [(1, 1, 2), (13, 33, 65), (300, 7, 130)])
def test_scores_have_the_bits_of_sparse_rows(isa, dtype, rows, features, classes):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, features)).astype(dtype)
    X[:, ::3] = 0
    coef = rng.normal(size=(classes, features)).astype(dtype)
    intercept = rng.normal(size=classes).astype(dtype)
    csr, weights = sp.csr_matrix(coef), [_core.dense_weights(coef, intercept)]
    weights.append(_core.sparse_weights(csr.data, csr.indices, csr.indptr, features, intercept))
    found = []
    for matrix in (X, sp.csr_matrix(X)):
        for form in weights:
            given = {"rows": core_rows(matrix), "weights": form, "isa": isa, "threads": 2}
            score = np.empty((rows, classes), dtype)
            _core.scores(**given, out=score)
            best, value = np.empty((rows, 2), np.int32), np.empty((rows, 2), dtype)
            _core.top(**given, cls_out=best, score_out=value)
            found.append(score.tobytes() + best.tobytes() + value.tobytes())
    assert len(set(found)) == 1
    np.testing.assert_allclose(score, X @ coef.T + intercept, atol=1e-4)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_classes_have_the_optimum_of_sparse_rows(monkeypatch, formulation, intercept, dtype):
    X, y = samples(n=600, classes=220, dtype=dtype)
    y[220:420] %= 20  # classes whose sizes differ, so that intercepts do
    options = {"formulation": formulation, "fit_intercept": intercept, "tol": 1e-3, "C": 3.0}
    dense = MulticlassSVC(**options, random_state=0, warm_start=True).fit(X, y)
    certificate = dense.certify(X, y)
    assert certificate.dual_recomputed and certificate.gap <= 1.1e-3
    sparse = MulticlassSVC(**options, random_state=0).fit(as_sparse(monkeypatch, X), y)
    assert dense.dual_objective_ <= sparse.primal_objective_
    assert sparse.dual_objective_ <= dense.primal_objective_
    assert dense.history_[-1]["engine"].startswith("active set")
    # Weights whose primal exceeds the optimum by e are within sqrt(2 e) of the best ones.
    both = (dense, sparse)
    assert all(model.converged_ for model in both)
    reach = sum(np.sqrt(2 * (m.primal_objective_ - m.dual_objective_)) for m in both)
    coef, other = (np.column_stack([m.coef_, m.intercept_]) for m in both)
    assert np.linalg.norm(coef - other) <= reach < 0.3 * np.linalg.norm(coef)
    assert not intercept or np.ptp(dense.intercept_) > 0.05


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_every_instruction_set_finds_the_optimum(isa, formulation):
    X, y = samples(dtype=np.float64)
    box = np.full(len(y), 2.0)
    problem = Problem(X, y.astype(np.int32), box, 180, 0.5, formulation)
    solver = ActiveSetSolver(problem, GapStopping(1e-3), Limits(1000, None), seed=0, isa=isa)
    found = solver.run()
    W, b = found.weights.coef.toarray(), 0.5 * found.weights.constant
    scores = X @ W.T + b
    margins = 1 - scores[np.arange(len(y)), y][:, None] + scores
    margins[np.arange(len(y)), y] = 0
    losses = np.maximum(margins, 0)
    lost = losses.sum() if formulation == "ww" else losses.max(axis=1).sum()
    primal = 0.5 * (np.sum(W**2) + np.sum(found.weights.constant**2)) + 2.0 * lost
    assert found.dual <= primal <= found.primal * (1 + 1e-9)
    assert found.primal - found.dual <= 1e-3 * found.primal


def test_batches_have_the_same_bits_for_any_number_of_threads():
    X, y = samples(n=3000, features=130, classes=400)
    models = [
        MulticlassSVC(formulation="ww", C=0.3, tol=0.02, n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2, 3)
    ]
    assert len({model.coef_.tobytes() for model in models}) == 1


@pytest.mark.parametrize("formulation", ["ww", "cs", "ovr", "llw", "ats"])
@pytest.mark.parametrize("n_bundles", [None, 3])
def test_few_classes_and_bundles_of_classes(monkeypatch, formulation, n_bundles):
    X, y = samples(n=150, features=20, classes=9)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = MulticlassSVC(
        formulation=formulation, n_bundles=n_bundles, tol=1e-3, random_state=0, warm_start=True
    )
    model.fit(X, y, weight)
    assert model.certify(X, y, weight).gap <= 1.1e-3
    csr = as_sparse(monkeypatch, X)
    assert model.certify(csr, y, weight).gap <= 1.1e-3  # the same samples
    assert model.decision_function(csr).tobytes() == model.decision_function(X).tobytes()
    model.C, before = 3.0, model.n_iter_
    model.fit(csr, y, weight)
    assert model.n_iter_ > 0 and before > 0


def test_costs_of_labels_with_many_classes(monkeypatch):
    X, y = samples(n=300, classes=170)
    cost = np.random.default_rng(1).uniform(0.5, 2, size=(170, 170))
    np.fill_diagonal(cost, 0)
    options = {"formulation": "ww", "label_cost": cost, "tol": 1e-3, "random_state": 0}
    dense = MulticlassSVC(**options).fit(X, y)
    sparse = MulticlassSVC(**options).fit(as_sparse(monkeypatch, X), y)
    assert dense.dual_objective_ <= sparse.primal_objective_
    assert sparse.dual_objective_ <= dense.primal_objective_


def test_layout_is_chosen_from_the_data_and_nothing_is_copied(tmp_path):
    X, _ = samples(n=200)
    assert np.shares_memory(as_core_rows(X, many_classes=True), X)
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=X.shape)
    rows = as_core_rows(mapped, many_classes=False)
    assert np.shares_memory(rows, mapped) and not rows.flags.writeable
    fortran = as_core_rows(np.asfortranarray(X), many_classes=True)
    assert fortran.flags.c_contiguous and np.array_equal(fortran, X)
    csr = sp.csr_matrix(X)
    assert isinstance(as_core_rows(csr, many_classes=True), np.ndarray)
    assert as_core_rows(csr, many_classes=False) is csr
    fifth = sp.random(50, 60, 0.2, format="csr", random_state=0)
    assert as_core_rows(fifth, many_classes=True) is fifth
    assert sp.issparse(as_core_rows(fifth.toarray(), many_classes=False))
    assert not sp.issparse(as_core_rows(fifth.toarray(), many_classes=True))
    assert sp.issparse(as_core_rows(np.eye(100), many_classes=True))


def test_memory_maps_can_be_trained_on_and_predicted(tmp_path):
    X, y = samples(n=260, classes=170)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    first, second = (MulticlassSVC(tol=0.01, random_state=0).fit(given, y) for given in (X, mapped))
    assert first.coef_.tobytes() == second.coef_.tobytes()
    assert np.array_equal(first.predict(mapped), second.predict(np.asfortranarray(X)))


def test_samples_have_the_same_keys_in_both_layouts():
    X, _ = samples(n=200)
    X[3] = 0
    assert np.array_equal(row_keys(X), row_keys(sp.csr_matrix(X.astype(np.float64))))


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_ranks_and_checkpoints_give_the_same_bits(formulation):
    X, y = samples(n=300, classes=170, dtype=np.float32)
    box = np.ones(len(y), dtype=np.float32)
    problem = Problem(X, y.astype(np.int32), box, 170, 0.0, formulation)
    shelf, options = Shelf(), {"bundles": 4, "tol": 1e-3}
    one = solve(problem, ActiveSetSolver, shelf=shelf, **options)
    assert one.solutions[0].converged
    assert one.same_bits(solve(problem, ActiveSetSolver, 3, threads=2, **options))
    middle = shelf.checkpoints[len(shelf.checkpoints) // 2]
    again = solve(problem, ActiveSetSolver, 2, shelf=Shelf(), resume_from=middle, **options)
    assert one.same_bits(again)
