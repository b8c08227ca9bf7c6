"""Which engine a fit takes, its reason, and where users read of it."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, distributed
from multimargin.formulations import FORMULATIONS
from multimargin.solvers import _engine_choice
from multimargin.solvers._engine_choice import choose_engine
from multimargin.solvers._problem import Problem
from multimargin.solvers._registry import choose
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import blobs

CENTRED = [name for name, facts in FORMULATIONS.items() if facts.centred]
OTHERS = [name for name, facts in FORMULATIONS.items() if not facts.centred]


def problem(formulation, n_classes=10, n=400, d=50, box=1.0):
    X = sp.random(n, d, 0.1, format="csr", random_state=0)
    y = (np.arange(n) % n_classes).astype(np.int32)
    return Problem(X, y, np.full(n, box), n_classes, 1.0, formulation)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("n_classes", [2, 160])
def test_few_classes_are_for_rows(formulation, n_classes):
    p = problem(formulation, n_classes)
    rows, reason = choose_engine(p)
    assert rows
    assert f"{8 * p.weight_rows * (400 + 50) / 2**20:,.0f} MB" in reason
    if formulation in OTHERS:
        assert f"{p.weight_rows} classes are few" in reason


@pytest.mark.parametrize("formulation", OTHERS)
def test_many_classes_are_not(formulation):
    assert choose_engine(problem(formulation, 161)) == (False, "161 classes are more than 160")


@pytest.mark.parametrize("formulation", CENTRED)
def test_a_dense_solution_is_for_rows_whatever_its_classes(formulation):
    rows, reason = choose_engine(problem(formulation, 400))
    assert rows and reason.startswith("the solution is dense")


def test_memory(monkeypatch):
    monkeypatch.setattr(_engine_choice, "_MOST_BYTES", 8 * 10 * (400 + 50))
    assert choose_engine(problem("ww")).rows
    more = choose_engine(problem("ww", d=51))
    assert more == (False, "dense weights and dual variables take 0 MB")
    for formulation in CENTRED:  # their other engine has the same weights, and they are dense too
        assert choose_engine(problem(formulation, d=51)).rows


@pytest.mark.parametrize("formulation", ["ww", "cs", "ovr"])
def test_what_divides_the_classes_is_not_for_rows(formulation):
    few = problem(formulation)
    assert choose(formulation, problem=few).solver.name == "rows"
    assert choose(formulation, "passes", problem=few).solver.name == "rowspasses"
    divided = {
        "the run has 2 ranks": {"ranks": 2},
        "the run has 3 bundles": {"bundles": 3},
        "the run has checkpoints": {"checkpoints": True},
        "the run has 2 ranks and 3 bundles": {"ranks": 2, "bundles": 3},
    }
    for reason, options in divided.items():
        choice = choose(formulation, problem=few, **options)
        assert choice.reason == reason
        assert choice.solver.engine == ("lines" if formulation == "ovr" else "active set")


def engines(model):
    return {record["engine"] for record in model.history_}


def test_history_has_the_engine():
    X, y = blobs(3, n=60)
    (engine,) = engines(MulticlassSVC(random_state=0).fit(X, y))
    assert engine.startswith("rows (") and "classes are few" in engine
    (engine,) = engines(MulticlassSVC(n_bundles=2, random_state=0).fit(X, y))
    assert engine == "active set (the run has 2 bundles)"
    (engine,) = engines(MulticlassSVC("ovr", n_bundles=2, random_state=0).fit(X, y))
    assert engine.startswith("lines (")
    (engine,) = engines(
        MulticlassSVC("llw", solver="alternating", tol=0.1, random_state=0).fit(X, y)
    )
    assert "it was asked for" in engine


def test_ranks_have_the_engine_too():
    X, y = blobs(3, n=60)
    model = MulticlassSVC(random_state=0)
    found = run_ranks(2, lambda comm: distributed.fit(model, X, y, comm=comm).gather())
    assert engines(found[0]) == {"active set (the run has 2 ranks and 4 bundles)"}


@pytest.mark.parametrize("n_classes", [5, 170])
def test_verbose_names_the_engine(n_classes):
    p = problem("ww", n_classes)
    for verbose in (1, 2):
        with redirect_stderr(io.StringIO()) as said:
            model = MulticlassSVC(verbose=verbose, random_state=0).fit(p.X, p.y)
        (engine,) = engines(model)
        assert (f"engine: {engine}" in said.getvalue()) == (verbose == 2)
