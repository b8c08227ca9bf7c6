"""Compiled kernels against their NumPy twins, for every formulation and instruction set."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import ModelFileError, _core
from multimargin.formulations import FORMULATIONS
from multimargin.models._scores import LinearScores
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.llw._alternating import AlternatingSolver, ExtrapolatedSolver
from multimargin.solvers.ovr._solver import OvrSolver
from tests.solvers.active_set.rank_problems import visit_rule

# Those whose block solve the engine uses; the others have solvers of their own.
ACTIVE_SET = [name for name, f in FORMULATIONS.items() if f.sparse_dual]
ISAS = [isa for isa in range(3) if _core.isa_available(isa)]
numbers = st.floats(-3, 3)


def feasible(name, alpha, box):
    """Dual variables of one sample, made to fit the budget where they share one."""
    return alpha if FORMULATIONS[name].separable else alpha / max(1.0, alpha.sum() / box)


def test_best_isa_is_available_and_named():
    assert _core.best_isa() in ISAS
    assert {_core.isa_name(isa) for isa in range(3)} == {"baseline", "avx2", "avx512"}


@pytest.mark.parametrize("name", ACTIVE_SET)
@pytest.mark.parametrize("isa", ISAS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_block_solve(name, isa, data):
    size = data.draw(st.integers(1, 30))
    box = data.draw(st.floats(0.01, 100))
    own = data.draw(st.floats(0.05, 20))
    draw = lambda elements: np.array(  # noqa: E731
        data.draw(st.lists(elements, min_size=size, max_size=size))
    )
    margin, share = draw(numbers), draw(st.sampled_from([0.0, 0.3, 1.0]))
    curvature = own * (1 + draw(st.floats(0, 3)))
    alpha = feasible(name, share * box, box)
    expected = FORMULATIONS[name].solve_block(margin, alpha, box, own, curvature)
    found, gap, violation = _core.solve_block(name, isa, margin, alpha, box, own, curvature)
    np.testing.assert_allclose(found, expected, atol=1e-9 * max(1.0, box))
    assert gap >= -1e-12
    assert violation >= 0
    # Never worse than before, and a block that is solved has nothing left to violate.
    step = found - alpha
    after = margin - curvature * step - own * step.sum()
    gain = margin @ step - 0.5 * (curvature @ step**2 + own * step.sum() ** 2)
    assert gain >= -1e-9 * max(1.0, box)
    left = _core.solve_block(name, isa, after, found, box, own, curvature)[1]
    assert left <= 1e-7 * max(1.0, box) ** 2


@pytest.mark.parametrize("isa", ISAS)
def test_block_of_a_shared_budget_leaves_the_rest_alone(isa):
    margin, alpha, curvature = np.array([0.9, 0.2, -0.1]), np.array([0.1, 0.3, 0.0]), np.ones(3)
    for outside in [0.0, 0.25, 0.6, 1.0]:
        found, _, _ = _core.solve_block("cs", isa, margin, alpha, 1.0, 1.0, curvature, outside)
        expected = FORMULATIONS["cs"].solve_block(margin, alpha, 1.0 - outside, 1.0, curvature)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.sum() <= 1.0 - outside + 1e-15


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_exchange(isa, dtype, data):
    """Classes that meet without the sample's own class pass on to each other what they have."""
    size = data.draw(st.integers(1, 30))
    box = data.draw(st.floats(0.01, 100))
    own = data.draw(st.floats(0.05, 20))
    draw = lambda elements: np.array(  # noqa: E731
        data.draw(st.lists(elements, min_size=size, max_size=size))
    )
    # Without the own class's score margins have any offset in common.
    margin = (draw(numbers) + data.draw(st.sampled_from([0.0, -50.0, 50.0]))).astype(dtype)
    share = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
    curvature = (own * (1 + draw(st.floats(0, 3)))).astype(dtype)
    alpha = feasible("cs", share * box, box).astype(dtype)
    found, gap, violation = _core.solve_block(
        "cs", isa, margin, alpha, box, own, curvature, exchange=True
    )
    m, a, q = margin.astype(float), alpha.astype(float), curvature.astype(float)
    expected = FORMULATIONS["cs"].solve_exchange(m, a, q)
    near = 2e-5 if dtype == np.float32 else 1e-9
    scale = max(1.0, box, np.abs(m).max() / own)
    np.testing.assert_allclose(found, expected, atol=near * scale)
    assert np.all(found >= 0)
    assert found.sum(dtype=float) == pytest.approx(a.sum(), rel=100 * float(np.finfo(dtype).eps))
    # What the report says of the block as it was: whoever has something could have more.
    worst = m.max() - np.where(a > 0, m, np.inf).min() if a.any() else 0.0
    assert violation == pytest.approx(max(0.0, worst), abs=near * max(1.0, np.abs(m).max()))
    reach = near * scale * max(1.0, np.abs(m).max())
    assert gap == pytest.approx(a.sum() * m.max() - a @ m, abs=reach)
    step = found - a
    assert m @ step - 0.5 * q @ step**2 >= -reach, "the dual fell"


