"""The experiments that measure time: plans, what is made of runs, and their processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reproduction.experiments._speedup import Speedup
from reproduction.experiments._timing import Timing
from reproduction.interface._cell import Record
from reproduction.interface._experiment import Options
from reproduction.measuring import _resources
from reproduction.paper import speedup as paper_speedup
from reproduction.paper import timing as paper_timing

MEDIUM, PAPERS_SIZE = "generator-medium", "generator-lshtc-large"
LARGE = {MEDIUM, PAPERS_SIZE}


@pytest.fixture
def machine(monkeypatch):
    """Pretend a machine: its cores, and why it has no MPI."""

    def pretend(cores, why=None):
        monkeypatch.setattr(_resources, "thread_count", lambda _: cores)
        monkeypatch.setattr(_resources, "why_not", lambda: why)

    return pretend


def options(tmp_path, **given):
    return Options(data=tmp_path, threads=given.pop("threads", 64), **given)


def arrangements(plan, formulation, dataset=None, pooled=True):
    """Ranks and threads in the order of the plan."""
    return [
        (cell.options["ranks"], cell.options["threads"])
        for cell in plan.cells
        if cell.formulation == formulation and dataset in (None, cell.dataset)
        if cell.options.get("pooled", pooled) == pooled
    ]


# ---------------------------------------------------------------- the paper's figures


def test_the_papers_speedups():
    assert paper_speedup.SPEEDUP["ww"][1] == {1: 1.0, 2: 1.04, 4: 1.73, 8: 2.92, 16: 4.81}
    assert paper_speedup.SPEEDUP["llw"][4][32] == 18.10
    for curves in paper_speedup.SPEEDUP.values():
        for ranks, curve in curves.items():
            assert set(curve) <= set(paper_speedup.CORES) and min(curve) == ranks
            assert list(curve.values()) == sorted(curve.values())
            assert all(speedup <= 1.01 * cores for cores, speedup in curve.items())
    assert paper_speedup.curve("ww", 1) == "WW-MC"
    assert paper_speedup.curve("llw", 4) == "LLW-MPI-4"


def test_the_papers_times():
    for methods in paper_timing.SECONDS.values():
        assert tuple(methods) == paper_timing.METHODS
        assert {len(seconds) for seconds in methods.values()} == {len(paper_timing.LOG_C)}
    large, year_2011 = paper_timing.SECONDS.values()
    assert large["WW-MC"][2] == 1078.32 and year_2011["WW-MC"][2] == 11361.44
    # WW on ranks is slower than OVR only at the largest C of LSHTC-2011.
    slower = [
        (name, log_c)
        for name in ("WW-MPI-2", "WW-MPI-4")
        for log_c, ww, ovr in zip(
            paper_timing.LOG_C, year_2011[name], year_2011["OVR"], strict=True
        )
        if ww > ovr
    ]
    assert slower == [("WW-MPI-2", 1), ("WW-MPI-4", 1)]


# ---------------------------------------------------------------- plans


def test_speedup_on_one_core(tmp_path, machine):
    machine(1)
    plan = Speedup().plan(options(tmp_path, runs=1))
    assert arrangements(plan, "ww") == arrangements(plan, "llw") == [(1, 1)]
    assert {"LLW-MPI-2 and WW-MPI-2", "lshtc-large"} <= {missing.name for missing in plan.missing}


def test_speedup_on_sixteen_cores(tmp_path, machine):
    machine(16)
    plan = Speedup().plan(options(tmp_path, runs=1))
    one = [(1, 1), (1, 2), (1, 4), (1, 8), (1, 16)]
    more = [(2, 1), (2, 2), (2, 4), (2, 8), (4, 1), (4, 2), (4, 4)]
    sets = {"llw": ("generator-small", MEDIUM), "ww": ("wordnet-hypernym", PAPERS_SIZE)}
    assert {cell.dataset for cell in plan.cells} == {
        name for both in sets.values() for name in both
    }
    for formulation, both in sets.items():
        for name in both:
            for pooled in (True, False):
                assert arrangements(plan, formulation, name, pooled) == [*one, *more]
    # The quick ones first, and more than once where nobody says how often.
    assert [cell.dataset in LARGE for cell in plan.cells] == [False] * 38 + [True] * 38
    seeds = {(c.dataset in LARGE, c.seed) for c in Speedup().plan(options(tmp_path)).cells}
    assert seeds == {(False, 0), (False, 1), (False, 2), (True, 0)}
    assert all("MPI" not in missing.name for missing in plan.missing)


def test_speedup_keeps_to_the_cores_that_were_asked_for(tmp_path, machine):
    machine(16)
    plan = Speedup().plan(options(tmp_path, runs=1, threads=3))
    assert arrangements(plan, "ww") == [(1, 1), (1, 2), (2, 1)]


def test_large_sets_are_for_many_cores_or_by_name(tmp_path, machine):
    machine(7)
    plan = Speedup().plan(options(tmp_path, runs=1))
    assert not LARGE & {cell.dataset for cell in plan.cells}
    remedies = {missing.name: missing.remedy for missing in plan.missing}
    for name in LARGE:
        assert remedies[name].startswith(f"--datasets {name}")
        named = Speedup().plan(options(tmp_path, runs=1, datasets=(name,)))
        assert {cell.dataset for cell in named.cells} == {name}
        assert not LARGE & {missing.name for missing in named.missing}


def test_large_sets_that_do_not_fit_are_left_out(tmp_path, machine, monkeypatch):
    machine(8)
    monkeypatch.setattr("reproduction.measuring._memory.available", lambda: 5 * 10**9 // 2)
    plan = Speedup().plan(options(tmp_path, runs=1))
    assert {cell.dataset for cell in plan.cells} & LARGE == {PAPERS_SIZE}
    assert f"{MEDIUM}, llw, log C = 0" in {missing.name for missing in plan.missing}


def test_speedup_without_mpi(tmp_path, machine):
    machine(2, why="mpi4py is not installed")
    plan = Speedup().plan(options(tmp_path, runs=1))
    assert arrangements(plan, "llw") == [(1, 1), (1, 2)]
    (mpi_2,) = (m for m in plan.missing if m.name == "LLW-MPI-2 and WW-MPI-2")
    assert "mpi4py is not installed" in mpi_2.why and "pip install" in mpi_2.remedy


def test_repetitions_go_to_and_fro(tmp_path, machine):
    machine(2)
    plan = Speedup().plan(options(tmp_path, runs=2))
    there, back = plan.cells[: len(plan.cells) // 2], plan.cells[len(plan.cells) // 2 :]
    assert [replace(cell, seed=0) for cell in reversed(back)] == list(there)
    assert {cell.seed for cell in back} == {1}
    assert len(Speedup().plan(options(tmp_path)).cells) == 3 * len(there)


def test_the_papers_own_set_is_preferred(tmp_path, machine, monkeypatch):
    machine(2)
    (tmp_path / "lshtc-large").mkdir()
    (tmp_path / "lshtc-large" / "train.txt").touch()
    for memory, large in ((10**12, {"lshtc-large"}), (10**9, set())):
        monkeypatch.setattr(
            "reproduction.measuring._memory.available", lambda memory=memory: memory
        )
        plan = Speedup().plan(options(tmp_path, runs=1))
        found = {c.dataset for c in plan.cells if c.formulation == "llw"}
        assert found == {"generator-small"} | large
    assert "lshtc-large, llw, log C = 0" in {missing.name for missing in plan.missing}


def test_timing_has_the_same_cores_in_all(tmp_path, machine):
    machine(7)
    plan = Timing().plan(options(tmp_path))
    assert {c.options["ranks"] * c.options["threads"] for c in plan.cells} == {4}
    assert set(arrangements(plan, "ww")) == {(1, 4), (2, 2), (4, 1)}
    assert set(arrangements(plan, "ovr")) == {(1, 4)}
    assert {c.options["time_limit"] for c in plan.cells} == {600.0}
    assert "lshtc-2011" in {missing.name for missing in plan.missing}
    machine(7, why="no mpiexec")
    assert set(arrangements(Timing().plan(options(tmp_path)), "ww")) == {(1, 7)}


def test_timing_leaves_out_what_has_no_memory(tmp_path, machine, monkeypatch):
    machine(2)
    monkeypatch.setattr("reproduction.measuring._memory.available", lambda: 3 * 10**9)
    plan = Timing().plan(options(tmp_path))
    assert not arrangements(plan, "ovr") and arrangements(plan, "cs")
    assert any(m.name.startswith("wordnet-hypernym, ovr") for m in plan.missing)


# ---------------------------------------------------------------- what is shown


def records(plan, seconds, **more):
    """Runs that took so long by (ranks, threads), 1% longer for each further seed."""
    return [
        Record(
            cell,
            {
                "seconds": seconds[cell.options["ranks"], cell.options["threads"]]
                * (1 + cell.seed / 100),
                "peak_mb": 100.0,
                "model": f"{cell.formulation} {cell.seed}",
                "passes": 10,
                "gap": 0.1,
                "converged": True,
                **more,
            },
        )
        for cell in plan.cells
    ]


def test_speedups_are_relative_to_one_thread(tmp_path, machine):
    machine(2)
    plan = Speedup().plan(options(tmp_path))
    section = Speedup().section(records(plan, {(1, 1): 6.0, (1, 2): 4.0, (2, 1): 3.0}), plan)
    llw, ww = section.figures[0].plots
    assert llw.title == "LLW on generator-small (stand-in for LSHTC-large)"
    ours = {line.label: line for line in ww.lines if line.source == "ours"}
    assert ours["WW-MC"].x == (1, 2) and ours["WW-MC"].y == pytest.approx((1, 1.5))
    assert ours["WW-MPI-2"].x == (2,) and ours["WW-MPI-2"].y == pytest.approx((2,))
    assert ours["WW-MC"].low == pytest.approx((1, 1.5)) == ours["WW-MC"].high
    theirs = {line.label: line for line in ww.lines if line.source == "paper"}
    assert theirs["WW-MPI-4"].x == (4, 8, 16, 32)
    assert all(len(row.entries) == len(t.columns) for t in section.tables for row in t.rows)
    by_curve = {(row.section, row.entries[0].text): row for row in section.tables[1].rows}
    texts = [entry.text for entry in by_curve["WW-MPI-2", "2"].entries]
    assert texts == ["2", "2 × 1", "1.83", "2.00", "2.00–2.00", "3.03", "100"]
    assert by_curve["WW-MC", "16"].entries[3].tone == "missing"


def test_every_data_set_has_a_table_and_a_plot(tmp_path, machine):
    machine(8)
    plan = Speedup().plan(options(tmp_path, runs=1))
    cores = {(c.options["ranks"], c.options["threads"]): 1.0 for c in plan.cells}
    section = Speedup().section(records(plan, cores), plan)
    titles = [plot.title for plot in section.figures[0].plots]
    names = ("LLW on generator-small", f"LLW on {MEDIUM}", "WW on wordnet-hypernym")
    stand_ins = [f"{name} (stand-in for LSHTC-large)" for name in (*names, f"WW on {PAPERS_SIZE}")]
    assert titles == stand_ins
    assert [t.title for t in section.tables[:4]] == [f"Speedup: {title}" for title in titles]
    assert any("about 87.7 GB" in note and MEDIUM in note for note in section.notes)


def test_bits_are_compared(tmp_path, machine):
    machine(2)
    plan = Speedup().plan(options(tmp_path))
    good = records(plan, {(1, 1): 6.0, (1, 2): 4.0, (2, 1): 3.0})
    table = Speedup().section(good, plan).tables[-1]
    # WW on ranks apart has one arrangement on two cores: nothing to compare it with.
    assert [[e.text for e in row.entries] for row in table.rows] == [
        ["LLW-MC, LLW-MPI-2, LLW-MPI-2 apart", "generator-small", "12", "yes"],
        ["WW-MC, WW-MPI-2", "wordnet-hypernym", "9", "yes"],
    ]
    place = next(i for i, r in enumerate(good) if r.cell.options["threads"] == 2)
    bad = list(good)
    bad[place] = replace(good[place], measured={**good[place].measured, "model": "other"})
    verdicts = [row.entries[-1] for row in Speedup().section(bad, plan).tables[-1].rows]
    assert sorted(entry.text for entry in verdicts) == ["no", "yes"]


def test_a_section_without_all_runs(tmp_path, machine):
    machine(2)
    plan = Speedup().plan(options(tmp_path, runs=1))
    assert len(Speedup().section([], plan).figures[0].plots) == 2
    made = records(plan, {(1, 1): 6.0, (1, 2): 4.0, (2, 1): 3.0})
    made = [
        replace(r, measured={"error": "x"}) if r.cell.options["threads"] == 1 else r for r in made
    ]
    section = Speedup().section(made, plan)
    # Without one thread to compare with there is a time, and no speedup.
    entries = next(row.entries for row in section.tables[0].rows if row.entries[0].text == "2")
    assert entries[3].tone == "missing" and entries[5].text == "4.00"


def test_what_did_not_end_is_not_drawn(tmp_path, machine):
    machine(2)
    plan = Timing().plan(options(tmp_path))
    made = records(plan, {(1, 2): 50.0, (2, 1): 80.0})
    made = [
        replace(r, measured={**r.measured, "converged": False})
        if r.cell.formulation == "ovr"
        else r
        for r in made
    ]
    section = Timing().section(made, plan)
    theirs, ours = section.figures[0].plots
    assert {line.label for line in theirs.lines} == set(paper_timing.METHODS)
    assert {line.label: line.y[0] for line in ours.lines} == {
        "CS": 50.0,
        "WW-MC": 50.0,
        "WW-MPI-2": 80.0,
    }
    (table,) = section.tables
    found = {
        (row.section, row.entries[0].text): [e.text for e in row.entries] for row in table.rows
    }
    assert found["OVR", "0"][1:4] == ["3,098", "> 50", "–"]
    assert found["WW-MC", "0"][1:4] == ["1,078", "50.0", "–"]  # another set: no ratio
    assert found["WW-MPI-4", "0"][2] == "–"
    assert any("times that cannot be compared" in note for note in table.notes)
    # Nothing is invented for the set that is not there.
    assert [len(figure.plots) for figure in section.figures] == [2, 1]


def test_times_on_the_papers_own_set_have_a_ratio(tmp_path, machine, monkeypatch):
    machine(1)
    put = tmp_path / "lshtc-large"
    put.mkdir()
    (put / "train.txt").write_text("1 1:1\n")
    monkeypatch.setattr("reproduction.measuring._memory.available", lambda: 10**12)
    plan = Timing().plan(replace(options(tmp_path), runs=2))
    made = records(plan, {(1, 1): 400.0})
    made = [
        replace(r, measured={**r.measured, "converged": False}) if r.cell.seed else r for r in made
    ]
    table = Timing().section(made, plan).tables[0]
    row = next(r for r in table.rows if (r.section, r.entries[0].text) == ("WW-MC", "0"))
    assert [e.text for e in row.entries[1:4]] == ["1,078", "400", "2.7"]
    assert row.entries[2].note == "1 more did not reach the tolerance"


def test_times_of_another_machine_are_made_again(tmp_path, machine, monkeypatch):
    machine(2)
    for experiment, module in ((Speedup(), "_speedup"), (Timing(), "_timing")):
        here = {cell.key for cell in experiment.plan(options(tmp_path)).cells}
        with monkeypatch.context() as other:
            other.setattr(f"reproduction.experiments.{module}.machine_id", lambda: "another")
            there = {cell.key for cell in experiment.plan(options(tmp_path)).cells}
        assert here and len(here) == len(there) and not here & there
