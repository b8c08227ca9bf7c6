"""WW reaches the optimum of tiny problems, and says truthfully how near it is."""

import zlib

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.svm import LinearSVC

from multimargin import MulticlassSVC
from tests.reference.ww import (
    box_of,
    dense,
    margins,
    solve_binary_hinge,
    solve_ww_qp,
    weights_of,
    with_intercept,
    ww_primal,
)
from tests.support.certificate import check_reported

TIGHT = {"tol": 1e-6, "max_iter": 100_000, "random_state": 0}


def labels(rng, n, n_classes):
    """``n`` labels in which every class occurs."""
    return np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])


def dense_problem(rng, n_classes):
    return rng.standard_normal((36, 6)), labels(rng, 36, n_classes)


def sparse_problem(rng, n_classes):
    X = rng.random((36, 30)) * (rng.random((36, 30)) < 0.15)
    return scipy.sparse.csr_array(X), labels(rng, 36, n_classes)


def duplicates_problem(rng, n_classes):
    X, y = rng.standard_normal((14, 5)), labels(rng, 14, n_classes)
    rows = np.concatenate([np.arange(14), rng.integers(14, size=20)])
    return X[rows], y[rows]


def conflicts_problem(rng, n_classes):
    """Every row occurs under two or more labels: no W separates them."""
    X, y = rng.standard_normal((12, 5)), labels(rng, 12, n_classes)
    return np.vstack([X, X, X]), np.concatenate([y, (y + 1) % n_classes, rng.permutation(y)])


def empty_rows_problem(rng, n_classes):
    X, y = sparse_problem(rng, n_classes)
    X = X.toarray()
    X[::4] = 0.0
    return scipy.sparse.csr_array(X), y


def singletons_problem(rng, n_classes):
    return rng.standard_normal((n_classes, 4)), np.arange(n_classes)


def unbalanced_problem(rng, n_classes):
    """All classes but the first have a single sample."""
    y = np.zeros(36, dtype=int)
    y[: n_classes - 1] = np.arange(1, n_classes)
    return rng.standard_normal((36, 6)), y


def scales_problem(rng, n_classes):
    """Rows and columns of very different lengths."""
    X = rng.standard_normal((30, 6)) * np.logspace(-2, 1, 6)
    return X * rng.choice([0.1, 1.0, 5.0], size=(30, 1)), labels(rng, 30, n_classes)


PROBLEMS = [
    dense_problem,
    sparse_problem,
    duplicates_problem,
    conflicts_problem,
    empty_rows_problem,
    singletons_problem,
    unbalanced_problem,
    scales_problem,
]


def check_certificate(model, X, y, box, scaling=1.0, rel=1e-9):
    """The reported objectives are those of the returned model; returns the true primal."""
    A = with_intercept(X, scaling) if model.fit_intercept else dense(X)
    primal = ww_primal(weights_of(model, scaling), A, y, box)
    check_reported(model, primal, rel)
    return primal


def check_optimum(model, X, y, box, scaling=1.0, rel=1e-9):
    """Compare with the certified QP: converged, weak duality, and within the promised gap."""
    A = with_intercept(X, scaling) if model.fit_intercept else dense(X)
    primal = check_certificate(model, X, y, box, scaling, rel)
    best_W, _, best, bound = solve_ww_qp(A, y, box, n_classes=len(model.classes_))
    slack = rel * best + 1e-8 * best
    assert model.converged_
    assert model.dual_gap_ <= model.tol
    assert model.dual_objective_ <= best + slack, "the dual must bound the optimum from below"
    assert primal >= bound - slack, "no model can be better than the optimum"
    assert primal - best <= model.tol * primal + slack
    # Strong convexity turns a gap into a distance from the one optimum,
    # 1/2 |W - W*|^2 <= P(W) - P(W*), for the model and for the reference alike.
    reach = np.sqrt(max(0.0, primal - bound) + slack) + np.sqrt(best - bound + slack)
    assert 0.5 * np.sum((weights_of(model, scaling) - best_W) ** 2) <= reach**2
    return best


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
@pytest.mark.parametrize(("C", "fit_intercept"), [(0.01, True), (1.0, False), (1.0, True)])
def test_optimum_of_tiny_problems(make, n_classes, C, fit_intercept):
    rng = np.random.default_rng(zlib.crc32(f"{make.__name__} {n_classes}".encode()))
    X, y = make(rng, n_classes)
    options = dict(TIGHT)
    if make is scales_problem:
        options["tol"] = 1e-4  # columns of length 0.01 to 10: coordinates get on slowly
    model = MulticlassSVC(C=C, fit_intercept=fit_intercept, **options).fit(X, y)
    check_optimum(model, X, y, box_of(y, C))


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("C", [10.0, 100.0])
def test_optimum_with_large_penalty(make, C):
    X, y = make(np.random.default_rng(5), 4)
    tol = 0.05 if make is scales_problem else 1e-4  # see above
    model = MulticlassSVC(C=C, tol=tol, max_iter=100_000, random_state=0).fit(X, y)
    check_optimum(model, X, y, box_of(y, C))


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_optimum_in_float32(make, n_classes):
    X, y = make(np.random.default_rng(6), n_classes)
    model = MulticlassSVC(tol=1e-3, max_iter=100_000, random_state=0).fit(X.astype(np.float32), y)
    # Single precision sums 36 rows to about 1e-6; 1e-4 leaves room and still catches a wrong sum.
    check_optimum(model, X.astype(np.float32), y, box_of(y, 1.0), rel=1e-4)


