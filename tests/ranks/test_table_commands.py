"""Commands on tables, over ranks."""

import json

import numpy as np
import pytest

from multimargin import read_table
from multimargin.cli import main
from tests.cli.tables.table_files import LABELS, TRAIN, rows, write
from tests.ranks.mpi_commands import run_many
from tests.support.mpi import needs_mpi


@needs_mpi
def test_ranks_write_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", rows(60, 1))
    write(tmp_path / "test.csv", rows(30, 2))
    train = [*TRAIN, "--categorical", "kind", "--bundles", "3", "--threads", "1"]
    assert main(train) == 0
    one = (tmp_path / "m").read_bytes()
    (tmp_path / "m").unlink()
    predict = ["predict", "m", "test.csv", "-o", "out.csv", "--top-k", "2"]
    evaluate = ["evaluate", "m", "test.csv", "--json"]
    printed = run_many(2, [train, predict, evaluate], tmp_path)
    assert any('"error": 0.0' in line for line in printed)
    assert (tmp_path / "m").read_bytes() == one
    assert read_table("out.csv")["label_1"].tolist() == LABELS


@needs_mpi
def test_ranks_have_the_probabilities_of_one_process(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", rows(60, 1))
    write(tmp_path / "test.csv", rows(30, 2))
    train = [*TRAIN, "--bundles", "3", "--threads", "1", "--calibrate", "0.3"]
    predict = ["predict", "m", "test.csv", "-o", "out.csv", "--proba", "--top-k", "2"]
    evaluate = ["evaluate", "m", "test.csv", "--json"]
    assert main(train) == main(predict) == main(evaluate) == 0
    one = json.loads(capsys.readouterr().out)
    expected = read_table("out.csv")["probability_1"].astype(float)
    found = run_many(2, [train, predict, evaluate], tmp_path)
    several = next(json.loads(line) for line in found if '"log_loss"' in line)
    assert several["log_loss"] == pytest.approx(one["log_loss"], rel=1e-3)
    probability = read_table("out.csv")["probability_1"].astype(float)
    np.testing.assert_allclose(probability, expected, rtol=1e-3)
