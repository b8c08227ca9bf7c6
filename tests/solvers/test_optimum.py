"""Every formulation reaches the optimum of tiny problems, and says truthfully how near it is.

Tests loop over the registry: a new formulation is tested as soon as it has a reference
(`tests/reference/references.py`).
"""

import warnings
import zlib

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from tests.reference.cases import CASES, WAYS
from tests.reference.ww import box_of, dense, solve_binary_hinge, with_intercept
from tests.support.tiny_problems import (
    KINDS,
    blobs,
    dense_problem,
    integer_problems,
    labels,
    sparse_problem,
    tiny_problem,
    unbalanced_problem,
)

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_way = pytest.mark.parametrize("case", WAYS, ids=str)
every_kind = pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)


@every_case
@pytest.mark.parametrize("number", range(0, 40, 3))
def test_numbered_problems(case, number):
    problem = tiny_problem(number)
    case.check_tiny(case.model(tol=1e-6, max_iter=1000), problem)


@pytest.mark.parametrize("case", [way for way in WAYS if way not in CASES], ids=str)
@pytest.mark.parametrize("number", range(84, 96, 2))
def test_numbered_problems_by_short_steps(case, number):
    problem = tiny_problem(number, C=[0.01, 0.1, 1.0][number % 3])
    case.check_tiny(case.model(), problem)


@every_way
@pytest.mark.parametrize("number", range(60, 72, 2))
def test_single_precision(case, number):
    problem = tiny_problem(number, np.float32, C=[0.01, 1.0, 5.0][number % 3])
    # Single precision sums these rows to about 1e-6; 1e-4 leaves room and catches a wrong sum.
    case.check_tiny(case.model(tol=max(case.tol, 1e-3)), problem, rel=1e-4)


@every_case
@every_kind
@pytest.mark.parametrize(
    ("n_classes", "C", "fit_intercept"), [(2, 1.0, True), (3, 1.0, False), (7, 0.01, True)]
)
def test_kinds_of_problems(case, make, n_classes, C, fit_intercept):
    rng = np.random.default_rng(zlib.crc32(f"{make.__name__} {n_classes}".encode()))
    X, y = make(rng, n_classes)
    model = case.model(C=C, fit_intercept=fit_intercept, tol=1e-6).fit(X, y)
    case.check_optimum(model, X, y, box_of(y, C))


@every_case
@every_kind
def test_large_penalties(case, make):
    X, y = make(np.random.default_rng(5), 4)
    model = case.model(C=100.0, tol=1e-6, max_iter=1000).fit(X, y)
    case.check_optimum(model, X, y, box_of(y, 100.0))


@every_case
@settings(max_examples=30, deadline=None, derandomize=True)
@given(problem=integer_problems())
def test_generated_problems(case, problem):
    case.check_tiny(case.model(tol=1e-5), problem)


@every_case
@every_kind
@pytest.mark.parametrize("tol", [1e-2])
def test_the_tolerance_is_honoured(case, make, tol):
    X, y = make(np.random.default_rng(21), 5)
    case.check_optimum(case.model(C=2.0, tol=tol).fit(X, y), X, y, box_of(y, 2.0))


@every_case
@every_kind
@pytest.mark.parametrize("tol", [1e-2])
def test_violations_bound_the_gap(case, make, tol):
    """If no violation exceeds tol, then P - D <= tol * sum_i u_i (loss of zero weights)."""
    X, y = make(np.random.default_rng(14), 5)
    model = case.model(stopping="violation", tol=tol).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.violation_ <= tol
    assert model.violation_ == model.history_[-1]["violation"]
    primal = case.check_reported(model, X, y, box_of(y, 1.0))
    best = case.best(X, y)
    assert primal >= best * (1.0 - 1e-8)
    if case.loss == "hinge":
        allowed = tol * len(y) * case.facts.zero_loss(5)
        assert model.primal_objective_ - model.dual_objective_ <= allowed * (1.0 + 1e-9)
        assert primal <= best + allowed
    else:
        # u (max(0, m) - a / 2u)^2 is u g^2 where a > 0; elsewhere a = 0 and m <= g.
        assert primal - best <= 0.02 * best


@every_case
def test_the_two_stopping_rules_differ(case):
    X, y = dense_problem(np.random.default_rng(15), 5)
    by_gap, by_violation = (
        case.model(stopping=stopping, tol=0.5).fit(X, y) for stopping in ["gap", "violation"]
    )
    assert by_gap.dual_gap_ <= 0.5
    assert by_violation.violation_ <= 0.5
    assert np.any(dense(by_gap.coef_) != dense(by_violation.coef_)), "the option changed nothing"


# ---------------------------------------------------------------- intercept, weights, two classes


@every_case
@pytest.mark.parametrize("scaling", [0.1, 10.0])
def test_intercept_scaling_is_the_constant_feature(case, scaling):
    X, y = blobs(7)
    model = case.model(intercept_scaling=scaling).fit(X, y)
    case.check_optimum(model, X, y, box_of(y, 1.0), scaling)
    by_hand = case.model(fit_intercept=False).fit(with_intercept(X, scaling), y)
    assert by_hand.primal_objective_ == pytest.approx(model.primal_objective_, rel=3e-6)
    scores = by_hand.decision_function(with_intercept(X, scaling))
    np.testing.assert_allclose(model.decision_function(X), scores, atol=2e-2)