@pytest.mark.parametrize("scaling", [0.1, 1.0, 10.0])
def test_intercept_scaling_is_the_constant_feature(scaling):
    X, y = dense_problem(np.random.default_rng(7), 4)
    model = MulticlassSVC(intercept_scaling=scaling, **TIGHT).fit(X + 1.0, y)
    check_optimum(model, X + 1.0, y, box_of(y, 1.0), scaling)
    by_hand = MulticlassSVC(fit_intercept=False, **TIGHT).fit(with_intercept(X + 1.0, scaling), y)
    np.testing.assert_allclose(
        model.decision_function(X),
        by_hand.decision_function(with_intercept(X, scaling)),
        atol=2e-2,
    )
    assert by_hand.primal_objective_ == pytest.approx(model.primal_objective_, rel=3e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sample_weights_scale_the_box(sparse, n_classes):
    rng = np.random.default_rng(8)
    X, y = (sparse_problem if sparse else dense_problem)(rng, n_classes)
    weight = rng.uniform(0.0, 3.0, size=len(y))
    weight[[3, 7]] = 0.0
    model = MulticlassSVC(C=0.7, **TIGHT).fit(X, y, sample_weight=weight)
    check_optimum(model, X, y, box_of(y, 0.7, weight))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_integer_weights_are_repetitions(n_classes):
    rng = np.random.default_rng(9)
    X, y = dense_problem(rng, n_classes)
    weight = rng.integers(0, 4, size=len(y))
    weight[:n_classes] = 2  # no class vanishes
    weighted = MulticlassSVC(**TIGHT).fit(X, y, sample_weight=weight)
    repeated = MulticlassSVC(**TIGHT).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-6)
    distance = 0.5 * np.sum((weights_of(weighted) - weights_of(repeated)) ** 2)
    # Each is within sqrt(2 * gap) of the one optimum, so the two are within twice that.
    assert distance <= 4.0 * TIGHT["tol"] * weighted.primal_objective_ * 1.01


def test_class_weights():
    X, y = unbalanced_problem(np.random.default_rng(10), 4)
    names = np.array(["ant", "bee", "cat", "dog"])
    count = np.bincount(y)
    balanced = MulticlassSVC(class_weight="balanced", **TIGHT).fit(X, names[y])
    check_optimum(balanced, X, y, box_of(y, 1.0, class_weight=len(y) / (4.0 * count)))
    # Classes that the dictionary does not name weigh 1.
    given_ = MulticlassSVC(class_weight={"ant": 0.2, "cat": 5.0}, **TIGHT).fit(X, names[y])
    check_optimum(given_, X, y, box_of(y, 1.0, class_weight=[0.2, 1.0, 5.0, 1.0]))


