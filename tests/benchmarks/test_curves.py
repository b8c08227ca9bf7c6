"""The curves of the benchmarks: fits, bounds, ladders, tables and files, without training."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.common.data import by_sizes, load
from benchmarks.common.evaluate import suboptimality
from benchmarks.common.run import Job, RunFailedError, TimeLimitError, UnavailableError
from benchmarks.curves import __main__ as command
from benchmarks.curves import growth, power_law, runs
from benchmarks.curves.contenders import PROBLEMS, Contender, for_gap, for_growth, ours
from benchmarks.curves.files import Files
from benchmarks.curves.gap import GapCurve, goes_on, seconds_to
from benchmarks.curves.growth import QUICK, Growth, reached
from benchmarks.curves.runs import Course
from reproduction.report._text_table import table_text

_ABOUT = {"processor": "a processor", "cores": "2", "commit": "abc"}


# Power laws


@given(
    st.floats(-3, 3),
    st.floats(1e-3, 1e3),
    st.lists(st.integers(1, 10**6), min_size=3, max_size=8, unique=True),
)
@settings(max_examples=50, deadline=None)
def test_exact_power_laws_are_found(exponent: float, factor: float, x: list[int]) -> None:
    law = power_law.fit(x, [factor * value**exponent for value in x])
    assert law is not None and law.error is not None
    spread = np.std(np.log(x))
    assert law.exponent == pytest.approx(exponent, abs=1e-9 / min(1, spread))
    assert law.error < 1e-6 / min(1, spread)


def test_the_standard_error_is_that_of_the_scatter() -> None:
    """Over many draws the exponents scatter as much as the standard error says."""
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8, 16, 32])
    laws = [power_law.fit(x, 3 * x**1.5 * np.exp(0.1 * rng.standard_normal(6))) for _ in range(500)]
    exponents = [law.exponent for law in laws if law is not None]
    errors = [law.error for law in laws if law is not None and law.error is not None]
    assert np.mean(exponents) == pytest.approx(1.5, abs=0.01)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(exponents), rel=0.1)
    assert str(power_law.PowerLaw(1.5, 3.0, 0.04)) == "1.50 ± 0.04"


def test_too_few_points_for_a_power_law() -> None:
    two = power_law.fit([1, 2], [3, 6])
    assert two is not None and two.exponent == pytest.approx(1) and two.error is None
    assert power_law.fit([2, 2], [3, 6]) is None
    assert power_law.fit([], []) is None
    with pytest.raises(ValueError, match="greater than 0"):
        power_law.fit([1, 2], [0, 1])


# Distance from the optimum


def test_suboptimality_is_never_negative() -> None:
    assert suboptimality(110.0, 100.0) == pytest.approx(0.1)
    assert suboptimality(100.0 * (1 - 5e-7), 100.0) == 0.0
    with pytest.raises(ValueError, match="lower bound of the optimum"):
        suboptimality(99.9, 100.0)


def test_seconds_to_levels() -> None:
    curve = [(1.0, 0.05), (2.0, 0.008), (3.0, 0.009), (9.0, 1e-5)]
    assert seconds_to(curve, (0.1, 0.01, 1e-3, 1e-6)) == [1.0, 2.0, 9.0, None]


# Ladders, with a measuring that takes no time


class Fake:
    """In place of `measure`: an objective and seconds for each tolerance."""

    def __init__(self, seconds: float = 1e-3, failing: dict[str, Exception] | None = None) -> None:
        self.jobs: list[Job] = []
        self.seconds, self.failing = seconds, failing or {}

    def __call__(self, job: Job) -> dict[str, Any]:
        self.jobs.append(job)
        if job.peer in self.failing:
            raise self.failing[job.peer]
        tol = job.task.tol if job.task.tol is not None else 1 / job.task.options["epochs"]
        sizes = [4000, 20000, 1000, 40]
        if job.dataset.startswith("hierarchical:"):
            sizes = [int(size) for size in job.dataset.split(":")[1:]]
        n, d, k, words = sizes
        scale = {"multimargin": 1e-6, "liblinear": 4e-6}.get(job.peer, 1e-5)
        return {
            # Grows as samples * classes ** 0.5 * words and falls as tolerances grow.
            "seconds": self.seconds * scale * n * k**0.5 * words / tol**0.5,
            "primal": 100 * (1 + tol / 20),
            "dual": 100 * (1 - tol / 100) if job.peer != "sgd" else None,
            "shape": [n, d, k],
            "nonzeros": n * words,
            "version": "1",
        }


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    measuring = Fake()
    monkeypatch.setattr(runs, "measure", measuring)
    return measuring


def _course() -> Course:
    return Course(None, lambda course: None)


def _liblinear(problem: str) -> Contender:
    return next(c for c in for_growth(0.01) if c.peer == "liblinear" and c.problem == problem)


def test_the_loosest_tolerance_within_the_target_counts(fake: Fake) -> None:
    """Of 1, 0.3, 0.1, ...: 5 % and 1.5 % above the optimum are too far, 0.5 % is not."""
    course = _course()
    dataset = by_sizes(500, 1000, 100, 40)
    growth._measure_set(course, dataset, repeats=2)
    point = reached(course, _liblinear("cs"), dataset)
    assert point is not None
    assert point.contender.rung(point.rung) == "tol 0.1"
    assert len(point.runs) == 2  # the attempts before it are not repeated
    tried = [job.task.tol for job in fake.jobs if job.peer == "liblinear"]
    assert tried.count(1.0) == 2 and tried.count(0.3) == 2 and tried.count(0.1) == 4
    assert 0.03 not in tried


def test_a_gap_of_the_target_is_within_it(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """(101 - 99.995) / 101 is a gap of 0.995 %, and 1.005 % above the bound."""
    course, contender = _course(), ours("ww", (0.01,))
    result = fake(Job("multimargin", by_sizes(500, 1000, 100, 40), None, contender.ladder[0]))
    result |= {"primal": 101.0, "dual": 99.995}
    monkeypatch.setattr(runs, "measure", lambda job: dict(result))
    course.run(contender, "any", 0, 0)
    assert reached(course, contender, "any") is not None


def test_nothing_counts_before_the_target_is_reached(fake: Fake) -> None:
    course = _course()
    contender = _liblinear("ovr")
    assert reached(course, contender, "any") is None
    course.run(ours("ovr", (0.01,)), "any", 0, 0)
    course.run(contender, "any", 0, 0)
    assert reached(course, contender, "any") is None


def test_growth_finds_the_exponents_and_names_the_fixed_sizes(fake: Fake) -> None:
    course = _course()
    growth = Growth(quick=True, repeats=1)
    growth.measure(course)
    laws = {(row["axis"], row["contender"]): row["exponent"] for row in growth.rows(course)}
    for contender in ("multimargin", "LIBLINEAR -s 4", "LIBLINEAR -s 3"):
        assert laws["classes", contender] == pytest.approx(0.5)
        assert laws["samples", contender] == pytest.approx(1)
        assert laws["non-zeros", contender] == pytest.approx(1)
    text = "\n".join(map(table_text, growth.tables(course)))
    assert "multimargin ww   0.50 ± 0.00  1.00 ± 0.00  1.00 ± 0.00" in text
    assert "(tol 0.1)" in text
    (figure,) = growth.figures(course)
    assert "200 classes, 40 words each" in figure.caption and "10,000 features" in figure.caption
    assert [len(plot.lines) for plot in figure.plots] == [5, 5, 5]


def test_sizes_of_growth_can_be_generated_and_share_a_middle() -> None:
    for sizes in (QUICK, growth.FULL):
        middles = {
            sizes.dataset(axis, size)
            for axis, size in (
                ("samples", sizes.samples),
                ("classes", sizes.classes),
                ("non-zeros", sizes.words),
            )
        }
        assert len(middles) == 1
        assert min(sizes.axes["samples"]) >= sizes.classes
        assert max(sizes.axes["classes"]) <= sizes.samples
        assert max(sizes.axes["non-zeros"]) <= sizes.features / 4


def test_ladders_end_after_a_long_run_and_long_runs_are_not_repeated(fake: Fake) -> None:
    course = _course()
    fake.seconds = 0.1  # on hierarchical-1000: ours take 1 s at 0.3, LIBLINEAR more
    GapCurve(quick=True, repeats=2).measure(course)
    for contender in for_gap("cs", quick=True, coarse=True):
        points = [p for p in course.points() if p.contender.key == contender.key]
        assert points
        assert all(p.seconds <= 10 for p in points[:-1])
        for point in points:
            assert len(point.runs) == (2 if point.seconds <= 4 else 1)
    assert goes_on([1.0, 2.0], 2.0) and goes_on([], 1.0)
    assert not goes_on([1.0, 3.0], 2.0) and not goes_on([float("inf")], 2.0)


def test_contenders_alternate(fake: Fake) -> None:
    GapCurve(quick=True, repeats=2).measure(_course())
    cs = [(job.peer, job.task.tol) for job in fake.jobs if job.task.formulation == "cs"]
    assert cs[:4] == [
        ("multimargin", 0.1),
        ("liblinear", 1),
        ("multimargin", 0.01),
        ("liblinear", 0.1),
    ]
    again = cs.index(("multimargin", 0.1), 1)
    assert cs[again - 1] == ("liblinear", 1)  # the second time the last one begins


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_ladder_goes_from_loose_to_tight(problem: str) -> None:
    for quick in (True, False):
        contenders = for_gap(problem, quick=quick, coarse=quick)
        assert contenders[0].ours and contenders[0].threads == 1
        assert len({contender.key for contender in contenders}) == len(contenders)
        for contender in contenders:
            losses = {task.loss() for task in contender.ladder}
            assert losses == {contenders[0].ladder[0].loss()}
            tols = [task.tol for task in contender.ladder if task.tol is not None]
            assert tols == sorted(tols, reverse=True)


# What cannot be run


def test_absent_peers_are_left_out_and_failures_are_told(fake: Fake) -> None:
    fake.failing = {"liblinear": UnavailableError("not installed")}
    course = _course()
    contender = _liblinear("cs")
    assert course.run(contender, "a", 0, 0) is None and course.run(contender, "b", 0, 0) is None
    assert len(fake.jobs) == 1 and not course.failed
    fake.failing = {"multimargin": RunFailedError("exit status 1")}
    assert course.run(ours("ww", (0.1,)), "a", 0, 0) is None
    assert course.failed
    fake.failing = {"sgd": TimeLimitError("more than 60 s")}
    sgd = next(c for c in for_gap("ovr", quick=False, coarse=False) if c.peer == "sgd")
    course.run(sgd, "a", 0, 0)
    assert [reason.split(":")[0] for reason in course.problems.values()] == [
        "skipped",
        "failed",
        "stopped",
    ]


def test_a_peer_without_dual_is_compared_with_our_bound(fake: Fake) -> None:
    course = _course()
    GapCurve(quick=False, repeats=1).measure(course)
    (point, *_) = [p for p in course.points() if p.contender.peer == "sgd"]
    above = course.above(point)
    assert above is not None
    assert above == pytest.approx(1.01 / (1 - 1e-7) - 1)


# Files


def test_numbers_are_written_after_every_run(fake: Fake, tmp_path: Path) -> None:
    files = Files(tmp_path, _ABOUT)
    curve = GapCurve(quick=True, repeats=1)
    counts: list[int] = []

    def told(course: Course) -> None:
        files.write_numbers(curve, course)
        content = json.loads((tmp_path / "gap.json").read_text())
        counts.append(len(content["runs"]))

    curve.measure(Course(None, told))
    assert counts == list(range(1, len(fake.jobs) + 1))
    with (tmp_path / "gap.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(fake.jobs)
    assert {row["commit"] for row in rows} == {"abc"}
    assert all(float(row["suboptimality"]) >= 0 for row in rows)


def test_an_interrupted_command_shows_what_there_is(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failing = {"liblinear": KeyboardInterrupt()}  # type: ignore[dict-item]
    monkeypatch.setattr(sys, "argv", ["curves", "growth", "--quick", "--out", str(tmp_path)])
    monkeypatch.setattr(command, "print_machine", lambda: _ABOUT)
    monkeypatch.setattr(command, "why_no_figures", lambda: "no figures")
    with pytest.raises(KeyboardInterrupt):
        command.main()
    assert "Growth of training time" in capsys.readouterr().out
    assert json.loads((tmp_path / "growth.json").read_text())["points"]


def test_figures_are_drawn(fake: Fake, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    course = Course(None, lambda course: None)
    course.run(ours("ww", (0.1, 0.01)), "hierarchical-1000", 0, 0)
    course.run(ours("ww", (0.1, 0.01)), "hierarchical-1000", 1, 0)
    written = Files(tmp_path, _ABOUT).write_figures(GapCurve(True, 1), course)
    assert [path.name for path in written] == [
        "gap-hierarchical-1000-joint.svg",
        "gap-hierarchical-1000-joint.png",
    ]
    assert b"<svg" in written[0].read_bytes()


def test_generated_sets_by_their_sizes() -> None:
    data = load(by_sizes(60, 300, 7, 20), None)
    assert data.X.shape == (60, 300) and len(set(data.y)) == 7
    assert 15 < data.X.nnz / 60 < 25