@pytest.mark.parametrize("isa", ISAS)
def test_nothing_to_exchange(isa):
    margin, curvature = np.array([3.0, -1.0, 0.5]), np.ones(3)
    none = np.zeros(3)
    found, gap, violation = _core.solve_block(
        "cs", isa, margin, none, 1.0, 1.0, curvature, exchange=True
    )
    assert not found.any() and gap == violation == 0
    alone = _core.solve_block(
        "cs", isa, margin[:1], np.array([0.7]), 1.0, 1.0, curvature[:1], exchange=True
    )
    assert alone[0][0] == 0.7
    assert alone[1] == pytest.approx(0, abs=1e-15)
    assert alone[2] == 0
    with pytest.raises(ValueError, match="nothing to exchange"):
        _core.solve_block("ww", isa, margin, none, 1.0, 1.0, curvature, exchange=True)


@pytest.mark.parametrize("name", ACTIVE_SET)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("box", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("curvature", [1.0, 1e3, 1e7])
def test_block_solve_is_exact_relative_to_its_solution(name, dtype, box, curvature):
    # With a large box the solution is about 1 / curvature, far smaller than the box.
    margin = np.linspace(0.5, 1.0, 7).astype(dtype)
    q = np.full(7, curvature, dtype=dtype)
    found, _, _ = _core.solve_block(name, 0, margin, np.zeros(7, dtype), box, curvature, q)
    twin = FORMULATIONS[name].solve_block(
        margin.astype(float), np.zeros(7), box, curvature, q.astype(float)
    )
    rel = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, twin, atol=rel * twin.max())


@pytest.mark.parametrize("name", ACTIVE_SET)
def test_nearly_equal_margins_do_not_cycle(name):
    # Plain Newton jumps between the ends here for ever.
    margin = np.full(8, 1.0) + np.linspace(0, 1e-12, 8)
    found, _, _ = _core.solve_block(name, 0, margin, np.zeros(8), 1.0, 1.0, np.ones(8))
    twin = FORMULATIONS[name].solve_block(margin, np.zeros(8), 1.0, 1.0, np.ones(8))
    np.testing.assert_allclose(found, twin, atol=1e-9)


def make_problem(dtype, index, *, bias, n=120, d=60, k=30, seed=0, formulation="ww"):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.15, format="csr", random_state=rng, dtype=np.float64)
    X.data -= 0.3  # both signs
    X = X.astype(dtype)
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)]).astype(np.int32)
    box = rng.uniform(0.5, 2, n).astype(dtype)
    return Problem(X, y, box, k, bias, formulation)


def dense_alpha(engine, problem):
    pair, cls, value = engine.alpha()
    alpha = np.zeros((len(problem.y), problem.n_classes))
    rows = np.repeat(np.arange(len(problem.y)), np.diff(pair))
    alpha[rows, cls] = value
    alpha[np.arange(len(problem.y)), problem.y] = 0
    return alpha


def active_classes(engine):
    begin, cls, _ = engine.alpha()
    return [set(part.tolist()) for part in np.split(cls, begin[1:-1])]


