"""Probabilities at the command line: calibrate, train --calibrate, and what shows them."""

import csv
import json

import numpy as np
import pytest

from multimargin import load_model, load_svmlight
from multimargin.cli import main
from multimargin.io._array_file import read_arrays
from tests.cli.commands import error_line, samples


def result_of(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def noisy(folder):
    """Files of samples whose labels are wrong one time in ten."""
    for name, seed in (("train", 1), ("held", 2), ("test", 3)):
        lines = samples(200, seed, [3, 5, 7, 9]).splitlines()
        wrong = ["3" + line[1:] if i % 10 == 5 else line for i, line in enumerate(lines)]
        (folder / f"{name}.svm").write_text("\n".join(wrong) + "\n")
    return folder


def test_calibrate_leaves_the_rest_of_the_file(noisy, capsys):
    train = ["train", "train.svm", "m", "--quiet", "--threads", "1"]
    assert main([*train, "--keep-dual", "--weights", "float16"]) == 0
    made = result_of(capsys, "calibrate", "m", "held.svm", "c")
    assert made["n_samples"] == 200 and not made["stale"]
    (before, arrays), (after, again) = read_arrays("m"), read_arrays("c")
    assert after.pop("calibration")["temperature"] == made["temperature"]
    assert after == before and "dual" in before
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name])
    plain = result_of(capsys, "calibrate", "c", "held.svm", "c", "--method", "temperature")
    assert plain["floor"] == plain["curvature"] == 0
    assert plain["log_loss"] >= made["log_loss"] - 5e-3
    assert main(["info", "c"]) == 0
    assert "stale=False" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["cv", "0.2", "held.svm"])
def test_train_calibrates(noisy, capsys, how):
    train = ["train", "train.svm", "--threads", "1", "--quiet"]
    assert main([*train, "plain"]) == 0
    result = result_of(capsys, *train, "m", "--calibrate", how)
    assert result["calibration"]["n_samples"] == {"cv": 200, "0.2": 40, "held.svm": 200}[how]
    (_, arrays), (_, plain) = read_arrays("m"), read_arrays("plain")
    np.testing.assert_array_equal(arrays["coef"], plain["coef"])
    told = result_of(capsys, "evaluate", "m", "test.svm")
    assert 0 < told["log_loss"] < 1.4 and 0 < told["brier"] < 1
    assert told["calibration_error"] < 0.1
    assert [each["share"] for each in told["coverage"]][:2] == [1.0, 0.95]
    assert sum(each["samples"] for each in told["reliability"]) == 200
    assert main(["evaluate", "m", "test.svm"]) == 0
    assert "accuracy of the surest 90%" in capsys.readouterr().out
    assert main(["evaluate", "plain", "test.svm"]) == 0
    assert "log-loss" not in capsys.readouterr().out


def test_predictions_with_probabilities(noisy, capsys):
    assert main(["train", "train.svm", "m", "--quiet", "--calibrate", "held.svm"]) == 0
    assert main(["predict", "m", "test.svm", "-o", "-", "--proba"]) == 0
    lines = capsys.readouterr().out.splitlines()
    X, _ = load_svmlight("test.svm", n_features=12, dtype=np.float32)
    p = load_model("m").predict_proba(X)
    assert [line.split(":")[0] for line in lines] == [str(y) for y in load_model("m").predict(X)]
    found = [float(line.split(":")[1]) for line in lines]
    np.testing.assert_allclose(found, p.max(axis=1), rtol=1e-4)
    assert main(["predict", "m", "test.svm", "-o", "out.csv", "--proba", "--top-k", "2"]) == 0
    rows = list(csv.DictReader((noisy / "out.csv").open()))
    assert list(rows[0]) == [
        *("label_1", "score_1", "probability_1"),
        *("label_2", "score_2", "probability_2", "margin"),
    ]
    both = np.array([[float(row[f"probability_{k}"]) for k in (1, 2)] for row in rows])
    np.testing.assert_allclose(both, -np.sort(-p, axis=1)[:, :2], rtol=1e-4)


def test_report(noisy, capsys):
    assert main(["train", "train.svm", "m", "--quiet", "--calibrate", "held.svm"]) == 0
    result = result_of(capsys, "report", "m", "test.svm", "--plot", "r.svg")
    assert result["probabilities"]["log_loss"] > 0
    assert "accuracy over coverage" in (noisy / "r.svg").read_text()
    assert main(["report", "m", "test.svm"]) == 0
    assert "surest  probability at least  accuracy" in capsys.readouterr().out


def test_pruning_renews_probabilities_or_calls_them_stale(noisy, capsys):
    assert main(["train", "train.svm", "m", "--quiet", "--calibrate", "held.svm"]) == 0
    capsys.readouterr()
    assert main(["prune", "m", "small", "--keep", "0.5"]) == 0
    assert "calibrate(X, y) renews them" in capsys.readouterr().err
    assert load_model("small").calibration_.stale
    assert main(["evaluate", "small", "test.svm"]) == 0
    assert "note: the probabilities of small are those of its weights" in capsys.readouterr().err
    assert main(["prune", "m", "small", "--keep", "0.5", "--data", "held.svm"]) == 0
    assert "renews" not in capsys.readouterr().err
    made = load_model("small").calibration_
    assert not made.stale and made != load_model("m").calibration_
    assert main(["prune", "m", "rounded", "--weights", "float16"]) == 0
    assert load_model("rounded").calibration_ == load_model("m").calibration_


def test_refused(noisy, capsys):
    train = ["train", "train.svm", "m", "--quiet", "--threads", "1"]
    assert main(train) == 0
    for argv, words in (
        (["predict", "m", "test.svm", "-o", "-", "--proba"], "m has no probabilities"),
        ([*train, "--calibrate", "missing.svm"], "missing.svm: No such file"),
        (["calibrate", "m", "one.svm", "c"], "at least 2 labels that the model knows"),
        ([*train, "--calibrate", "one.svm"], "at least 2 labels that the model knows"),
        (["calibrate", "m", "held.svm", "held.svm"], "would be overwritten"),
    ):
        (noisy / "one.svm").write_text("3 1:1\n3 2:1\n4 2:1\n")
        assert main(argv) == 1
        assert words in error_line(capsys)
    assert main([*train, "--calibrate", "1.5"]) == 2
    assert "1.5 is no share between 0 and 1" in capsys.readouterr().err
    (noisy / "more.svm").write_text((noisy / "held.svm").read_text() + "4 1:1\n")
    assert main(["calibrate", "m", "more.svm", "c"]) == 0
    assert "1 sample of more.svm with labels that the model does not" in capsys.readouterr().err
