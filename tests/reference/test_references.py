"""Every reference must be right by itself before the package is measured against it."""

import numpy as np
import pytest

from tests.reference.cases import CASES
from tests.reference.problems import PENALTIES, problem, shares

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def feasible(case, rng, y, box, n_classes):
    """Random dual variables, a third of them at either bound; two classes may have one each."""
    rows = case.facts.weight_rows(n_classes)
    own = y if rows == n_classes else y - 1
    alpha = shares(rng, (len(y), rows)) * box[:, None] * case.facts.variables(own, rows)
    if not case.facts.separable:
        alpha *= (box / np.maximum(alpha.sum(axis=1), box))[:, None] * (1 - 1e-15)
    return alpha


def snapped(case, alpha, box):
    """``alpha`` on its bounds: an interior point ends next to them."""
    alpha = np.where(alpha < 1e-6 * box[:, None], 0.0, alpha)
    if not case.facts.separable or case.loss != "hinge":
        return alpha
    return np.where(alpha > (1 - 1e-6) * box[:, None], box[:, None], alpha)


@every_case
@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_dual_is_above_a_primal(case, n_classes):
    reference = case.reference
    for seed in range(20):
        X, y, box = problem(seed, n_classes=n_classes)
        alpha = feasible(case, np.random.default_rng(seed), y, box, n_classes)
        primal = reference.primal(reference.weights(alpha, X, y), X, y, box)
        violation = reference.kkt(alpha, X, y, box)
        gap = primal - reference.dual(alpha, X, y, box)
        assert gap >= 0.0
        if case.loss == "hinge":
            # Each variable's complementarity is at most its violation times its range.
            assert gap <= violation * box.sum() * case.facts.zero_loss(n_classes) * (1 + 1e-9)


@every_case
def test_the_dual_refuses_points_that_are_not_feasible(case):
    X, y, box = problem(6)
    alpha = np.zeros((len(y), 4))
    alpha[0, 1] = -0.01
    with pytest.raises(ValueError, match="feasible"):
        case.reference.dual(alpha, X, y, box)
    alpha[0, 1] = 1.01 * box[0]
    if case.loss == "hinge":
        with pytest.raises(ValueError, match="feasible"):
            case.reference.dual(alpha, X, y, box)
    else:
        assert np.isfinite(case.reference.dual(alpha, X, y, box)), "it has no upper bound"


@every_case
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("C", PENALTIES)
def test_the_optimum_has_no_gap_and_meets_the_optimality_conditions(case, n_classes, C):
    X, y, box = problem(int(10 * C) + n_classes, n=30, n_classes=n_classes, C=C)
    W, alpha, primal, dual = case.reference.solve(X, y, box, n_classes)
    assert primal - dual <= 1e-8 * primal
    assert case.reference.dual(alpha, X, y, box) == dual
    np.testing.assert_array_equal(case.reference.weights(alpha, X, y), W)
    assert case.reference.kkt(snapped(case, alpha, box), X, y, box) <= 1e-2
    asked = case.facts.gamma_own(n_classes)
    assert case.reference.kkt(np.zeros_like(alpha), X, y, box) == pytest.approx(asked)


@every_case
def test_a_sample_without_a_box_is_dropped(case):
    X, y, box = problem(11)
    box[5] = 0.0
    keep = np.arange(len(y)) != 5
    expected = case.reference.solve(X[keep], y[keep], box[keep], 4)[2]
    assert case.reference.solve(X, y, box, 4)[2] == pytest.approx(expected, rel=1e-8)


@every_case
def test_an_empty_sample_costs_the_loss_of_zero_scores(case):
    X, y, box = problem(15)
    keep = np.any(X != 0.0, axis=1)
    expected = case.reference.solve(X[keep], y[keep], box[keep], 4)[2]
    expected += case.facts.zero_loss(4) * box[~keep].sum()
    assert case.reference.solve(X, y, box, 4)[2] == pytest.approx(expected, rel=1e-8)
