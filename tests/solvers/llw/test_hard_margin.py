"""Lee-Lin-Wahba with C = inf: the smallest weights that keep every margin, or a clear refusal."""

import numpy as np
import pytest
import scipy.sparse

from multimargin import MulticlassSVC
from tests.reference.llw import (
    llw_gradient,
    llw_hard_margin,
    llw_primal,
    llw_separable,
    solve_llw_hard,
    solve_llw_qp,
)
from tests.reference.ww import box_of, dense, weights_of, with_intercept, wrong_classes
from tests.support.certificate import check_optimum
from tests.support.tiny_problems import labels, separable_problem

HARD = {
    "formulation": "llw",
    "C": np.inf,
    "tol": 1e-4,
    "max_iter": 10**6,
    "random_state": 0,
    "time_limit": 30.0,
}


def check_hard(model, X, y, tiny=1e-9, scaling=1.0, rel=1e-9):
    """Every margin holds, the norm is what is reported, and it is the smallest."""
    A = with_intercept(X, scaling) if model.fit_intercept else dense(X)
    W = weights_of(model, scaling)
    worst = np.max(llw_gradient(W, A)[wrong_classes(y, len(W))])
    assert worst <= tiny, "a margin is broken"
    reference = solve_llw_hard(A, y, len(W))
    check_optimum(model, W, 0.5 * np.sum(W * W), reference, rel)
    assert model.score(X, y) == 1.0


