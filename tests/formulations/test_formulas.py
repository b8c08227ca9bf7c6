"""The formulas of all formulations, as their facts make them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin.formulations import FORMULATIONS, OwnClass
from tests.reference.problems import shares

every_formulation = pytest.mark.parametrize("kind", FORMULATIONS.values(), ids=FORMULATIONS)


@every_formulation
def test_margins_and_shares_of_some_classes_are_those_of_all(kind):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(6, size=9), rng.standard_normal((9, 6))
    X = rng.standard_normal((9, 4))
    alpha = rng.random((9, 6)) * kind.variables(y, 6)
    own = np.take_along_axis(scores, y[:, None], axis=1) if kind.relative else None
    margins, shares = [], []
    for first, last in ((0, 2), (2, 5), (5, 6)):
        at = OwnClass.among(y, first, last, own)
        margins.append(kind.margins_to(scores[:, first:last], at, 6))
        total = kind.signed(alpha, OwnClass.among(y, 0, 6)).sum(axis=1, keepdims=True)
        shares.append(kind.shares(alpha[:, first:last], at, total, 6))
    np.testing.assert_array_equal(np.hstack(margins), kind.margins(scores, y))
    np.testing.assert_allclose(np.hstack(shares).T @ X, kind.weights(alpha, X, y))


@every_formulation
@pytest.mark.parametrize("n_classes", [2, 5])
def test_coefficients_make_the_same_weights(kind, n_classes):
    rng = np.random.default_rng(1)
    y, X = rng.integers(n_classes, size=9), rng.standard_normal((9, 4))
    rows = kind.weight_rows(n_classes)
    own = y if rows == n_classes else y - 1
    alpha = rng.random((9, rows)) * kind.variables(own, rows)
    sample, column = np.nonzero(alpha)
    other = column if rows == n_classes else 1 - y[sample]
    found = kind.coefficients(sample, y[sample], other, alpha[sample, column], (9, n_classes))
    np.testing.assert_allclose(found.T @ X, kind.weights(alpha, X, own), atol=1e-12)


@every_formulation
def test_margins_are_the_gradient_of_the_dual(kind):
    rng = np.random.default_rng(2)
    y, X = rng.integers(4, size=8), rng.standard_normal((8, 3))
    exists = kind.variables(y, 4)
    alpha = rng.random((8, 4)) * exists
    margins = kind.margins(X @ kind.weights(alpha, X, y).T, y)
    step = 1e-6
    for place in zip(*np.nonzero(exists), strict=True):
        up, down = alpha.copy(), alpha.copy()
        up[place] += step
        down[place] -= step
        slope = (kind.dual(up, X, y) - kind.dual(down, X, y)) / (2 * step)
        assert slope == pytest.approx(margins[place], abs=1e-6)


@every_formulation
@pytest.mark.parametrize("n_classes", [2, 5])
def test_zero_weights_lose_the_margins_that_are_asked_for(kind, n_classes):
    y = np.array([0, 1, n_classes - 1])
    asked = kind.variables(y, n_classes) * np.where(
        np.arange(n_classes) == y[:, None], kind.gamma_own(n_classes), 1.0
    )
    each = asked.sum(axis=1) if kind.separable else asked.max(axis=1)
    np.testing.assert_array_equal(each, kind.losses(kind.margins(np.zeros((3, n_classes)), y)))
    W, X, box = np.zeros((n_classes, 2)), np.ones((3, 2)), np.full(3, 2.0)
    assert kind.primal(W, X, y, box) == 6 * each[0]
    if not kind.independent:
        assert kind.zero_loss(n_classes) == each[0]


def feasible(kind, rng, y, box, n_classes):
    """Random dual variables, a third of them at either bound."""
    alpha = shares(rng, (len(y), n_classes)) * box[:, None] * kind.variables(y, n_classes)
    if not kind.separable:
        alpha *= (box / np.maximum(alpha.sum(axis=1), box))[:, None]
    return alpha


@every_formulation
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_no_dual_is_above_any_primal(kind, n_classes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, X, box = rng.integers(n_classes, size=9), rng.standard_normal((9, 4)), rng.random(9)
        alpha = feasible(kind, rng, y, box, n_classes)
        own = kind.weights(alpha, X, y)
        if kind.centred or kind.relative:
            np.testing.assert_allclose(own.sum(axis=0), 0, atol=1e-12)
        W = own + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal((n_classes, 4))
        if kind.centred:
            W -= W.mean(axis=0)
        assert kind.dual(alpha, X, y) <= kind.primal(W, X, y, box) + 1e-12
        # At the weights of the dual variables the gap is what the violations allow.
        gap = kind.primal(own, X, y, box) - kind.dual(alpha, X, y)
        worst = kind.violations(kind.margins(X @ own.T, y), alpha, box)
        rooms = kind.variables(y, n_classes).sum(axis=1) if kind.separable else 1
        assert gap <= np.sum(worst * box * rooms) + 1e-12


@every_formulation
@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_a_solved_row_has_no_gap(kind, data):
    n_classes = data.draw(st.integers(2, 9))
    own = data.draw(st.integers(0, n_classes - 1))
    box = data.draw(st.sampled_from([0.01, 1.0, 100.0]))
    norm2 = data.draw(st.floats(0.05, 20))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    y, there = np.array([own]), kind.variables(np.array([own]), n_classes)[0]
    # Few different margins: ties are frequent.
    margins = rng.choice([rng.integers(-3, 4), rng.normal()], n_classes) * there
    alpha = feasible(kind, rng, y, np.array([box]), n_classes)[0]
    solved = kind.solve_row(margins, alpha, own, box, norm2)
    assert np.all(solved >= 0) and np.all(solved[~there] == 0)
    assert (solved.max() if kind.separable else solved.sum()) <= box * (1 + 1e-12)
    # The shares of a unit of each variable, and with them what the step makes of the margins.
    share = [kind.weights(unit[None, :], np.ones((1, 1)), y)[:, 0] for unit in np.eye(n_classes)]
    hessian = norm2 * np.array(share) @ np.array(share).T
    left = np.where(there, margins - hessian @ (solved - alpha), 0.0)
    if kind.separable:
        gap = np.maximum(left, 0) @ (box - solved) + np.maximum(-left, 0) @ solved
    else:
        gap = box * max(0.0, left.max()) - left @ solved
    assert abs(gap) <= 1e-9 * max(1.0, box * norm2) * max(1.0, box)


@pytest.mark.parametrize("kind", [kind for kind in FORMULATIONS.values() if not kind.separable])
def test_the_rest_of_a_budget_counts_as_a_class_of_margin_zero(kind):
    box, y = np.ones(4), np.zeros(4, dtype=int)
    there = np.flatnonzero(kind.variables(y, 3)[0])[-2:]
    margins, alpha = np.zeros((4, 3)), np.zeros((4, 3))
    margins[:, there] = [[0.5, -1.0], [0.5, -1.0], [-0.5, -1.0], [-0.5, -1.0]]
    alpha[1:, there] = [[1.0, 0.0], [0.4, 0.6], [0.4, 0.0]]
    # The free budget goes up; a full one is at its best class; both classes give; one gives.
    np.testing.assert_array_equal(kind.violations(margins, alpha, box), [0.5, 0.0, 1.0, 0.5])
