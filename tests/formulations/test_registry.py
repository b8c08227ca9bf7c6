"""A formulation states all its facts, or is refused with one line that says which are missing."""

import re
import sys

import numpy as np
import pytest

from multimargin.formulations import FORMULATIONS, Formulation, OwnClass, WestonWatkins, register
from multimargin.solvers._registry import solvers_of

every_formulation = pytest.mark.parametrize("kind", FORMULATIONS.values(), ids=FORMULATIONS)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Formulations that a test registers are forgotten after it."""
    before = dict(FORMULATIONS)
    yield
    FORMULATIONS.clear()
    FORMULATIONS.update(before)


def test_an_empty_formulation_is_told_all_that_it_lacks():
    class Nothing(Formulation):
        name = "xyz"

    with pytest.raises(TypeError) as error:
        register(Nothing)
    message = str(error.value)
    assert message.startswith("formulation 'xyz' lacks: title, reference, solvers, ")
    assert message.endswith(" (see CONTRIBUTING, 'Add a formulation')")
    assert "\n" not in message
    for fact in ("separable", "sparse_dual", "hard_margin", "solve_block", "least_penalty"):
        assert fact in message
    assert "xyz" not in FORMULATIONS


@pytest.mark.parametrize("fact", Formulation.__annotations__)
def test_every_fact_has_to_be_stated(fact):
    facts = {name: getattr(WestonWatkins, name) for name in Formulation.__annotations__}
    facts["name"] = "xyz"
    del facts[fact]
    methods = ("solve_block", "least_penalty", "dense_numbers", "normal_matrix")
    facts |= {name: WestonWatkins.__dict__[name] for name in methods}
    with pytest.raises(TypeError, match=rf"lacks: {fact} \(see CONTRIBUTING"):
        register(type("Xyz", (Formulation,), facts))


def test_what_a_fact_promises_has_to_be_there():
    class NoMatrix(WestonWatkins):
        name = "xyz"
        normal_matrix = staticmethod(Formulation.normal_matrix)

    class NoAuto(WestonWatkins):
        name = "xyz"
        solvers = {"passes": "activesetpasses"}  # noqa: RUF012

    class NoDivided(WestonWatkins):
        name = "xyz"
        divided_solver = "other"

    for kind, lacking in (
        (NoMatrix, "normal_matrix"),
        (NoAuto, "solvers['auto']"),
        (NoDivided, "solvers['other']"),
    ):
        with pytest.raises(TypeError, match=re.escape(f"'xyz' lacks: {lacking} (see")):
            register(kind)


def test_a_complete_formulation_is_registered_once():
    class Again(WestonWatkins):
        name = "xyz"

    assert register(Again) is FORMULATIONS["xyz"]
    with pytest.raises(TypeError, match="'xyz' is there already: Weston-Watkins"):
        register(Again)


def test_a_solver_that_nobody_knows_is_refused():
    class Other(WestonWatkins):
        name = "xyz"
        solvers = {"auto": "newton"}  # noqa: RUF012

    with pytest.raises(TypeError, match=r"'xyz' names the solver 'newton', .*: activeset, "):
        solvers_of(Other)


# ---------------------------------------------------------------- the ones that are there


@every_formulation
def test_primal_and_dual_stand_at_the_head_of_the_file(kind):
    text = sys.modules[kind.__module__].__doc__
    assert re.search(r"^primal  min ", text, re.MULTILINE)
    assert re.search(r"^dual    max ", text, re.MULTILINE)
    assert kind.title.split()[0] in text


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
        margins.append(kind.margins_to(scores[:, first:last], at))
        total = alpha.sum(axis=1, keepdims=True)
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
def test_zero_weights_lose_what_all_margins_of_1_make(kind):
    y = np.array([0, 2, 4])
    each = kind.losses(kind.margins(np.zeros((3, 5)), y))
    np.testing.assert_array_equal(each, kind.zero_loss(5))
    assert kind.primal(np.zeros((5, 2)), np.ones((3, 2)), y, np.full(3, 2.0)) == 6 * kind.zero_loss(
        5
    )
