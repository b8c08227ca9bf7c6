"""The matrix of the benchmarks: one small cell of each kind, ratios, red marks and files."""

from __future__ import annotations

import csv
from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.common import run
from benchmarks.common.data import load
from benchmarks.curves.files import why_no_figures
from benchmarks.matrix import cells, table, worker
from benchmarks.matrix.__main__ import main
from benchmarks.matrix.cells import LIBLINEAR, RULES, Cell, Selection
from benchmarks.matrix.result import Result
from benchmarks.matrix.runs import TIGHT, TOLERANCES, Conditions

GENERATED = "hierarchical:300:400:6:15"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[run.Job]:
    """Runs take place in this process; returns their jobs."""
    jobs: list[run.Job] = []

    def measure(job: run.Job) -> dict[str, Any]:
        assert job.worker == "benchmarks.matrix.worker"
        jobs.append(job)
        return worker.run(asdict(job))

    monkeypatch.setattr(run, "measure", measure)
    return jobs


@pytest.mark.parametrize("name", ["cs", "ovr", "ovr-squared", "ww"])
def test_a_cell_from_the_command_line(name, here, tmp_path, capsys):
    pytest.importorskip("liblinear")
    words = ["--sets", GENERATED, "--formulations", name, "--C", "0.5", "--repeats", "2"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    with (tmp_path / "matrix.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["intercept"] for row in rows] == ["False", "True"]
    for row in rows:
        ratio = float(row["rival_seconds"]) / float(row["seconds"])
        assert float(row["ratio"]) == pytest.approx(ratio)
        assert row["red"] == str(ratio < RULES[name].bar)
        assert (row["runs"], row["rival_runs"], row["problem"]) == ("2", "2", "")
        if RULES[name].against_peer:
            # Both solve the same problem: ours went as far as LIBLINEAR, and can go no further.
            ours, theirs = float(row["objective"]), float(row["rival_objective"])
            assert ours <= theirs * (1 + 1e-9)
            assert ours * (1 - float(row["gap"])) <= theirs <= 1.1 * ours
        else:
            assert float(row["gap"]) <= 0.01
    reds = sum(row["red"] == "True" for row in rows)
    assert f"{reds} red of 2 cells" in said and said.count("  red: ") == reds
    if why_no_figures() is None:
        assert b"<svg" in (tmp_path / "matrix.svg").read_bytes()
        assert (tmp_path / "matrix.png").is_file()


def test_ours_stops_at_the_first_certificate_that_is_low_enough(here):
    cell = Cell(GENERATED, "cs", 1.0, True)
    conditions = Conditions(None, repeats=1)

    def objective_and_certificates(stop_at: float) -> tuple[float, int]:
        job = conditions._job(cell, "multimargin", cell.task(TIGHT, stop_at=stop_at))
        found = run.measure(job)
        assert found["certified"] == pytest.approx(found["objective"], rel=1e-9)
        return found["objective"], found["certificates"]

    tight, all_certificates = objective_and_certificates(-1.0)
    loose, certificates = objective_and_certificates(1.2 * tight)
    assert tight < loose <= 1.2 * tight
    assert certificates < all_certificates


def _result(name: str, ours: Any, rival: Any) -> Result:
    """Of two lists of seconds, or problems."""
    cell = Cell("set", name, 1.0, False)
    both = []
    for given in (ours, rival):
        runs = run.Runs(run.Job("any", "set", None, cell.task()))
        if isinstance(given, str):
            runs.problem = given
        else:
            runs.results = [{"seconds": s, "cpu_seconds": s} for s in given]
        both.append(runs)
    return Result(cell, *both, limit_s=100.0)


STOPPED, ABSENT, FAILED = "stopped: over 130 s", "skipped: not installed", "failed: above"


@pytest.mark.parametrize(
    ("name", "ours", "rival", "text", "red"),
    [
        ("cs", [1.0, 9.0, 2.0], [5.0, 3.0, 4.0], "2.00", False),
        ("cs", [2.0], [1.9], "0.95", True),
        ("ww", [2.0], [1.9], "0.95", False),
        ("ww", [2.0], [1.0], "0.50", True),
        ("mmr", [2.0], [1.1], "0.55", False),
        ("cs", STOPPED, [10.0], "<0.10", True),
        ("ww", STOPPED, [90.0], "<0.90", True),
        ("ww", [10.0], STOPPED, ">10.00", False),
        ("cs", [], STOPPED, "-", False),  # no objective to reach
        ("ww", STOPPED, STOPPED, "-", True),
        ("cs", FAILED, [1.0], "-", True),
        ("cs", [], ABSENT, "-", False),
    ],
)
def test_ratios_and_red_marks(name, ours, rival, text, red):
    result = _result(name, ours, rival)
    assert table.ratio_text(result) == text
    assert result.red is red
    line = dict(zip(table.HEAD, table.lines([result])[1], strict=True))
    assert line[""] == ("red" if red else "skipped" if rival == ABSENT else "")
    assert table.as_csv([result]).decode().splitlines()[1].startswith(f"set,{name},1.0,False,")


def test_the_summary_names_red_cells_and_medians():
    results = [_result("cs", [1.0], [s]) for s in (0.5, 3.0, 4.0)]
    results += [
        _result("cs", FAILED, [1.0]),
        _result("cs", [], ABSENT),
        _result("ww", [1.0], [2.0]),
    ]
    assert table.summary(results) == [
        "cs: median 1.75 (bar 2), 2 red of 5 cells",
        "  red: cs set C=1: 0.50",
        "  red: cs set C=1: -",
        "ww: median 2.00, 0 red of 1 cells",
    ]


def test_the_cells_are_those_of_the_bars_unless_others_are_named():
    everything = list(Selection().cells())
    assert sum(cell.name == "cs" for cell in everything) == len(RULES["cs"].sets) * 3 * 2
    assert {cell.dataset for cell in everything if cell.name == "rm"} == {cells.LSHTC, "letter"}
    assert set(table.SECONDS) < set(everything)
    (one,) = Selection(["ww"], ["letter"], [10.0], [True]).cells()
    assert str(one) == "ww letter C=10, intercept"
    assert (one.task(0.01).formulation, one.rival_task().formulation) == ("ww", "cs")
    squared = Cell("letter", "ovr-squared", 1.0, False)
    assert squared.rule.rival == LIBLINEAR
    assert squared.task().options == squared.rival_task().options
    assert squared.task().loss() == "one-vs-rest-squared"


def test_a_formulation_that_is_not_there_is_skipped(monkeypatch):
    monkeypatch.setitem(RULES, "none", cells._new_loss("none", "no loss"))
    result = Conditions(None).run(Cell("letter", "none", 1.0, False))
    assert result.skipped and not result.red
    assert table.problems([result]) == ["skipped: there is no formulation none"]


def test_a_run_that_ends_too_early_is_red():
    cell = Cell("set", "ovr", 1.0, False)
    tols = []

    def measure(variants: dict[str, tuple[run.Job, int]]) -> dict[str, run.Runs]:
        found = {}
        for name, (job, count) in variants.items():
            result = {"seconds": 1.0, "cpu_seconds": 1.0, "objective": 10.0}
            if job.peer == "multimargin":
                tols.append(job.task.tol)
                result |= {"reached": False, "gap": 1e-10, "certified": 10.0}
            found[name] = run.Runs(job, [result] * count)
        return found

    result = Conditions(None, 3, measure=measure).run(cell)
    assert tols == list(TOLERANCES)
    assert result.red and result.ratio is None
    assert (
        result.problem
        == "failed: ovr set C=1: ended at a gap of 1e-10, an objective above LIBLINEAR's"
    )


def test_ours_gets_the_loosest_tolerance_that_reaches_the_objective():
    def measure(variants: dict[str, tuple[run.Job, int]]) -> dict[str, run.Runs]:
        found = {}
        for name, (job, count) in variants.items():
            result = {"seconds": 1.0, "cpu_seconds": 1.0, "objective": 10.0}
            if job.peer == "multimargin":
                reached = job.task.tol <= TOLERANCES[1]
                result |= {"reached": reached, "gap": 1e-4, "certified": 10.0}
            found[name] = run.Runs(job, [result] * count)
        return found

    result = Conditions(None, 2, measure=measure).run(Cell("set", "ovr", 1.0, False))
    assert result.tol == TOLERANCES[1] and not result.red
    assert [len(runs.results) for runs in (result.ours, result.rival)] == [2, 2]


def test_sets_without_test_samples_and_whole_numbers_that_count_no_words(tmp_path):
    """news20 gets rows of unit length; dna, with the same values, stays as it is."""
    for name in ("news20", "dna"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.libsvm").write_text("1 1:3 4:4\n2 2:1\n3 3:5\n")
    news, dna = (load(name, tmp_path) for name in ("news20", "dna"))
    assert news.X_test is None and dna.X_test is None
    assert news.X.data.tolist() == pytest.approx([0.6, 0.8, 1, 1])
    assert dna.X.data.tolist() == [3, 4, 1, 5]