def twin_scan(engine, problem):
    """Primal, dual and violation by the formulation's NumPy twin."""
    twin = FORMULATIONS[problem.formulation]
    A = np.hstack([problem.X.toarray(), np.full((len(problem.y), 1), problem.bias)]).astype(float)
    alpha = dense_alpha(engine, problem)
    W = twin.weights(alpha, A, problem.y)
    margins = twin.margins(A @ W.T, problem.y)
    box = problem.box.astype(float)
    nonempty = np.any(A != 0, axis=1)
    violation = float(np.max(twin.violations(margins, alpha, box)[nonempty]))
    return twin.primal(W, A, problem.y, box), twin.dual(alpha, A, problem.y), violation, W


@pytest.mark.parametrize("name", ACTIVE_SET)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_scan_and_weights(name, isa, dtype, index, bias):
    problem = make_problem(dtype, index, bias=bias, formulation=name)
    engine = _core.engine(problem.samples, name, threads=2, seed=0, isa=isa)
    engine.start_from_centroids(6, 100)
    rel = 2e-5 if dtype == np.float32 else 1e-10
    for _ in range(3):
        for _ in range(2):
            engine.run_pass(visit_rule(8))
        scan = engine.scan(5, 10**9, -1.0)
        primal, dual, violation, W = twin_scan(engine, problem)
        assert scan.primal == pytest.approx(primal, rel=rel)
        assert scan.dual == pytest.approx(dual, rel=rel)
        assert scan.violation == pytest.approx(violation, rel=1e-3, abs=1e-5)
        data, indices, indptr, constant = engine.weights()
        found = sp.csr_matrix((data, indices, indptr), shape=(problem.n_classes, W.shape[1] - 1))
        np.testing.assert_allclose(found.toarray(), W[:, :-1], atol=1e-4 * float(np.abs(W).max()))
        if bias:
            np.testing.assert_allclose(constant, W[:, -1], atol=1e-4 * float(np.abs(W).max()))
        engine.merge_found()


@pytest.mark.parametrize("most", [0, 1, 100, 333, 10**9])
def test_the_worst_violators_become_active_and_not_more_than_asked(most):
    problem = make_problem(np.float64, np.int32, bias=0.0)
    n = len(problem.y)
    engine = _core.engine(problem.samples, "ww", threads=2, seed=0)
    engine.start_from_centroids(3, 100)
    engine.run_pass(visit_rule(8))
    engine.recompute()
    engine.scan(5, most, 0.0)
    active = active_classes(engine)
    W = twin_scan(engine, problem)[3]
    margins = FORMULATIONS["ww"].margins(problem.X @ W[:, :-1].T, problem.y)
    engine.merge_found()
    merged = active_classes(engine)
    added = 0
    for i in range(n):
        new = merged[i] - active[i]
        left = set(range(problem.n_classes)) - merged[i] - active[i] - {problem.y[i]}
        violators = [c for c in new | left if margins[i, c] > 1e-9]
        assert len(new) <= 5 and new <= set(violators)
        if len(new) < len(violators) and new:
            worst = min(margins[i, c] for c in new)
            assert worst >= max(margins[i, c] for c in left) - 1e-9
        added += len(new)
    room = max(
        most - sum(len(new & old) for new, old in zip(merged, active, strict=True)), most // 4
    )
    assert added <= room
    assert added > min(room, 333) - n


@pytest.mark.parametrize("name", ACTIVE_SET)
@pytest.mark.parametrize("dense", [False, True])
def test_a_look_scans_the_classes_that_score_high(name, dense):
    problem = make_problem(np.float64, np.int32, bias=0.7, formulation=name)
    X = problem.X.toarray()
    if dense:
        problem = Problem(X, problem.y, problem.box, problem.n_classes, 0.7, name)
    engine = _core.engine(problem.samples, name, threads=2, seed=0)
    engine.start_from_centroids(3, 100)
    engine.run_pass(visit_rule(8))
    engine.recompute()
    before = active_classes(engine)
    W = twin_scan(engine, make_problem(np.float64, np.int32, bias=0.7, formulation=name))[3]
    high = X.mean(axis=0) @ W[:, :-1].T + 0.7 * W[:, -1]
    high += 2 * np.sqrt(X.var(axis=0) @ np.square(W[:, :-1].T))
    chosen = set(np.argsort(-high)[:8].tolist())
    whole = engine.scan(8, 10**9, 0.0)
    look = engine.scan(8, 10**9, 0.0, False, 8)
    assert look.primal <= whole.primal
    assert look.dual == whole.dual
    engine.merge_found()
    added = [new - old for new, old in zip(active_classes(engine), before, strict=True)]
    assert look.found == sum(map(len, added)) > 0
    margins = FORMULATIONS[name].margins(X @ W[:, :-1].T + 0.7 * W[:, -1], problem.y)
    for i, new in enumerate(added):
        assert new <= chosen - before[i]
        assert all(margins[i, c] > 0 for c in new)
        if name == "ww":  # whose violators are all classes with a margin
            left = chosen - before[i] - new - {int(problem.y[i])}
            assert all(margins[i, c] < 1e-9 for c in left)