@every_case
@pytest.mark.parametrize("make", [dense_problem, sparse_problem])
def test_sample_and_class_weights_scale_the_box(case, make):
    rng = np.random.default_rng(8)
    X, y = make(rng, 4)
    names = np.array(["ant", "bee", "cat", "dog"])
    weight = rng.uniform(0.0, 3.0, size=len(y))
    weight[[5, 7]] = 0.0
    # Classes that the dictionary does not name weigh 1.
    model = case.model(C=0.7, class_weight={"ant": 3.0, "cat": 0.5})
    model.fit(X, names[y], sample_weight=weight)
    case.check_optimum(model, X, y, box_of(y, 0.7, weight, [3.0, 1.0, 0.5, 1.0]))


@every_way
def test_balanced_class_weights(case):
    X, y = unbalanced_problem(np.random.default_rng(10), 4)
    model = case.model(class_weight="balanced").fit(X, y)
    box = box_of(y, 1.0, class_weight=len(y) / (4.0 * np.bincount(y)))
    case.check_optimum(model, X, y, box)


@every_case
@pytest.mark.parametrize("n_classes", [2, 4])
def test_integer_weights_are_repetitions(case, n_classes):
    X, y = blobs(9, n_classes=n_classes)
    weight = np.random.default_rng(9).integers(0, 4, size=len(y))
    weight[:n_classes] = 2  # no class vanishes
    weighted = case.model().fit(X, y, sample_weight=weight)
    repeated = case.model().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-6)
    one, other = (case.reference.weights_of(model) for model in (weighted, repeated))
    # Each is within sqrt(2 * gap) of the one optimum, so the two are within twice that.
    allowed = 4.0 * case.tol * weighted.primal_objective_ * 1.01
    assert 0.5 * np.sum((one - other) ** 2) <= allowed


@pytest.mark.parametrize("case", [one for one in CASES if one.loss == "hinge"], ids=str)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.05, 20.0])
def test_two_classes_are_a_binary_svm(case, C, fit_intercept):
    X, y = blobs(12, n_classes=2)
    model = case.model(C=C, fit_intercept=fit_intercept).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert np.shape(model.intercept_) == (1,)
    for_C, for_weights, for_objective = case.reference.two_classes
    A = with_intercept(X) if fit_intercept else X
    w, objective = solve_binary_hinge(A, 2.0 * y - 1.0, box_of(y, for_C * C))
    assert model.primal_objective_ == pytest.approx(for_objective * objective, rel=2e-6)
    scores = for_weights * A @ w
    assert model.decision_function(X).shape == (len(y),)
    atol = 2e-2 * np.abs(scores).max()
    np.testing.assert_allclose(model.decision_function(X), scores, atol=atol)


@pytest.mark.parametrize("case", [one for one in CASES if one.reference.peer], ids=str)
@pytest.mark.parametrize("make", [dense_problem, sparse_problem])
@pytest.mark.parametrize(("n_classes", "fit_intercept"), [(3, True), (8, True), (3, False)])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_agrees_with_liblinear(case, make, n_classes, fit_intercept, C):
    X, y = make(np.random.default_rng(3), n_classes)
    options = {"C": C, "fit_intercept": fit_intercept, "intercept_scaling": 2.0}
    peer = case.reference.peer(tol=1e-9, max_iter=10**7, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y)
    model = case.model(tol=1e-8, **options).fit(X, y)
    objective = case.primal(peer, X, y, box_of(y, C), 2.0)
    assert model.primal_objective_ == pytest.approx(objective, rel=1e-6)
    atol = 2e-3 * np.abs(peer.coef_).max()
    np.testing.assert_allclose(dense(model.coef_), peer.coef_, atol=atol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=atol)


# ---------------------------------------------------------------- optima that are known


@every_case
@pytest.mark.parametrize("n_classes", [2, 5])
def test_separable_data_with_a_large_penalty(case, n_classes):
    """At the hard margin the loss is gone: the optimum no longer depends on C."""
    rng = np.random.default_rng(13)
    y = labels(rng, 40, n_classes)
    X = 4.0 * np.eye(n_classes)[y] + 0.3 * rng.standard_normal((40, n_classes))
    model = case.model(C=1e4, tol=1e-5).fit(X, y)
    best = case.check_optimum(model, X, y, box_of(y, 1e4))
    assert model.score(X, y) == 1.0
    assert best == pytest.approx(case.best(X, y, 1e3), rel=1e-6 if case.loss == "hinge" else 1e-2)


@every_way
@pytest.mark.parametrize("n_classes", [2, 3])
def test_samples_that_are_all_empty(case, n_classes):
    """Without features or intercept every margin is 1, and W = 0."""
    X, y = scipy.sparse.csr_array((12, 5)), np.arange(12) % n_classes
    model = case.model(C=0.5, fit_intercept=False, tol=0.01).fit(X, y)
    lost = 0.5 * 12 * case.facts.zero_loss(n_classes)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(lost)
    assert model.dual_objective_ == pytest.approx(lost, rel=0.01)
    assert not np.any(dense(model.coef_))


@pytest.mark.parametrize(
    "case", [one for one in WAYS if one.facts.separable and one.loss == "hinge"], ids=str
)
def test_small_penalties_put_every_variable_at_its_bound(case):
    """Nothing is left to decide after a few passes, where variables have bounds of their own."""
    X, y = blobs(6)
    C = 1e-5
    model = case.model(C=C).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= (5 if case.solver == "auto" else 30)
    alpha = C * case.facts.variables(y, 4)
    closed = case.reference.weights(alpha, with_intercept(X), y)
    found = case.reference.weights_of(model)
    np.testing.assert_allclose(found, closed, rtol=1e-6, atol=1e-12)
