"""The LSHTC experiments: the paper's figures, the tables, and runs on a small set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import dump_svmlight
from multimargin.datasets import SetUnavailableError, make_hierarchical_text
from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import SetParts
from reproduction.experiments import _lshtc_tables
from reproduction.experiments._llw import Llw
from reproduction.experiments._lshtc import Lshtc
from reproduction.experiments._lshtc_tables import best_log_c
from reproduction.experiments._repeated import Repeated
from reproduction.experiments._stops import GAP, PAPER, parameters
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Section, Table
from reproduction.interface._experiment import Options, Plan
from reproduction.measuring._memory import available, needed
from reproduction.measuring._weighting import LastText, text_data, weighted
from reproduction.paper import llw, lshtc

STAND_IN = "lshtc1-dryrun-task2"

# Where the paper's tables have bold figures: log C of OVR, CS, WW, LLW.
BOLD = {
    "test_error": {
        "LSHTC-small": (1, 1, 1, -3),
        "LSHTC-large": (1, 0, 0, -3),
        "LSHTC-2012": (1, 0, 0, -3),
        "LSHTC-2011": (1, 0, 0, -3),
    },
    "macro_f1": {
        "LSHTC-small": (1, 1, 1, -3),
        "LSHTC-large": (1, 1, 0, -3),
        "LSHTC-2012": (1, 0, 0, -3),
        "LSHTC-2011": (1, 0, 0, -3),
    },
}
BOLD["density"], BOLD["micro_f1"] = BOLD["test_error"], BOLD["test_error"]


# ------------------------------------------------------------ the paper's figures


@pytest.mark.parametrize("name", lshtc.SETS)
@pytest.mark.parametrize("formulation", lshtc.FORMULATIONS)
@pytest.mark.parametrize("log_c", lshtc.LOG_C)
def test_error_and_micro_f1_add_up_but_where_the_paper_does_not(name, formulation, log_c):
    error, micro, density, macro = (
        lshtc.value(name, formulation, log_c, measure)
        for measure in ("test_error", "micro_f1", "density", "macro_f1")
    )
    assert (error is None) == (density is None)
    assert (micro is None) == (macro is None)
    agree = (error is None) == (micro is None)
    if error is not None and micro is not None:
        assert macro is not None and macro < micro
        agree = abs(error + micro - 100) <= 0.011  # both are rounded
        assert abs(error + micro - 100) <= 0.23
    assert agree == ((name, formulation, log_c) not in lshtc.INCONSISTENT)


@pytest.mark.parametrize("measure", BOLD)
@pytest.mark.parametrize("name", lshtc.SETS)
def test_the_best_are_those_that_the_paper_has_in_bold(measure, name):
    ranked_by = "test_error" if measure == "density" else measure
    best = tuple(
        best_log_c({c: lshtc.value(name, f, c, ranked_by) for c in lshtc.LOG_C}, ranked_by)
        for f in lshtc.FORMULATIONS
    )
    assert best == BOLD[measure][name]


def test_catalogue_and_paper_agree_on_the_sizes():
    for entry in CATALOG.values():
        if entry.paper in lshtc.SETS:
            size = lshtc.SETS[entry.paper]
            assert (entry.n_train, entry.n_test) == (size.n_train, size.n_test)
            assert (entry.n_classes, entry.n_features) == (size.n_classes, size.n_features)


@pytest.mark.parametrize("log_c", llw.LOG_C)
def test_f1_rows_of_the_large_c_table_are_swapped_where_it_says_so(log_c):
    error = llw.value(log_c, "test_error")
    printed = error + llw.value(log_c, "micro_f1")
    assert (abs(printed - 100) > 1) == (log_c in llw.SWAPPED)
    assert error + llw.meant(log_c, "micro_f1") == pytest.approx(100, abs=0.011)
    assert llw.meant(log_c, "macro_f1") < llw.meant(log_c, "micro_f1")


# ------------------------------------------------------------ tables


def measured(error: float, **others: Any) -> dict[str, Any]:
    return {
        "test_error": error,
        "micro_f1": 100 - error,
        "macro_f1": 50 - error / 2,
        "density": 2.0 + error / 100,
        "alpha_density": 99.0,
        "gap": 0.004,
        "converged": True,
        "seconds": 1.5,
        **others,
    }


def records_of(name: str, stop: str = PAPER) -> list[Record]:
    """Errors that fall with C; for WW the lowest is at log C = 0."""
    return [
        Record(
            Cell("lshtc", name, f, c, stop, 0, {"time_limit": 600.0}),
            measured(60.0 - 4 * c + at + (10 if f == "ww" and c == 1 else 0)),
        )
        for at, f in enumerate(lshtc.FORMULATIONS)
        for c in lshtc.LOG_C
    ]


def section_of(records: list[Record]) -> Section:
    return Lshtc().section(records, Plan(tuple(record.cell for record in records)))


def rows_of(table: Table, section: str, whose: str) -> dict[str, tuple[Any, ...]]:
    return {
        row.entries[0].text: row.entries[2:]
        for row in table.rows
        if row.section == section and row.entries[1].text == whose
    }


def test_tables_are_arranged_as_the_papers():
    section = section_of(records_of(STAND_IN) + records_of(STAND_IN, GAP))
    errors, scores, reached = section.tables
    for table, groups in (
        (errors, ("Error", "Model density")),
        (scores, ("Micro-F1", "Macro-F1")),
        (reached, ("Relative gap", "Seconds")),
    ):
        assert [c.title for c in table.columns] == ["log C", "whose"] + 2 * [
            "OVR", "CS", "WW", "LLW",
        ]  # fmt: skip
        assert [c.group for c in table.columns[2:]] == 4 * [groups[0]] + 4 * [groups[1]]
        assert all(len(row.entries) == len(table.columns) for row in table.rows)
    paper = rows_of(errors, f"{STAND_IN} (stand-in for LSHTC-small)", "paper, LSHTC-small")
    assert list(paper) == ["−3", "−2", "−1", "0", "1"]
    assert [e.text for e in paper["1"][:4]] == ["57.75", "54.57", "54.41", "93.00"]
    assert [e.bold for e in paper["1"]] == 2 * [True, True, True, False]
    assert {e.tone for row in paper.values() for e in row} == {"paper"}


def test_sets_without_runs_show_the_papers_figures_and_its_stars():
    errors = section_of(records_of(STAND_IN)).tables[0]
    # LSHTC-small's figures are beside its stand-in.
    assert dict.fromkeys(row.section for row in errors.rows) == dict.fromkeys(
        [f"{STAND_IN} (stand-in for LSHTC-small)", "LSHTC-large", "LSHTC-2012", "LSHTC-2011"]
    )
    star = rows_of(errors, "LSHTC-2011", "paper")["0"][3]
    assert (star.text, star.tone) == ("*", "paper")
    assert lshtc.NOT_CONVERGED in errors.caption
    assert not rows_of(errors, "LSHTC-2011", "ours, ε = 0.1")


def test_best_of_ours_is_bold():
    errors = section_of(records_of(STAND_IN)).tables[0]
    ours = rows_of(errors, f"{STAND_IN} (stand-in for LSHTC-small)", "ours, ε = 0.1")
    bold = {c: [e.bold for e in row] for c, row in ours.items()}
    assert bold["1"] == 2 * [True, True, False, True]
    assert bold["0"] == 2 * [False, False, True, False]
    assert not any(bold["−1"])


def test_only_the_papers_own_sets_have_deviations():
    records = records_of(STAND_IN) + records_of("lshtc-small") + records_of("dmoz-108")
    errors = section_of(records).tables[0]
    own = rows_of(errors, "LSHTC-small", "ours, ε = 0.1, less the paper's")["1"]
    assert [e.text for e in own[:4]] == ["-1.75", "+2.43", "+13.59", "-34.00"]
    assert {e.tone for e in own[:4]} == {"differs"}
    assert any("≈: within 0.5 points and a tenth" in note for note in errors.notes)
    for name, whose in ((STAND_IN, "for LSHTC-small"), ("dmoz-108", "of fewer classes than")):
        rows = [row for row in errors.rows if row.section.startswith(f"{name} (stand-in {whose}")]
        ours = [row for row in rows if row.entries[1].text.startswith("ours")]
        assert len(ours) == len(lshtc.LOG_C)
        assert {e.tone for row in ours for e in row.entries[2:]} == {"ours"}
    assert not any(
        row.entries[1].tone == "paper" for row in errors.rows if row.section.startswith("dmoz")
    )


@pytest.mark.parametrize(
    ("difference", "stated", "tone"),
    [(0.0, 50.0, "equal"), (-0.5, 50.0, "near"), (0.51, 50.0, "differs"), (0.4, 1.11, "differs")],
)
def test_near_is_near_for_small_figures_too(difference, stated, tone):
    # Half a point is nothing of an error of 50 %, and much of a density of 1 %.
    assert _lshtc_tables._tone(difference, stated) == tone


def test_figures_have_the_papers_lines_and_ours():
    figure = section_of(records_of(STAND_IN)).figures[1]
    first, second = figure.plots[:2]
    assert [(line.series, line.source) for line in first.lines[:2]] == [
        ("ovr", "ours"),
        ("ovr", "paper"),
    ]
    assert first.lines[0].y == (72.0, 68.0, 64.0, 60.0, 56.0)
    assert first.lines[1].y == (93.00, 85.36, 74.54, 64.37, 57.75)
    assert {line.source for line in second.lines} == {"paper"}
    assert second.lines[-1].x == (-3, -2, -1, 0)  # '*' is no point


# ------------------------------------------------------------ repeated runs


def record(seed: int, limit: float = 600.0, **values: Any) -> Record:
    cell = Cell("lshtc", STAND_IN, "ww", 0, PAPER, seed, {"time_limit": limit})
    return Record(cell, values if "error" in values else measured(values.pop("test"), **values))


def test_repeated_runs_have_a_mean_and_a_spread():
    both = Repeated([record(0, test=50.0), record(1, test=51.0)])
    assert both.entry("test_error").text == "50.50 ±0.50"
    assert both.entry("density").text == "2.50"  # ± 0.005
    assert both.entry("test_error").note == ""


def test_what_was_not_reached_is_marked_with_its_gap():
    late = record(0, test=50.0, converged=False, gap=0.25, seconds=600.0)
    entry = Repeated([late]).entry("test_error")
    assert entry.text == "50.00†"
    assert entry.note == "not reached after 600 s: relative gap 25%"
    again = record(0, 1200.0, test=49.0)
    assert Repeated([again, late]).entry("test_error").text == "49.00"
    assert len(Repeated([again, late])) == 1


def test_failed_and_missing_runs_are_no_figures():
    failed = Repeated([record(0, error="MemoryError")]).entry("test_error")
    assert (failed.text, failed.tone, failed.note) == ("failed", "missing", "MemoryError")
    assert Repeated([]).entry("test_error").note == "not run"


# ------------------------------------------------------------ plans


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A data folder with a set of counts in place of LSHTC-small."""
    root = tmp_path_factory.mktemp("data")
    (root / "lshtc-small").mkdir()
    X, y = make_hierarchical_text(120, 400, 10, random_state=0)
    X = sp.csr_matrix((np.ceil(3 * X.data), X.indices, X.indptr), shape=X.shape)
    dump_svmlight(root / "lshtc-small" / "train.libsvm", X[:80], y[:80] + 1)
    dump_svmlight(root / "lshtc-small" / "test.libsvm", X[80:], y[80:] + 1)
    return root


