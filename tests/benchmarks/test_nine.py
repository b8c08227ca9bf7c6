"""Every formulation at a tuned C: how C is chosen, and the files."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from benchmarks.nine import chosen, main, parts_of
from multimargin import MulticlassSVC

WITH_TEST = "hierarchical:240:300:4:15:60"
WITHOUT_TEST = "hierarchical:240:300:4:15"


@pytest.mark.parametrize(
    ("error_of", "steps", "tried"),
    [
        (lambda step: abs(step - 2), 2, 4),
        (lambda step: abs(step - 5), 5, 7),  # up, as long as errors fall
        (lambda step: -step, 6, 7),  # but no more than three times
        (lambda step: abs(step + 2) - 2 * (step > 2), -2, 8),  # both ways
        (lambda step: step, -3, 7),
        (lambda step: 0.5, 0, 4),  # the smallest of equals
        (lambda step: math.inf if step >= 2 else -step, 1, 3),  # a fit that was stopped
        (lambda step: math.inf, 0, 1),
    ],
)
def test_c_is_where_the_error_is_least(error_of, steps, tried):
    factor = 10 ** (5 / 6)
    found, errors = chosen(0.1, lambda C: error_of(round(math.log(C / 0.1, factor))))
    assert found == pytest.approx(0.1 * factor**steps)
    assert len(errors) == tried
    assert errors[found] == min(errors.values())


@pytest.mark.parametrize("name", [WITH_TEST, WITHOUT_TEST])
def test_the_parts_of_a_set(name, tmp_path):
    parts = parts_of(name, tmp_path)
    n = 240 if name == WITH_TEST else 192
    assert [len(parts.train[1]), len(parts.test[1])] == [n, 5000 if name == WITH_TEST else 48]
    assert [(len(y), len(rest)) for (_, y), (_, rest) in parts.splits] == 5 * [(2 * n // 3, n // 3)]
    first, second = (rest.toarray() for _, (rest, _) in parts.splits[:2])
    assert (first != second).any()
    assert parts.squared_norm == pytest.approx(1)


def test_from_the_command_line(tmp_path, capsys):
    out = tmp_path / "nine.csv"
    words = ["--sets", WITH_TEST, "no-such-file.npz", "--formulations", "ww", "mmr"]
    assert main([*words, "--csv", str(out)]) == 0
    said = capsys.readouterr().out
    assert "no-such-file.npz: skipped: " in said
    with out.open() as file:
        rows = {row["formulation"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["ww", "mmr"]
    parts = parts_of(WITH_TEST, tmp_path)
    for name, row in rows.items():
        model = MulticlassSVC(name, C=float(row["C"]), fit_intercept=False, random_state=0)
        model.fit(*parts.train)
        assert float(row["error"]) == pytest.approx(1 - model.score(*parts.test))
        assert float(row["density"]) == pytest.approx(model.model_density_)
        assert float(row["gap"]) <= 0.01 and row["engine"] == "rows"
        assert f"| `{name}` | {100 * float(row['error']):.1f} |" in said
    assert np.ptp([float(row["error"]) for row in rows.values()]) > 0
