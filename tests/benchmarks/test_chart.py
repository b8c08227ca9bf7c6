"""The bars of the table of peers."""

from __future__ import annotations

import pytest

from benchmarks.contest.chart import Bar, edge, main, panels
from tests.support.paths import ROOT

HEAD = "dataset,threads,loss,peer,title,cpu_seconds,reached,above_optimum"
TABLE = f"""{HEAD}
small,1,one-vs-rest,liblinear,LIBLINEAR -s 3,2.0,True,0.005
small,1,one-vs-rest,multimargin,multimargin,0.5,True,0.004
small,1,one-vs-rest,sgd,SGDClassifier hinge,1.5,False,0.04
small,1,one-vs-rest,lightning,lightning,,False,
small,1,weston-watkins,multimargin,multimargin,0.4,True,0.004
small,2,one-vs-rest,multimargin,multimargin,0.3,True,0.004
other,1,crammer-singer,multimargin,multimargin,0.7,True,0.004
"""


def test_a_panel_has_ours_first_and_the_others_by_their_seconds():
    dataset, found = panels(TABLE)
    assert dataset == "small"
    # Nobody else solves Weston-Watkins; what was not measured has no bar.
    assert list(found) == ["one-vs-rest"]
    assert found["one-vs-rest"] == [
        Bar("multimargin", 0.5, True),
        Bar("SGDClassifier", 1.5, False, above=0.04),
        Bar("LIBLINEAR", 2.0, False),
    ]


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [("missing", "it has: small, other"), ("other", "no peer beside multimargin on other")],
)
def test_data_sets_without_bars_are_refused(dataset, reason):
    with pytest.raises(ValueError, match=reason):
        panels(TABLE, dataset)


def test_the_chart_of_the_readme_has_its_table():
    assert "docs/images/peers.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
    _, found = panels((ROOT / "docs" / "images" / "peers.csv").read_text(encoding="utf-8"))
    assert {"LIBLINEAR", "LinearSVC"} <= {bar.title for bars in found.values() for bar in bars}


def test_a_bar_that_dwarfs_the_others_is_cut():
    def end(*seconds):
        return edge({"one-vs-rest": [Bar("", each, ours=False) for each in seconds]})

    assert end(0.5, 4.0, 2.0) == 4.0
    assert end(0.5, 24.0, 2.0) == pytest.approx(2.6)


def test_the_same_table_is_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    table = tmp_path / "table.csv"
    table.write_text(TABLE, encoding="utf-8")
    charts = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for chart in charts:
        assert main([str(table), str(chart)]) == 0
    assert charts[0].read_bytes().startswith(b"<?xml")
    assert charts[0].read_bytes() == charts[1].read_bytes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no measured runs"), ("dataset,threads\nsmall,1\n", "lacks the column 'cpu_seconds'")],
)
def test_other_files_are_refused_in_one_line(tmp_path, capsys, text, reason):
    table = tmp_path / "table.csv"
    table.write_text(text, encoding="utf-8")
    assert main([str(table), str(tmp_path / "chart.svg")]) == 1
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert not (tmp_path / "chart.svg").exists()