def test_plan_names_what_is_missing_and_runs_the_rest(folder):
    plan = Lshtc().plan(Options(folder, datasets=("lshtc-small", "lshtc-2011", STAND_IN)))
    assert {cell.dataset for cell in plan.cells} == {"lshtc-small"}
    assert len(plan.cells) == 20 * (3 + 1)
    assert [cell.seed for cell in plan.cells] == 40 * [0] + 20 * [1] + 20 * [2]
    assert [missing.name for missing in plan.missing] == [STAND_IN, "lshtc-2011"]
    assert "lshtc.iit.demokritos.gr" in plan.missing[1].remedy


def test_options_change_the_plan(folder):
    options = Options(folder, datasets=("lshtc-small",), runs=2, time_limit=5.0)
    for experiment, count in ((Lshtc(), 20), (Llw(), 3)):
        cells = experiment.plan(options).cells
        assert len(cells) == len({cell.key for cell in cells}) == 2 * 2 * count
        assert {cell.options["time_limit"] for cell in cells} == {5.0}


def test_what_does_not_fit_in_memory_is_not_run(folder, monkeypatch):
    def planned(gigabytes):
        available = "reproduction.measuring._memory.available"
        monkeypatch.setattr(available, lambda: gigabytes * 1_000_000_000)
        plan = Lshtc().plan(Options(folder, datasets=("wordnet-hypernym",)))
        return plan, {(cell.formulation, cell.log_c) for cell in plan.cells}

    _, here = planned(12)
    assert ("ovr", -3) in here and ("ww", -2) in here and ("ww", -3) not in here
    assert ("llw", 0) not in here
    plan, here = planned(20)
    assert ("llw", 0) in here and ("llw", 1) not in here
    why = {missing.name: missing.why for missing in plan.missing}
    assert why["wordnet-hypernym, llw, log C = 1"] == (
        "would take about 60.1 GB of memory, and 16 GB can be used here"
    )
    # It is large: one run of each, with a shorter limit.
    assert max(cell.seed for cell in plan.cells) == 0
    assert {cell.options["time_limit"] for cell in plan.cells} == {300.0}