def test_class_weight_multiplies_sample_weight():
    rng = np.random.default_rng(11)
    X, y = dense_problem(rng, 3)
    weight = rng.uniform(0.5, 2.0, size=len(y))
    model = MulticlassSVC(class_weight={0: 3.0, 2: 0.5}, **TIGHT).fit(X, y, sample_weight=weight)
    check_optimum(model, X, y, box_of(y, 1.0, weight, [3.0, 1.0, 0.5]))


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_are_the_binary_hinge_machine(C, fit_intercept):
    X, y = dense_problem(np.random.default_rng(12), 2)
    model = MulticlassSVC(C=C, fit_intercept=fit_intercept, **TIGHT).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert np.shape(model.intercept_) == (1,)
    assert model.decision_function(X).shape == (len(y),)
    A = with_intercept(X) if fit_intercept else X
    w, objective = solve_binary_hinge(A, 2.0 * y - 1.0, box_of(y, 2.0 * C))
    assert model.primal_objective_ == pytest.approx(0.5 * objective, rel=2e-6)
    np.testing.assert_allclose(model.decision_function(X), A @ w, atol=2e-2 * np.abs(A @ w).max())
    peer = LinearSVC(
        loss="hinge", C=2.0 * C, fit_intercept=fit_intercept, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    atol = 2e-2 * np.abs(peer.coef_).max()
    np.testing.assert_allclose(dense(model.coef_), peer.coef_, atol=atol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=atol)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_separable_data_with_a_large_penalty(n_classes):
    rng = np.random.default_rng(13)
    y = labels(rng, 40, n_classes)
    X = 4.0 * np.eye(n_classes)[y] + 0.3 * rng.standard_normal((40, n_classes))
    model = MulticlassSVC(C=1e4, tol=1e-5, max_iter=100_000, random_state=0).fit(X, y)
    best = check_optimum(model, X, y, box_of(y, 1e4))
    assert model.score(X, y) == 1.0
    # At the hard margin the loss is gone: the optimum no longer depends on C.
    assert best == pytest.approx(solve_ww_qp(with_intercept(X), y, box_of(y, 1e3))[2], rel=1e-6)
    hinge = margins(weights_of(model), with_intercept(X), y)[np.eye(n_classes)[y] == 0]
    assert np.max(hinge) <= 0.02


def test_samples_that_are_all_empty():
    """Without features or intercept every margin is 1: P = D = C n (K - 1) and W = 0."""
    X, y = scipy.sparse.csr_array((9, 5)), np.arange(9) % 3
    model = MulticlassSVC(C=0.5, fit_intercept=False).fit(X, y)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(0.5 * 9 * 2)
    assert model.dual_objective_ == pytest.approx(0.5 * 9 * 2)
    assert not np.any(dense(model.coef_))


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
@pytest.mark.parametrize("make", PROBLEMS)
def test_violation_stopping_bounds_the_gap(make, tol):
    """If no projected gradient exceeds tol, then P - D <= tol * sum_i u_i (K - 1)."""
    X, y = make(np.random.default_rng(14), 5)
    model = MulticlassSVC(stopping="violation", tol=tol, max_iter=100_000, random_state=0).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.history_[-1]["violation"] <= tol
    primal = check_certificate(model, X, y, box_of(y, 1.0))
    allowed = tol * len(y) * 4
    assert model.primal_objective_ - model.dual_objective_ <= allowed * (1.0 + 1e-9)
    best = solve_ww_qp(with_intercept(X), y, box_of(y, 1.0))[2]
    assert best * (1.0 - 1e-8) <= primal <= best + allowed


def test_the_two_stopping_rules_differ():
    X, y = dense_problem(np.random.default_rng(15), 5)
    fits = {
        stopping: MulticlassSVC(stopping=stopping, tol=0.5, random_state=0).fit(X, y)
        for stopping in ["gap", "violation"]
    }
    assert fits["gap"].dual_gap_ <= 0.5
    assert fits["violation"].history_[-1]["violation"] <= 0.5
    different = dense(fits["gap"].coef_) != dense(fits["violation"].coef_)
    assert np.any(different), "the option changed nothing"


def test_history_tells_the_run():
    X, y = sparse_problem(np.random.default_rng(16), 5)
    model = MulticlassSVC(C=10.0, **TIGHT).fit(X, y)
    assert len(model.history_) >= 1
    for entry in model.history_:
        assert {"time", "primal", "dual", "violation", "active"} <= set(entry)
    times = [entry["time"] for entry in model.history_]
    assert times == sorted(times)
    assert times[0] >= 0.0
    duals = np.array([entry["dual"] for entry in model.history_])
    # Exact ascent never loses dual value.
    assert np.all(np.diff(duals) >= -1e-9 * np.abs(duals[:-1]))
    best = solve_ww_qp(with_intercept(X), y, box_of(y, 10.0))[2]
    assert all(entry["primal"] >= best * (1.0 - 1e-8) for entry in model.history_)
    assert np.all(duals <= best * (1.0 + 1e-8))
    assert model.history_[-1]["primal"] == pytest.approx(model.primal_objective_)
    assert model.history_[-1]["dual"] == pytest.approx(model.dual_objective_)


@st.composite
def tiny_problems(draw):
    """Small integers make ties, duplicates, empty rows and conflicts frequent."""
    n_classes = draw(st.integers(2, 6))
    n = draw(st.integers(n_classes, 20))
    d = draw(st.integers(1, 5))
    X = draw(arrays(np.int8, (n, d), elements=st.integers(-3, 3))).astype(np.float64)
    rest = draw(st.lists(st.integers(0, n_classes - 1), min_size=n - n_classes, max_size=n))
    y = np.array(list(range(n_classes)) + rest[: n - n_classes])
    weight = draw(arrays(np.int8, n, elements=st.integers(1, 3))).astype(np.float64)
    return X, y, weight, draw(st.sampled_from([0.01, 0.3, 1.0, 10.0])), draw(st.booleans())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tiny_problems())
def test_optimum_of_generated_problems(problem):
    X, y, weight, C, fit_intercept = problem
    model = MulticlassSVC(C=C, fit_intercept=fit_intercept, tol=1e-5, max_iter=100_000)
    model.fit(scipy.sparse.csr_array(X), y, sample_weight=weight)
    check_optimum(model, X, y, box_of(y, C, weight))
