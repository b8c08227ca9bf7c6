"""The validation experiment: the paper's figures, marks, tables, and whole runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import dump_svmlight
from multimargin.datasets._sets import SetParts
from reproduction.experiments._scaling import scaled, unit_variance
from reproduction.experiments._validation import Validation
from reproduction.experiments._validation_tables import Ours, collected, mark
from reproduction.interface._cell import Record
from reproduction.interface._experiment import Options, Plan
from reproduction.measuring._training import Data, fit_and_measure, scores
from reproduction.paper import validation as paper
from tests.support.paths import SHARED

IRIS = ("xcsvm-iris", "ww", 0)


# ------------------------------------------------------------ the paper's figures


def test_the_papers_figures_are_those_printed() -> None:
    assert len(paper.TABLE) == 9 * 3 * 4
    assert paper.TABLE["sensit-combined", "llw", -1, "D"] == (21.34, 100.0)
    assert paper.TABLE["letter", "llw", 1, "D"] == (61.91, 100.0)
    assert paper.TABLE["letter", "llw", 1, "S"] == (87.24, 100.0)
    assert paper.TABLE["news20", "ww", 1, "S"] == (15.98, 43.47)
    assert paper.TABLE["rcv1", "llw", 0, "S"] == (33.41, 77.98)
    assert paper.TABLE["xcsvm-splice", "ww", 0, "D"] == (16.37, 100.0)
    assert paper.TABLE["usps", "ww", 1, "S"] == (10.51, 100.0)


def test_sums_of_the_papers_columns() -> None:
    """Of the 27 lines: added up from the paper's text, column by column."""
    sums = {
        (f, s): (
            round(sum(v.error for k, v in paper.TABLE.items() if (k[1], k[3]) == (f, s)), 2),
            round(sum(v.density for k, v in paper.TABLE.items() if (k[1], k[3]) == (f, s)), 2),
        )
        for f in paper.FORMULATIONS
        for s in paper.SOLVERS
    }
    assert sums == {
        ("llw", "D"): (908.54, 2625.65),
        ("llw", "S"): (934.02, 2625.48),
        ("ww", "D"): (459.60, 2314.27),
        ("ww", "S"): (459.52, 2299.52),
    }


# ------------------------------------------------------------ data


def test_unit_variance_divides_and_does_not_centre() -> None:
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    train, test = unit_variance(X, np.array([[2.0, 5.0]]))
    np.testing.assert_allclose(train.toarray(), [[1, 5], [3, 5]])  # deviations 1 and 0
    train, test = unit_variance(4 * X, np.array([[2.0, 5.0]]))
    np.testing.assert_allclose(train.toarray(), [[1, 20], [3, 20]])
    np.testing.assert_allclose(test.toarray(), [[0.5, 5]])


def test_scaling_of_each_set() -> None:
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.random((40, 3)) + 1), np.arange(40) % 4
    parts = SetParts(X, y, X[:5], y[:5])
    assert (scaled("usps", parts).X != X).nnz == 0
    np.testing.assert_allclose(sp.linalg.norm(scaled("news20", parts).X_test, axis=1), 1)
    columns = scaled("letter", parts).X.toarray()
    np.testing.assert_allclose(columns.std(axis=0), 1)
    assert (columns.mean(axis=0) > 1).all()


def test_without_a_test_file_a_tenth_is_set_apart() -> None:
    X, y = sp.csr_matrix(np.arange(1.0, 41.0)[:, None]), np.arange(40) % 4
    data = scaled("usps", SetParts(X, y, None, None))
    assert data.X.shape[0] == 36 and data.X_test.shape[0] == 4
    together = np.concatenate([data.X.toarray()[:, 0], data.X_test.toarray()[:, 0]])
    assert sorted(together) == list(range(1, 41))
    again = scaled("usps", SetParts(X, y, None, None))
    np.testing.assert_array_equal(again.y_test, data.y_test)


def test_unknown_test_classes_are_errors_each_with_an_f1_of_zero() -> None:
    data = Data.encoded(np.eye(3), ["b", "d", "b"], np.eye(3), ["d", "a", "z"])
    assert data.y.tolist() == [0, 1, 0]
    assert data.y_test.tolist() == [1, -1, -2]
    measured = scores(data.y_test, np.array([1, 1, 1]))
    assert measured["test_error"] == pytest.approx(100 * 2 / 3)
    assert measured["micro_f1"] == pytest.approx(100 / 3)
    assert measured["macro_f1"] == pytest.approx(100 * 0.5 / 3)  # of classes d, a and z


