"""The interior point: where it is used, what it finds, and that nothing depends on threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._interior_point import InteriorPoint
from multimargin.solvers._problem import Problem

KINDS = [("ww", "hinge"), ("llw", "hinge"), ("ovr", "hinge"), ("ovr", "squared_hinge")]


def problem_of(formulation, loss="hinge", *, C=10.0, bias=1.0, n_classes=None):
    X, y = load_iris(return_X_y=True)
    if n_classes == 2:
        X, y = X[50:], y[50:] - 1
    box = C * np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    k = int(y.max()) + 1
    return Problem(sp.csr_matrix(X), y.astype(np.int32), box, k, bias, formulation, loss)


def gap(problem, alpha):
    """Relative gap by the formulation's own twin, no code of the method."""
    twin = FORMULATIONS[problem.formulation]
    A = np.hstack([problem.X.toarray(), np.full((len(problem.y), 1), problem.bias)])
    y = problem.y - (1 if problem.weight_rows < problem.n_classes else 0)
    W = twin.weights(alpha, A, y)
    margins = twin.margins(A @ W.T, y)
    box = problem.box[:, None]
    if problem.loss == "squared_hinge":
        primal = 0.5 * np.sum(W * W) + np.sum(box * np.maximum(margins, 0) ** 2)
        dual = np.sum(alpha - alpha**2 / (4 * box)) - 0.5 * np.sum(W * W)
    else:
        primal = twin.primal(W, A, y, problem.box)
        dual = twin.dual(alpha, A, y)
    return (primal - dual) / primal


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize(("formulation", "loss"), KINDS)
def test_finds_the_optimum(formulation, loss, C, n_classes):
    problem = problem_of(formulation, loss, C=C, n_classes=n_classes)
    assert InteriorPoint.suits(problem)
    alpha = InteriorPoint(problem).solve(1e-6, lambda _: True)
    assert alpha.min() >= 0
    if loss == "hinge":
        assert np.all(alpha <= problem.box[:, None])
    mask = FORMULATIONS[formulation].variables(problem.y, problem.weight_rows)
    assert not np.any(alpha[~mask])
    assert -1e-9 <= gap(problem, alpha) <= 2e-5


@pytest.mark.parametrize(("C", "largest"), [(1e3, 2e-6), (1e5, 1e-6)])
def test_free_variables_leave_the_digits(C, largest):
    # Without refined solves these end at 4e-5 and 1e-4.
    problem = problem_of("llw", C=C, n_classes=2)
    alpha = InteriorPoint(problem).solve(1e-7, lambda _: True)
    assert -1e-9 <= gap(problem, alpha) <= largest


@pytest.mark.parametrize("at_a_time", [1, 2**20])
@pytest.mark.parametrize(("formulation", "loss"), KINDS)
def test_normal_matrix_is_that_of_the_weights(formulation, loss, at_a_time, monkeypatch):
    """B diag(s) B' from the weights of single variables, one after the other."""
    monkeypatch.setattr("multimargin.formulations._ww._MOST_AT_A_TIME", at_a_time)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(7, 3)), np.array([0, 1, 2, 0, 1, 2, 0])
    twin = FORMULATIONS[formulation]
    scale = rng.uniform(0.5, 2, (7, 3)) * twin.variables(y, 3)
    expected = np.zeros((9, 9))
    for i, c in np.ndindex(7, 3):
        single = np.zeros((7, 3))
        single[i, c] = 1.0
        b = twin.weights(single, X, y).reshape(-1)
        expected += scale[i, c] * np.outer(b, b)
    blocks = twin.normal_matrix(scale, X, y)
    found = np.zeros((9, 9))
    size = 9 // len(blocks)
    for k, block in enumerate(blocks):
        found[k * size : (k + 1) * size, k * size : (k + 1) * size] = block
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_ends_when_told_to():
    asked = []

    def three_steps(alpha):
        asked.append(alpha)
        return len(asked) < 3

    alpha = InteriorPoint(problem_of("llw", C=1e3)).solve(1e-12, three_steps)
    assert len(asked) == 3
    assert np.all(np.isfinite(alpha))


def test_many_weights_do_not_suit():
    X = sp.random(50, 4000, density=0.01, format="csr", random_state=0)
    y = np.arange(50, dtype=np.int32) % 5
    problem = Problem(X, y, np.ones(50), 5, 0.0, "llw")
    assert not InteriorPoint.suits(problem)
    small = problem_of("llw")
    assert InteriorPoint.suits(small)
    # Crammer-Singer's variables share a budget, which the method does not know.
    assert not InteriorPoint.suits(problem_of("cs"))


@pytest.mark.parametrize(
    ("formulation", "options"),
    [("ww", {}), ("ovr", {}), ("ovr", {"loss": "squared_hinge"}), ("llw", {})],
)
def test_ill_conditioned_data_converge(formulation, options):
    # By passes alone these take from ten thousand to millions.
    X, y = load_iris(return_X_y=True)
    X = X * np.array([1.0, 10.0, 0.1, 1.0])
    models = [
        MulticlassSVC(formulation, 100.0, tol=1e-4, random_state=0, n_jobs=t, **options).fit(X, y)
        for t in (1, 2)
    ]
    assert models[0].converged_
    assert models[0].dual_gap_ <= 1e-4
    assert models[0].n_iter_ < 2000
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()


def test_max_iter_counts_its_steps():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(match="max_iter=20 was reached"):
        model = MulticlassSVC("llw", 1e4, tol=1e-9, max_iter=20, random_state=0).fit(X, y)
    assert 20 <= model.n_iter_ <= 40