def test_memory_grows_with_what_is_dense():
    small, large = CATALOG["lshtc-small"], CATALOG["lshtc-2011"]
    assert 0 < needed("ovr", 1.0, small) < available()
    assert needed("ovr", 1.0, large) > 4 * 66e9  # the paper's W
    assert needed("ww", 1.0, large) < 6e9


# ------------------------------------------------------------ runs


@pytest.mark.parametrize("stop", [PAPER, GAP])
def test_runs_on_counts(folder, stop):
    experiment = Lshtc()
    options = Options(folder, datasets=("lshtc-small",), runs=1, time_limit=20.0)
    plan = experiment.plan(options)
    cells = [cell for cell in plan.cells if cell.stop == stop and cell.log_c in (-2, 1)]
    records = [Record(cell, experiment.measure(cell, options)) for cell in cells]
    for one in records:
        assert one.measured["converged"]
        assert one.measured["micro_f1"] == pytest.approx(100 - one.measured["test_error"])
        tolerated = parameters(one.cell, options)["tol"]
        assert one.measured["violation" if stop == PAPER else "gap"] <= tolerated
    errors = experiment.section(records, plan).tables[0]
    ours = rows_of(errors, "LSHTC-small", "ours, ε = 0.1" if stop == PAPER else "ours, gap")
    assert ours["0"][0].text == "–"
    assert float(ours["1"][2].text) < 60  # 90 by chance


