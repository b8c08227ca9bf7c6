"""A formulation states all its facts, or is refused with one line that says which are missing."""

import re
import sys

import pytest

from multimargin.formulations import FORMULATIONS, Formulation, WestonWatkins, register
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
    for fact in ("separable", "sparse_dual", "hard_margin", "other_variables", "least_penalty"):
        assert fact in message
    assert "xyz" not in FORMULATIONS


@pytest.mark.parametrize("fact", Formulation.__annotations__)
def test_every_fact_has_to_be_stated(fact):
    facts = {name: getattr(WestonWatkins, name) for name in Formulation.__annotations__}
    facts["name"] = "xyz"
    del facts[fact]
    methods = ("least_penalty", "dense_numbers")
    facts |= {name: WestonWatkins.__dict__[name] for name in methods}
    with pytest.raises(TypeError, match=rf"lacks: {fact} \(see CONTRIBUTING"):
        register(type("Xyz", (Formulation,), facts))


def test_what_a_fact_promises_has_to_be_there():
    class NoAuto(WestonWatkins):
        name = "xyz"
        solvers = {"passes": "activesetpasses"}  # noqa: RUF012

    class NoDivided(WestonWatkins):
        name = "xyz"
        divided_solver = "other"

    for kind, lacking in (
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


@every_formulation
def test_primal_and_dual_stand_at_the_head_of_the_file(kind):
    text = sys.modules[kind.__module__].__doc__
    assert re.search(r"^primal  min ", text, re.MULTILINE)
    assert re.search(r"^dual    max ", text, re.MULTILINE)
    assert kind.title.split()[0] in text