@pytest.mark.parametrize("formulation", ["ww", "llw", "ovr"])
def test_measurements_of_a_fit(formulation: str) -> None:
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = np.eye(3)[y] + 0.1 * rng.random((60, 3))
    data = Data.encoded(X, y, X, y)
    parameters = {"formulation": formulation, "C": 10.0, "tol": 1e-4, "random_state": 0}
    measured = fit_and_measure({**parameters, "solver": "passes"}, data, alpha_density=True)
    assert measured["test_error"] == 0 and measured["macro_f1"] == 100
    assert measured["converged"] and 0 <= measured["gap"] <= 1e-4
    assert 0 < measured["dual"] <= measured["primal"]
    # A sample's own class has no variable but in one-vs-rest.
    assert 0 < measured["alpha_density"] <= (100 if formulation == "ovr" else 200 / 3 + 1e-9)
    assert "alpha_density" not in fit_and_measure(parameters, data)


# ------------------------------------------------------------ marks


def _measured(error: float, *, converged: bool = True, gap: float = 1e-7, **more: object) -> dict:
    common = {"test_error": error, "density": 100.0, "violation": 1e-4, "gap": gap}
    return {**common, "converged": converged, "n_test": 2000, "own_split": False, **more}


def _ours(optimum: float, *stopped: float, **more: object) -> Ours:
    runs = {seed: _measured(error) for seed, error in enumerate(stopped)}
    return Ours(_measured(optimum, **more), runs)


def test_marks() -> None:
    third = 40 / 3
    assert mark(IRIS, 13.33, _ours(third, 20.0)) == ("equal", "")
    assert mark(IRIS, 13.34, _ours(third, 20.0))[0] == "near"  # a digit off, in range
    assert mark(IRIS, 20.0, _ours(third, 20.0))[0] == "near"
    assert mark(IRIS, 20.02, _ours(third, 20.0))[0] == "differs"
    assert mark(IRIS, 13.32, _ours(third, 20.0))[0] == "differs"
    assert mark(IRIS, 13.33, Ours()) == ("paper", "")
    early = mark(IRIS, 13.33, _ours(third, converged=False, gap=2e-3))
    assert early == ("equal", "the time limit ended our run at a gap of 2e-03")


def test_runs_that_ended_far_from_the_optimum_widen_no_range() -> None:
    ours = _ours(10.0, 10.0)
    ours.stopped[1] = _measured(30.0, converged=False, gap=0.5)
    assert mark(IRIS, 20.0, ours)[0] == "differs"
    ours.stopped[1] = _measured(30.0, converged=False, gap=0.04)
    assert mark(IRIS, 20.0, ours)[0] == "near"


def test_other_test_samples_allow_two_standard_errors() -> None:
    """15 % of 2,000 samples: a standard error of 0.798."""
    assert mark(("satimage", "ww", 0), 15.0, _ours(16.5))[0] == "near"
    assert mark(("satimage", "ww", 0), 15.0, _ours(16.5))[1] != ""
    assert mark(("satimage", "ww", 0), 15.0, _ours(16.7))[0] == "differs"
    assert mark(("usps", "ww", 0), 15.0, _ours(16.5))[0] == "differs"
    # With a split of its own, the paper's 3,993 samples vary too: 0.978.
    assert mark(("news20", "ww", 0), 15.0, _ours(16.7, own_split=True))[0] == "near"
    assert mark(("news20", "ww", 0), 15.0, _ours(16.7))[0] == "differs"
    assert mark(("news20", "ww", 0), 15.0, _ours(15.0, own_split=True))[0] == "near"


# ------------------------------------------------------------ plans and tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Iris and news20 by name, tiny; news20 has no test file."""
    rng = np.random.default_rng(0)
    for name, features, parts in (
        ("xcsvm-iris", 4, ("train", "test")),
        ("news20", 62_061, ("train",)),
    ):
        (tmp_path / name).mkdir()
        for part in parts:
            y = np.arange(30) % 3 + 1
            X = sp.csr_matrix(np.eye(4)[y] + 0.3 * rng.random((30, 4)))
            X.resize(30, features)
            dump_svmlight(tmp_path / name / f"{part}.libsvm", X, y)
    return tmp_path