@pytest.mark.parametrize("dense", [False, True])
def test_lists_that_were_full_get_room_for_all_violators(dense):
    # Samples of a class are alike, and after a pass violate by a quarter; but for a few near zero,
    # which violate by one in all classes.
    made = make_problem(np.float64, np.int32, bias=0.0)
    X = np.zeros(made.X.shape)
    X[np.arange(len(made.y)), made.y] = 3.0
    X[::16] *= 1e-3
    X = X if dense else sp.csr_matrix(X)
    problem = Problem(X, made.y, made.box, made.n_classes, 0.0, "ww")
    engine, engine_with_room = (
        _core.engine(problem.samples, "ww", threads=threads, seed=0) for threads in (1, 2)
    )
    cls = (made.y[:, None] + np.arange(4)) % made.n_classes
    slots = np.arange(0, 4 * len(cls) + 1, 4), cls.astype(np.int32).ravel(), np.zeros(4 * len(cls))
    for each in (engine, engine_with_room):
        each.assign(*slots, None)
        each.run_pass(visit_rule(8))
        each.recompute()
    first, second = engine.scan(2, 10**9, 0.5), engine.scan(2, 10**9, 0.5)
    before = active_classes(engine)
    engine.merge_found()
    after = active_classes(engine)
    assert first.found < second.found == sum(len(a - b) for a, b in zip(after, before, strict=True))
    assert second.found == engine_with_room.scan(problem.n_classes, 10**9, 0.5).found


@pytest.mark.parametrize("name", ACTIVE_SET)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scan_of_rare_features_in_several_groups(name, isa, dtype):
    # Of 600 classes, two groups, features of up to 12 samples are rare.
    k = 600
    problem = make_problem(dtype, np.int32, bias=0.5, n=k + 20, d=40, k=k, formulation=name)
    rare = sp.random(k + 20, 300, 0.008, random_state=2, dtype=dtype)
    X = sp.hstack([problem.X, rare], format="csr")
    counts = np.bincount(X.indices)
    assert counts[:40].min() > 12 >= counts[40:].max()
    problem = Problem(X, problem.y, problem.box, k, 0.5, name)
    scans = []
    for threads in (1, 3):
        engine = _core.engine(problem.samples, name, threads=threads, seed=0, isa=isa)
        engine.start_from_centroids(6, 100)
        engine.run_pass(visit_rule(8))
        engine.recompute()
        scans += [engine.scan(5, 10**9, -1.0), engine.scan(5, 10**9, -1.0, True)]
        primal, dual, violation, _ = twin_scan(engine, problem)
        for scan in scans[-2:]:
            assert scan.primal == pytest.approx(primal, rel=2e-5 if dtype == np.float32 else 1e-10)
            assert scan.dual == pytest.approx(dual, rel=2e-5)
            assert scan.violation == pytest.approx(violation, rel=1e-3)
        engine.weights()  # gives back what the next scan has to make anew
        scans += [engine.scan(5, 10**9, -1.0), engine.scan(5, 10**9, -1.0, True)]
    seen = [(scan.primal, scan.dual, scan.violation, scan.found) for scan in scans]
    assert len(set(seen[::2])) == len(set(seen[1::2])) == 1


def test_weights_are_the_same_among_features_that_no_sample_has():
    found = []
    for features in (60, 60_000):  # the few weights of a class are sorted in another way there
        problem = make_problem(np.float32, np.int32, bias=0.0)
        problem.X.resize(120, features)
        engine = _core.engine(problem.samples, "ww", threads=2, seed=0)
        engine.start_from_centroids(6, 100)
        engine.run_pass(visit_rule(8))
        found.append(engine.weights())
    for few, many in zip(*found, strict=True):
        np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize("name", ACTIVE_SET)