def test_large_c_counts_dual_variables(folder):
    experiment = Llw()
    options = Options(folder, runs=1, time_limit=20.0)
    plan = experiment.plan(options)
    records = [Record(cell, experiment.measure(cell, options)) for cell in plan.cells]
    table = experiment.section(records, plan).tables[0]
    assert table.title == "LLW on LSHTC-small"
    assert [c.group for c in table.columns[1:]] == (
        3 * ["paper"] + 3 * ["ours, ε = 0.1"] + 3 * ["ours, gap"]
    )
    rows = {row.entries[0].text: row.entries[1:] for row in table.rows}
    assert [e.text for e in rows["Error"][:3]] == ["87.73", "66.74", "59.31"]
    assert rows["Micro-F1"][0].note == "as printed; 12.27 seems to be meant"
    # One of ten is a sample's own class, which has no variable.
    assert all(0 < float(e.text) <= 90.0 for e in rows["α density"][3:])
    assert all(float(e.text) <= 1.0 for e in rows["Relative gap"][6:])


def test_small_c_asks_crammer_singer_for_a_smaller_gap():
    options = Options(Path())
    cells = [
        Cell("lshtc", STAND_IN, formulation, c, GAP, 0, {"time_limit": 1.0})
        for formulation in ("cs", "ww")
        for c in (-3, 0, 1)
    ]
    tolerances = [parameters(cell, options)["tol"] for cell in cells]
    assert tolerances == pytest.approx([1e-5, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2])


# ------------------------------------------------------------ weighting


def test_counts_become_unit_rows_with_the_frequencies_of_training(folder):
    data = text_data("lshtc-small", folder)
    for X in (data.X, data.X_test):
        assert X.dtype == np.float32
        np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1, atol=1e-6)
    train = sp.csr_matrix(np.array([[2.0, 1.0], [1.0, 0.0]]))
    test = sp.csr_matrix(np.array([[1.0, 1.0]]))
    _, _, X_test, _ = weighted(SetParts(train, np.arange(2), test, np.arange(1)))
    # ln(3/3) + 1 and ln(3/2) + 1: the second occurs in one of two.
    assert X_test[0, 1] / X_test[0, 0] == pytest.approx(np.log(1.5) + 1)


def test_other_values_stay_as_they_are():
    X = sp.csr_matrix(np.array([[0.5, 2.0], [1.0, 0.0]]))
    rows = weighted(SetParts(X, np.arange(2), X, np.arange(2)))[0]
    np.testing.assert_array_equal(rows.toarray(), X.toarray())


def test_test_files_without_labels_are_refused(folder, tmp_path):
    unlabelled = tmp_path / "lshtc-small"
    unlabelled.mkdir()
    (unlabelled / "train.libsvm").write_bytes((folder / "lshtc-small/train.libsvm").read_bytes())
    with pytest.raises(ValueError, match="no test file"):
        text_data("lshtc-small", tmp_path)
    (unlabelled / "test.libsvm").write_text("0 1:1\n0 2:3\n")
    with pytest.raises(SetUnavailableError, match="label 0 throughout"):
        text_data("lshtc-small", tmp_path)


def test_the_last_set_is_loaded_once(folder):
    texts = LastText()
    assert texts.of("lshtc-small", folder) is texts.of("lshtc-small", folder)