def wide_problem(seed, n=20, d=50, n_classes=5):
    """More features than samples: any labels can be separated."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), labels(rng, n, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_optimum_of_separable_problems(seed, n_classes, fit_intercept):
    X, y = separable_problem(seed, n_classes=n_classes)
    check_hard(MulticlassSVC(fit_intercept=fit_intercept, **HARD).fit(X, y), X, y)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("make_sparse", [False, True])
def test_optimum_with_more_features_than_samples(n_classes, make_sparse):
    X, y = wide_problem(n_classes, n_classes=n_classes)
    if make_sparse:
        X = scipy.sparse.csr_array(X * (np.random.default_rng(1).random(X.shape) < 0.5))
    check_hard(MulticlassSVC(**HARD).fit(X, y), X, y)


def test_block_solver_by_name():
    X, y = separable_problem(3)
    check_hard(MulticlassSVC(solver="block", **HARD).fit(X, y), X, y)


def test_intercept_scaling():
    X, y = separable_problem(4)
    model = MulticlassSVC(intercept_scaling=3.0, **HARD).fit(X, y)
    check_hard(model, X, y, scaling=3.0)


def test_float32():
    X, y = wide_problem(6)
    X = X.astype(np.float32)
    model = MulticlassSVC(**{**HARD, "tol": 1e-2}).fit(X, y)
    assert model.coef_.dtype == np.float32
    check_hard(model, X, y, tiny=1e-4, rel=1e-4)


def test_narrow_margins():
    """One sample of each class next to another class: large weights, few constraints."""
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], 10)
    X = rng.standard_normal((20, 2))
    X[:, 0] = np.where(y == 1, 1.0, -1.0) * (0.02 + np.abs(X[:, 0]))
    assert llw_separable(with_intercept(X), y, 2)
    check_hard(MulticlassSVC(**{**HARD, "tol": 1e-2}).fit(X, y), X, y)


def test_weights_of_samples_do_not_matter_unless_zero():
    X, y = separable_problem(5)
    weight = np.random.default_rng(5).uniform(0.1, 5.0, size=len(y))
    plain = MulticlassSVC(**HARD).fit(X, y)
    weighted = MulticlassSVC(class_weight={0: 3.0}, **HARD).fit(X, y, sample_weight=weight)
    check_hard(weighted, X, y)
    assert weighted.primal_objective_ == pytest.approx(plain.primal_objective_, rel=2e-4)
    # A contradiction of weight zero is none.
    both, names = np.vstack([X, X[:1]]), np.append(y, (y[0] + 1) % 4)
    weight = np.append(np.ones(len(y)), 0.0)
    without = MulticlassSVC(**HARD).fit(both, names, sample_weight=weight)
    check_hard(without, X, y)


def test_it_is_the_limit_of_large_penalties():
    X, y = separable_problem(8)
    hard = MulticlassSVC(**HARD).fit(X, y)
    largest = np.max(solve_llw_hard(with_intercept(X), y)[1])
    soft = MulticlassSVC(**{**HARD, "C": 2.0 * largest}).fit(X, y)
    assert soft.primal_objective_ == pytest.approx(hard.primal_objective_, rel=2e-4)
    less = MulticlassSVC(**{**HARD, "C": 0.3 * largest}).fit(X, y)
    assert less.primal_objective_ < hard.primal_objective_


def test_warm_start_to_infinity_and_back():
    X, y = separable_problem(9)
    A = with_intercept(X)
    model = MulticlassSVC(**HARD, warm_start=True)
    for C in [0.1, 10.0, np.inf, np.inf, 0.1]:
        model.set_params(C=C).fit(X, y)
        if np.isinf(C):
            check_hard(model, X, y)
        else:
            W, box = weights_of(model), box_of(y, C)
            check_optimum(model, W, llw_primal(W, A, y, box), solve_llw_qp(A, y, box))


def test_same_bits_for_any_number_of_threads():
    X, y = wide_problem(10, n=150, d=400, n_classes=6)
    fits = [MulticlassSVC(**{**HARD, "tol": 1e-2}, n_jobs=jobs).fit(X, y) for jobs in [1, 2, 4]]
    assert llw_hard_margin(weights_of(fits[0]), with_intercept(X), y) >= 1.0 - 1e-9
    for other in fits[1:]:
        assert np.array_equal(fits[0].coef_, other.coef_)
        assert np.array_equal(fits[0].intercept_, other.intercept_)


def repeated_row():
    """The same row under two labels."""
    X, y = separable_problem(11)
    return np.vstack([X, X[:1]]), np.append(y, (y[0] + 1) % 4), True


def scaled_row():
    """Through the origin a row and its double say the same."""
    X, y = separable_problem(12)
    return np.vstack([X, 2.0 * X[:1]]), np.append(y, (y[0] + 1) % 4), False


def empty_row():
    """All scores of an empty row are 0; none can be -1."""
    X, y = separable_problem(13)
    return scipy.sparse.csr_array(np.vstack([X, np.zeros((1, X.shape[1]))])), np.append(y, 0), False


def in_the_middle():
    """Three classes in a row: an affine score cannot be low on both sides of its own class.

    Weston-Watkins separates them; no two rows are equal.
    """
    X = np.array([[-2.0], [-1.5], [0.0], [0.1], [1.5], [2.0]])
    return X, np.array([0, 0, 1, 1, 2, 2]), True


def overlapping():
    rng = np.random.default_rng(14)
    return rng.standard_normal((60, 3)), np.arange(60) % 4, True


def overlapping_two_classes():
    rng = np.random.default_rng(15)
    return rng.standard_normal((50, 4)), np.arange(50) % 2, True


def barely_overlapping():
    """Separable but for one sample inside the other class."""
    X, y = separable_problem(16, n_classes=3)
    inside = X[y == 0].mean(axis=0, keepdims=True)
    return np.vstack([X, inside]), np.append(y, 1), True


INFEASIBLE = [
    repeated_row,
    scaled_row,
    empty_row,
    in_the_middle,
    overlapping,
    overlapping_two_classes,
    barely_overlapping,
]


@pytest.mark.timeout(60)  # it takes hundredths of a second
@pytest.mark.parametrize("make", INFEASIBLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infeasible_data_are_refused_soon(make, dtype):
    X, y, fit_intercept = make()
    X = X.astype(dtype)
    A = with_intercept(X) if fit_intercept else dense(X)
    assert not llw_separable(A, y, int(y.max()) + 1), "the test's own data must be infeasible"
    with pytest.raises(ValueError, match=r"(?i)infeasible"):
        MulticlassSVC(fit_intercept=fit_intercept, **HARD).fit(X, y)


def test_weston_watkins_separates_what_lee_lin_wahba_cannot():
    X, y, _ = in_the_middle()
    assert MulticlassSVC("ww", 1e3, max_iter=10**5).fit(X, y).score(X, y) == 1.0


def test_the_refusal_leaves_an_old_model_alone():
    X, y = separable_problem(17)
    model = MulticlassSVC(**HARD).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"(?i)infeasible"):
        model.fit(np.vstack([X, X[:1]]), np.append(y, (y[0] + 1) % 4))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("formulation", ["ww", "ovr"])
def test_other_formulations_have_no_hard_margin(formulation):
    with pytest.raises(ValueError, match=r"C .*inf"):
        MulticlassSVC(formulation, np.inf).fit(*separable_problem(18))