def test_pass_with_full_coupling_never_loses(name):
    problem = make_problem(np.float64, np.int32, bias=1.0, formulation=name)
    engine = _core.engine(problem.samples, name, threads=2, seed=1)
    engine.start_from_centroids(20, 10_000)
    before = -np.inf
    for _ in range(20):
        engine.run_pass(visit_rule(64))
        dual = engine.scan(1, 10**9, -1.0).dual
        assert dual >= before - 1e-9 * abs(dual)
        before = dual


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [1, 3, 31, 64, 65, 200])
def test_scores_and_best(isa, dtype, n_outputs, monkeypatch):
    monkeypatch.setattr(_core, "best_isa", lambda: isa)
    rng = np.random.default_rng(n_outputs)
    X = sp.random(300, 40, density=0.2, format="csr", random_state=rng).astype(dtype)
    coef = sp.random(n_outputs, 40, density=0.3, format="csr", random_state=rng).astype(dtype)
    intercept = rng.standard_normal(n_outputs).astype(dtype)
    expected = X.astype(float) @ coef.astype(float).T.toarray() + intercept
    sparse, dense = (LinearScores(c, intercept, threads=2) for c in (coef, coef.toarray()))
    scores = sparse.scores(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(scores, dense.scores(X))
    np.testing.assert_array_equal(scores[:100], sparse.scores(X[:100].toarray()))
    k = min(n_outputs, 5)
    best, value = sparse.top(X, k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best, order)
    np.testing.assert_array_equal(value, np.take_along_axis(scores, order, axis=1))


def test_equal_scores_go_to_the_first_class():
    scores = LinearScores(np.zeros((200, 4)), np.zeros(200), threads=1)
    best, _ = scores.top(sp.csr_matrix(np.eye(4)), 3)
    np.testing.assert_array_equal(best, [[0, 1, 2]] * 4)


@pytest.mark.parametrize("bad", [-1, 40, 2**30])
def test_corrupt_coefficients_are_refused(bad):
    coef = sp.random(5, 40, density=0.3, format="csr", random_state=0)
    coef.indices[3] = bad
    with pytest.raises(ModelFileError, match="corrupt model"):
        LinearScores(coef, np.zeros(5), threads=2).scores(sp.csr_matrix(np.eye(40)))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_vs_rest_on_every_instruction_set(isa, dtype, loss):
    problem = make_problem(dtype, np.int32, bias=1.0, formulation="ovr")
    problem = dataclasses.replace(problem, loss=loss)
    found = OvrSolver(problem, GapStopping(1e-4), Limits(20_000), isa=isa).run()
    assert found.converged
    A = np.hstack([problem.X.toarray(), np.ones((len(problem.y), 1))]).astype(float)
    W = np.hstack([found.weights.coef.toarray(), found.weights.constant[:, None]]).astype(float)
    margins = FORMULATIONS["ovr"].margins(A @ W.T, problem.y)
    losses = np.maximum(margins, 0) ** (2 if loss == "squared_hinge" else 1)
    primal = 0.5 * np.sum(W * W) + np.sum(problem.box[:, None] * losses)
    assert found.primal == pytest.approx(primal, rel=1e-5)
    assert primal - found.dual <= 1.1e-4 * primal


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", [AlternatingSolver, ExtrapolatedSolver])
def test_lee_lin_wahba_on_every_instruction_set(isa, dtype, solver):
    problem = make_problem(dtype, np.int32, bias=1.0, formulation="llw")
    found = solver(problem, GapStopping(1e-3), Limits(20_000), isa=isa, keep_alpha=True).run()
    assert found.converged
    twin = FORMULATIONS["llw"]
    A = np.hstack([problem.X.toarray(), np.ones((len(problem.y), 1))]).astype(float)
    alpha = found.alpha.value.astype(float)
    W = twin.weights(alpha, A, problem.y)
    assert found.dual == pytest.approx(twin.dual(alpha, A, problem.y), rel=1e-5)
    assert found.primal == pytest.approx(
        twin.primal(W, A, problem.y, problem.box.astype(float)), rel=1e-4
    )
    near = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found.weights.coef, W[:, :-1], atol=near * np.abs(W).max())
