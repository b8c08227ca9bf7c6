"""The study of defaults: rules for C, ranks and regrets, and runs that go on."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.defaults import __main__ as command
from benchmarks.defaults import analysis, report, sets
from benchmarks.defaults.analysis import Candidate, standings, tuned
from benchmarks.defaults.choices import (
    BY_BOTH,
    BY_LENGTH,
    FIXED,
    KINDS,
    Kind,
    Rule,
    nearest,
    penalties,
    rules,
)
from benchmarks.defaults.results import Results, Row, as_csv, from_csv
from benchmarks.defaults.sets import Source, with_noise
from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text

FEW_KINDS = (KINDS[0], KINDS[1], KINDS[2], KINDS[-1])
CS, WW, FREE = Kind("cs"), Kind("ww"), Kind("ww", intercept="free")


def row(dataset, kind, C, error, *, cold=False, **more):
    facts = {"classes": 4, "samples": 100, "squared_norm": 1.0, "validation_error": error}
    facts |= {"macro_f1": 1 - error, "top5_error": 0.0, "seconds": 1.0, "gap": 0.01}
    facts |= {"converged": True, **more}
    return Row(dataset, kind.formulation, kind.loss, kind.intercept, C, cold, error=error, **facts)


@pytest.mark.parametrize(
    ("rule", "said", "value"),
    [
        (Rule(2.0, FIXED), "C = 2", 2.0),
        (Rule(2.0, BY_LENGTH), "C = 2/|x|^2", 0.2),
        (Rule(2.0, BY_BOTH), "C = 2/(sqrt(K)|x|)", 0.2 / math.sqrt(10.0)),
    ],
)
def test_what_a_rule_says(rule, said, value):
    assert str(rule) == said
    assert rule.of(n_classes=100, squared_norm=10.0) == pytest.approx(value)


def test_what_is_measured_rises_and_reaches_down_for_long_rows():
    assert penalties(CS, 20, 1.0) == [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    long = penalties(CS, 20, 100.0)
    assert (long[0], long[-1]) == (0.0005, 10.0) and long == sorted(long)
    assert all(1.0 in penalties(kind, K, 1.0) for kind in KINDS for K in (3, 3_000))
    assert nearest(0.35, [0.1, 0.5]) == 0.5
    assert {rule.form for rule in rules(CS)} < {rule.form for rule in rules(WW)}


def test_the_rule_is_chosen_on_some_sets_and_tuned_on_others_samples(monkeypatch):
    monkeypatch.setattr(
        analysis, "SETS", {name: Source(None, chooses=name != "c") for name in "abc"}
    )
    errors = {"a": (0.3, 0.2, 0.4), "b": (0.1, 0.3, 0.3), "c": (0.9, 0.9, 0.0)}
    rows = [
        row(name, CS, C, error)
        for name, found in errors.items()
        for C, error in zip((0.5, 1.0, 2.0), found, strict=True)
    ]
    rows.append(row("a", CS, 1.0, 0.0, cold=True))  # the same C once more: no fit along C
    best, error = next(iter(analysis.rule_errors(rows, CS).items()))
    assert best.of(4, 1.0) <= 0.5  # also what is nearer to 0.5 than to 1
    assert error == pytest.approx(0.2)
    assert [each.C for each in tuned(rows, [CS]).values()] == [1.0, 0.5, 2.0]
    assert analysis.rule_errors(rows, WW) == {}


def test_ranks_regrets_and_times():
    one, two, three = (Candidate(kind, Rule(1.0)) for kind in (CS, WW, FREE))
    rows = [
        row("a", CS, 1.0, 0.10, cold=True, seconds=1.0),
        row("a", WW, 1.0, 0.12, cold=True, seconds=4.0),
        row("a", FREE, 1.0, 0.12, cold=True, seconds=2.0),
        row("b", CS, 1.0, 0.23, cold=True, seconds=3.0),
        row("b", WW, 1.0, 0.20, cold=True, seconds=3.0),
        row("b", FREE, 1.0, 0.21, cold=True, seconds=9.0),
        row("b", WW, 0.5, 0.15),
        row("c", CS, 1.0, 0.5, cold=True),  # not of all three
    ]
    found = {each.candidate: each for each in standings(rows, ["a", "b", "c"], [one, two, three])}
    assert {each.sets for each in found.values()} == {2}
    assert [found[c].rank for c in (one, two, three)] == [2.0, 1.75, 2.25]
    assert [found[c].regret for c in (one, two, three)] == pytest.approx([1.5, 1.0, 1.5])
    assert (found[one].worst, found[one].worst_set) == (pytest.approx(3.0), "b")
    assert found[two].strict == pytest.approx((2 + 5) / 2)
    assert found[one].slowdown == pytest.approx(1.0)
    assert found[three].slowdown == pytest.approx(math.sqrt(2 * 3))
    assert found[three].most_slowdown == pytest.approx(3.0)
    assert standings(rows, ["c"], [one, two]) == []


def test_results_are_read_as_they_were_written(tmp_path):
    rows = [row("a, b", FREE, 0.5, 0.25), row("a, b", CS, 0.5, math.nan, cold=True)]
    assert as_csv(from_csv(as_csv(rows).decode())) == as_csv(rows)
    assert from_csv(as_csv(rows).decode())[0] == rows[0]
    file = tmp_path / "results.csv"
    for each in rows:
        Results(file).add(each)  # which reads the others first
    results = Results(file)
    assert rows[0].key in results and ("a, b", FREE, 0.1, False) not in results
    assert results.of("a, b", CS, cold=False) == []
    with pytest.raises(ValueError, match="the columns are not those of this study"):
        from_csv("dataset,C\n")


def test_some_labels_become_those_of_others():
    y = np.arange(1_000)
    noisy = with_noise(y, 0.2, np.random.default_rng(0))
    assert 150 < np.count_nonzero(noisy != y) <= 200
    assert set(noisy) <= set(y) and (y == np.arange(1_000)).all()
    assert (with_noise(y, 0.0, np.random.default_rng(0)) == y).all()


@pytest.fixture
def small_study(monkeypatch):
    """Two small sets in place of all, and few values of C."""

    def load(_):
        X, y = make_hierarchical_text(300, 200, 4, random_state=0)
        return sets.data.DataSet(X, y, None, None, "")

    made = {"one": Source(load, chooses=True), "two": Source(load, chooses=False, noise=0.2)}
    for module in (command, analysis, report, sets):
        monkeypatch.setattr(module, "SETS", made)
    for module in (command, analysis, report):
        monkeypatch.setattr(module, "KINDS", FEW_KINDS)
    for module in (command, analysis):
        monkeypatch.setattr(module, "penalties", lambda *_: [0.5, 1.0])


@pytest.mark.usefixtures("small_study")
def test_a_study_goes_on_where_it_ended(tmp_path, capsys):
    file, tables = tmp_path / "results.csv", tmp_path / "tables.md"
    words = ["--csv", str(file), "--data", str(tmp_path), "--sets", "one", "two"]
    assert command.main([*words, "--markdown", str(tables)]) == 0
    said = capsys.readouterr().out
    rows = Results(file).rows
    assert {each.kind for each in rows if not each.cold} >= set(FEW_KINDS)
    assert {each.formulation for each in rows if each.cold} >= {"ww", "cs", "ovr", "LinearSVC"}
    assert all(each.gap <= 0.01 for each in rows if each.formulation != "LinearSVC")
    assert tables.read_text() in said and "the other sets: two" in said

    least = rows[0]
    X, y = sets.trial(least.dataset, Path()).fit
    model = MulticlassSVC(least.formulation, C=least.C, fit_intercept=False, random_state=0)
    error = 1 - model.fit(X, y).score(*sets.trial(least.dataset, Path()).test)
    assert least.error == pytest.approx(error)

    kept = [dataclasses.replace(each, seconds=1e9) for each in rows[:-3]]
    file.write_bytes(as_csv(kept))
    assert command.main(words) == 0
    again = Results(file).rows
    assert {each.key for each in again} == {each.key for each in rows}
    assert sum(each.seconds == 1e9 for each in again) == len(kept)  # these were not run again