def test_plan_has_what_is_there_and_names_what_is_not(folder: Path) -> None:
    plan = Validation().plan(Options(folder, runs=2))
    assert {cell.dataset for cell in plan.cells} == {"xcsvm-iris", "news20"}
    assert len(plan.cells) == 2 * 2 * 3 * (1 + 2)
    assert len({cell.key for cell in plan.cells}) == len(plan.cells)
    assert {m.name for m in plan.missing} == set(paper.SETS) - {"xcsvm-iris", "news20"}
    assert all("multimargin data fetch" in m.remedy for m in plan.missing)
    only = Validation().plan(Options(folder, datasets=("xcsvm-iris", "rcv1"), time_limit=7))
    assert {cell.dataset for cell in only.cells} == {"xcsvm-iris"}
    assert [m.name for m in only.missing] == ["rcv1"]
    assert {cell.options["time_limit"] for cell in only.cells} == {7}
    assert len(only.cells) == 2 * 3 * (1 + 10)


def test_a_whole_run(folder: Path) -> None:
    experiment = Validation()
    options = Options(folder, runs=2)
    plan = experiment.plan(options)
    records = [Record(cell, experiment.measure(cell, options)) for cell in plan.cells]
    by_stop = {r.cell.stop: r.measured for r in records}
    assert by_stop["optimum"]["gap"] <= 1e-6 and by_stop["paper"]["violation"] <= 1e-3
    assert {r.cell.dataset: r.measured["n_test"] for r in records} == {
        "xcsvm-iris": 30,
        "news20": 3,
    }
    section = experiment.section(records, plan)
    # The paper's figures are shown in any case, what is ours alone where there is any.
    assert [len(table.rows) for table in section.tables] == [27, 6, 27, 6]
    for table in section.tables:
        assert {len(row.entries) for row in table.rows} == {len(table.columns)}
        filled = {row.section for row in table.rows if row.entries[-1].tone != "missing"}
        assert filled == {"iris", "news20"}
    assert any(note.startswith("news20: without") for note in section.notes)
    # Two of nine sets, of twelve figures each.
    assert "84 have nothing to be compared with" in section.introduction


def test_tables_show_means_ranges_deviations_and_early_ends(folder: Path) -> None:
    plan = Validation().plan(Options(folder, datasets=("xcsvm-iris",), runs=2))
    cells = [c for c in plan.cells if (c.formulation, c.log_c) == ("ww", 0)]
    errors = {("optimum", 0): 40 / 3, ("paper", 0): 40 / 3, ("paper", 1): 20.0}
    records = [
        Record(c, _measured(errors[c.stop, c.seed], converged=c.seed == 0, gap=2e-3 * c.seed))
        for c in cells
    ]
    tables = Validation().section(records, plan).tables
    rows = [
        next(r for r in t.rows if r.section == "iris" and r.entries[0].text == "0") for t in tables
    ]
    error, deviation, density, gap = ([e.text for e in row.entries] for row in rows)
    assert error[5:] == ["13.33", "13.33", "13.33", "16.67 [13.33, 20.00]!"]
    assert [e.tone for e in rows[0].entries[5:]] == ["equal", "equal", "ours", "ours"]
    assert [e.tone for e in rows[0].entries[1:5]] == ["paper", "paper", "missing", "missing"]
    assert deviation[5:] == ["+0.00", "+0.00", "+3.34", "+3.34"]
    assert density[6:] == ["100.00", "100.00", "100.00", "100.00!", "+0.00"]
    assert gap[4:] == ["0e+00", "2e-03!", "1e-04!"]


def test_the_planned_time_limit_counts_and_failed_runs_do_not(folder: Path) -> None:
    plan = Validation().plan(Options(folder, datasets=("xcsvm-iris",), runs=1))
    cell = next(c for c in plan.cells if (c.formulation, c.log_c) == ("ww", 0))
    other = dataclasses.replace(cell, options={"time_limit": 99})
    failed = dataclasses.replace(cell, log_c=1)
    records = [
        Record(cell, _measured(1.0)),
        Record(other, _measured(2.0)),
        Record(failed, {"error": "no memory"}),
    ]
    ours = collected(records, plan)
    assert set(ours) == {IRIS} and ours[IRIS].runs("optimum")[0]["test_error"] == 1.0
    assert collected(records, Plan(()))[IRIS].runs("optimum")[0]["test_error"] == 2.0


@pytest.mark.skipif(not (SHARED / "xcsvm-iris").is_dir(), reason="the authors' files are not here")
def test_iris_equals_the_paper_to_the_digit() -> None:
    experiment = Validation()
    options = Options(SHARED, datasets=("xcsvm-iris",), runs=1)
    plan = experiment.plan(options)
    records = [Record(cell, experiment.measure(cell, options)) for cell in plan.cells]
    assert "12 are equal to the digit" in experiment.section(records, plan).introduction
