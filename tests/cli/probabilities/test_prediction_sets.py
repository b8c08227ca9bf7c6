"""Prediction sets at the command line: evaluate --coverage, predict --coverage --review."""

import csv
import json

import numpy as np
import pytest

from multimargin import load_model, load_svmlight
from multimargin.cli import main
from multimargin.inspection import coverage_report
from tests.cli.commands import error_line, samples

WORDS = ["sea", "dog", "sun", "tea"]
LABELS = ["one two", "b,c", 'd"e', "ü"]


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def noisy(folder):
    """A calibrated model of samples whose labels are often wrong."""
    for name, seed in (("train", 1), ("held", 2), ("test", 3)):
        lines = samples(200, seed, [3, 5, 7, 9]).splitlines()
        wrong = [
            "3579"[i // 4 % 4] + line[1:] if i % 3 == 0 else line for i, line in enumerate(lines)
        ]
        (folder / f"{name}.svm").write_text("\n".join(wrong) + "\n")
    assert main(["train", "train.svm", "plain", "--quiet", "--threads", "1"]) == 0
    assert main(["calibrate", "plain", "held.svm", "m"]) == 0
    return folder


@pytest.fixture
def tables(folder):
    rng = np.random.default_rng(0)
    for name, n in (("train", 300), ("test", 50)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "text", "label"])
            for i in range(n):
                k = rng.integers(4)
                word = WORDS[k if rng.random() < 0.7 else rng.integers(4)]
                table.writerow([f"#{i}", f"{word} {WORDS[rng.integers(4)]}", LABELS[k]])
    train = ["train", "train.csv", "t", "--text", "text", "--label", "label"]
    assert main([*train, "--quiet", "--calibrate", "cv"]) == 0
    return folder


def sets_of(coverage):
    X, y = load_svmlight("test.svm", n_features=12, dtype=np.float32)
    model = load_model("m")
    return model.predict_set(X, coverage), coverage_report(model, X, y, coverage)


def test_evaluate(noisy, capsys):
    capsys.readouterr()
    assert main(["evaluate", "m", "test.svm", "--coverage", "0.8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    _, report = sets_of(0.8)
    assert told["sets"] == report.as_dict()
    assert main(["evaluate", "m", "test.svm", "--coverage", "0.8"]) == 0
    assert capsys.readouterr().out.endswith(f"\n\n{report}\n")


def test_lines(noisy, capsys):
    capsys.readouterr()
    assert main(["predict", "m", "test.svm", "-o", "-", "--coverage", "0.9"]) == 0
    lines = [line.split(" ") for line in capsys.readouterr().out.splitlines()]
    sets, _ = sets_of(0.9)
    found = [[int(pair.split(":")[0]) for pair in line] for line in lines]
    assert found == [labels.tolist() for labels in sets]
    p = [float(pair.split(":")[1]) for line in lines for pair in line]
    np.testing.assert_allclose(p, sets.probabilities, rtol=1e-4)


def test_review_has_rows_of_several_labels(tables, capsys):
    predict = ["predict", "t", "test.csv", "-o", "out.csv", "--coverage", "0.8"]
    assert main([*predict, "--review", "review.csv"]) == 0
    out, review = rows_of(tables / "out.csv"), rows_of(tables / "review.csv")
    assert list(out[0])[-2:] == ["set_size", "set"]
    assert list(review[0]) == ["id", "text", "label", "row", "set_size", "set", "set_probabilities"]
    assert len(out) == 50 and 0 < len(review) < 50
    assert [row["id"] for row in review] == [row["id"] for row in out if row["set_size"] != "1"]
    for row in review:
        assert row["row"] == str(int(row["id"][1:]) + 1)
        labels, p = json.loads(row["set"]), json.loads(row["set_probabilities"])
        assert len(labels) == len(p) == int(row["set_size"]) > 1
        assert p == sorted(p, reverse=True) and set(labels) <= set(LABELS)
        assert out[int(row["row"]) - 1]["set"] == row["set"]
        assert out[int(row["row"]) - 1]["label"] == labels[0]


def test_other_forms_of_the_review(tables, noisy, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    predict = ["predict", "t", "test.csv", "-o", "out.txt", "--coverage"]
    assert main([*predict, "0.8", "--review", "r.jsonl", "--keep", "id"]) == 0
    first = json.loads((tables / "r.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert list(first) == ["id", "row", "set_size", "set", "set_probabilities"]
    assert isinstance(first["set"], list)
    assert "\t" in (tables / "out.txt").read_text(encoding="utf-8")  # a label has a space
    svm = ["predict", "m", "test.svm", "-o", "out", "--review", "r.parquet", "--coverage"]
    for coverage in (0.9, 0.1):
        assert main([*svm, str(coverage)]) == 0
        several = np.flatnonzero(sets_of(coverage)[0].sizes > 1) + 1
        assert (len(several) > 0) == (coverage == 0.9)
        found = parquet.read_table(noisy / "r.parquet")
        assert found.column_names == ["row", "set_size", "set", "set_probabilities"]
        assert found["row"].to_pylist() == several.tolist()


def test_refused(noisy, capsys):
    capsys.readouterr()
    predict = ["predict", "m", "test.svm", "-o", "o.csv"]
    sets = [*predict, "--coverage", "0.9"]
    for argv, words in (
        (["evaluate", "plain", "test.svm", "--coverage", "0.9"], "'multimargin calibrate plain"),
        ([*sets[:1], "plain", *sets[2:]], "--coverage: plain has no probabilities"),
        ([*predict, "--review", "r.csv"], "--review needs sets: give --coverage"),
        ([*sets, "--review", "r.txt"], "--review is for tables"),
        ([*sets, "--review", "o.csv"], "would replace that of --output"),
        ([*sets, "--review", "no/r.csv"], "no"),
        ([*sets, "--review", "test.csv"], "would be overwritten"),
        ([*predict[:4], "-", "--coverage", "0.9", "--top-k", "2"], "--top-k and --coverage"),
    ):
        (noisy / "test.csv").unlink(missing_ok=True)
        (noisy / "test.csv").symlink_to("test.svm")
        assert main(argv) == 1
        assert words in error_line(capsys)
        assert not (noisy / "o.csv").exists()
    for wrong in ("0", "1", "90", "nan", "x"):
        assert main([*predict, "--coverage", wrong]) == 2
        assert "is not a number between 0 and 1" in capsys.readouterr().err
    assert main([*predict, "--coverage", "0.999"]) == 0
    assert "needs 999 calibration samples, but there are 200" in capsys.readouterr().err
