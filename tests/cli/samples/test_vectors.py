"""Vectors as data: .npy, .npz, and a column of lists of numbers in a Parquet file."""

import json

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from multimargin import MulticlassSVC, load_model
from multimargin.cli import main
from tests.cli.commands import error_line

RNG = np.random.default_rng(0)
LABELS = np.array(list("abc") * 40)
X = (np.eye(3, 6)[np.arange(120) % 3] + 0.2 * RNG.normal(size=(120, 6))).astype(np.float32)
TRAIN = ["train", "X.npy", "m", "--labels", "y.npy", "--quiet"]
COLUMNS = ["--vector", "v", "--label", "label"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    np.save("y.npy", LABELS)
    np.savez("both.npz", X=X[:30], y=LABELS[:30])
    (tmp_path / "y.csv").write_text("id,label\n" + "".join(f"1,{y}\n" for y in LABELS))
    write("t.parquet", X, LABELS)
    return tmp_path


def write(name, vectors, labels, kind=None):
    columns = {"id": range(len(vectors)), "v": pyarrow.array(list(vectors), kind), "label": labels}
    parquet.write_table(pyarrow.table(columns), name)


def coef():
    return load_model("m", verify=True).coef_


def test_all_kinds_of_files_hold_the_same_vectors(folder, capsys):
    expected = MulticlassSVC(random_state=0).fit(X, LABELS).coef_
    assert main(TRAIN) == 0
    assert np.array_equal(coef(), expected)
    assert main([*TRAIN[:3], "--labels", "y.csv", "--label", "label", "--quiet"]) == 0
    assert np.array_equal(coef(), expected)
    assert main(["train", "t.parquet", "m", *COLUMNS, "--quiet"]) == 0
    assert np.array_equal(coef(), expected)
    for kind in (pyarrow.list_(pyarrow.float32(), 6), pyarrow.large_list(pyarrow.float32())):
        write("other.parquet", X, LABELS, kind)
        assert main(["train", "other.parquet", "m", *COLUMNS, "--quiet"]) == 0
        assert np.array_equal(coef(), expected)
    assert main(["evaluate", "m", "both.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 30
    assert main(["evaluate", "m", "t.parquet", "--certify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["error"], found["gap"] <= 0.01) == (0, True)
    assert main(["evaluate", "m", "X.npy", "--labels", "y.npy"]) == 0


def test_predictions(folder, capsys):
    assert main(["train", "t.parquet", "m", *COLUMNS, "--quiet"]) == 0
    assert main(["predict", "m", "both.npz", "-o", "-"]) == 0
    assert capsys.readouterr().out.split() == LABELS[:30].tolist()
    assert main(["predict", "m", "t.parquet", "-o", "out.parquet", "--keep", "id"]) == 0
    table = parquet.read_table("out.parquet")
    assert table.column_names == ["id", "label", "score", "margin"]
    assert table["label"].to_pylist() == LABELS.tolist()
    assert main(["predict", "m", "t.parquet", "-o", "out.csv"]) == 0
    assert (folder / "out.csv").read_text().startswith("id,input_label,label,score,margin\n0,a,a,")


def test_unit_length(folder):
    assert main([*TRAIN, "--normalize", "l2"]) == 0
    model = load_model("m")
    assert model.preprocessing_ == {"normalize": "l2"}
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.coef_, MulticlassSVC(random_state=0).fit(unit, LABELS).coef_, atol=1e-5
    )
    np.save("longer.npy", 100 * X)
    assert main(["predict", "m", "longer.npy", "-o", "p"]) == 0
    assert (folder / "p").read_text().split() == model.predict(unit).tolist()


def test_other_numbers_and_rows_without_labels(folder, capsys):
    np.save("whole.npy", np.round(100 * X).astype(np.int16))
    assert main(["train", "whole.npy", "m", "--labels", "y.npy", "--quiet"]) == 0
    labels = [None, *LABELS[1:]]
    write("gap.parquet", X, labels)
    assert main(["train", "gap.parquet", "m", *COLUMNS, "--skip-unlabelled"]) == 0
    assert "1 row without a label is left out" in capsys.readouterr().err
    expected = MulticlassSVC(random_state=0).fit(X[1:], LABELS[1:]).coef_
    assert np.array_equal(coef(), expected)


def test_tuning_and_explanations(folder, capsys):
    one = ["--formulations", "cs", "--C", "1", "--quiet"]
    assert main(["tune", "X.npy", "--labels", "y.npy", "--folds", "2", *one]) == 0
    assert "next: multimargin train X.npy MODEL --formulation cs --C 1 --labels y.npy" in (
        capsys.readouterr().out
    )
    assert main(["tune", "both.npz", "--validation", "t.parquet", *COLUMNS, *one]) == 1
    assert "--vector is for Parquet files" in error_line(capsys)
    assert main(["tune", "t.parquet", *COLUMNS, "--validation", "t.parquet", *one]) == 0
    assert main([*TRAIN, "--keep-dual", "--tol", "1e-6"]) == 0
    capsys.readouterr()
    assert main(["explain", "m", "--data", "X.npy", "--row", "5", "--json"]) == 0
    by_features = json.loads(capsys.readouterr().out)
    sample = ["--data", "X.npy", "--row", "5", "--samples", "X.npy", "--labels", "y.npy"]
    assert main(["explain", "m", *sample, "-k", "200", "--json"]) == 0
    why = json.loads(capsys.readouterr().out)
    assert (why["label"], why["runner_up"]) == (by_features["label"], by_features["runner_up"])
    parts = sum(c["contribution"] for c in why["contributions"])
    lead = by_features["score"] - by_features["runner_up_score"]
    assert parts + why["intercept"] == pytest.approx(lead, rel=1e-4)
    assert {c["label"] for c in why["contributions"]} <= set("abc")


def damaged():
    bad = X.copy()
    bad[7, 2] = np.nan
    np.save("nan.npy", bad)
    np.save("flat.npy", X[:, 0])
    np.save("objects.npy", np.array([None, 1], dtype=object), allow_pickle=True)
    np.save("short.npy", X[:, :4])
    np.savez("other.npz", vectors=X)
    with open("cut.npy", "wb") as file:  # noqa: PTH123
        file.write(open("X.npy", "rb").read()[:300])  # noqa: PTH123, SIM115
    with open("no.npz", "w") as file:  # noqa: PTH123
        file.write("no zip")
    write("ragged.parquet", [[1.0, 2.0], [1.0]] * 3, list("ab") * 3)
    write("missing.parquet", [[1.0, 2.0], None] * 3, list("ab") * 3)
    write("texts.parquet", [["a"], ["b"]], list("ab"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "X.npy", "n"], "X.npy has no labels: give them, --labels FILE"),
        (["train", "X.npy", "n", "--labels", "y.csv"], "which column of y.csv holds the labels"),
        (["train", "X.npy", "n", "--labels", "X.npy"], "the labels are float32 of shape (120, 6)"),
        (["train", "both.npz", "n", "--labels", "y.npy"], "both.npz: 30 vectors, but 120 labels"),
        (["train", "nan.npy", "n", "--labels", "y.npy"], "nan.npy: row 8: the vector holds NaN"),
        (["train", "flat.npy", "n", "--labels", "y.npy"], "flat.npy: float32 of shape (120,): ve"),
        (["train", "objects.npy", "n", "--labels", "y.npy"], "no arrays of numbers: "),
        (["train", "cut.npy", "n", "--labels", "y.npy"], "cut.npy: damaged, or no arrays"),
        (["train", "no.npz", "n"], "no.npz: damaged, or no arrays of numbers"),
        (["train", "other.npz", "n"], "no array 'X' with vectors; there are 'vectors'"),
        (["train", "X.npy", "n", "--labels", "y.npy", "--text", "t"], "--text says nothing of vec"),
        (
            ["train", "X.npy", "n", "--labels", "y.npy", "--features", "3"],
            "--features says nothing",
        ),
        (["train", "X.npy", "X.npy", "--labels", "y.npy"], "X.npy would be overwritten"),
        (["train", "t.parquet", "n", "--vector", "v"], "holds the labels: --label COLUMN"),
        (["train", "t.parquet", "n", "--vector", "w", "--label", "label"], "no column 'w'"),
        (["train", "t.parquet", "n", "--vector", "id", "--label", "label"], "holds int64, not lis"),
        (["train", "ragged.parquet", "n", *COLUMNS], "row 2: column 'v' has 1 numbers, and 2 in"),
        (["train", "missing.parquet", "n", *COLUMNS], "row 2: column 'v' has 0 numbers, and 2 in"),
        (["train", "texts.parquet", "n", *COLUMNS], "not lists of numbers"),
        (
            ["train", "y.csv", "n", "--text", "id", "--label", "label", "--labels", "y.npy"],
            "--labels is for vectors",
        ),
        (["predict", "m", "short.npy", "-o", "-"], "vectors of 4 numbers, but m takes 6"),
        (["predict", "m", "t.parquet", "-o", "-"], "--vector COLUMN names a column of vectors"),
        (["predict", "m", "X.npy", "-o", "-", "--encoder", "e"], "takes no encoder"),
        (
            ["explain", "m", "--data", "X.npy", "--row", "1", "--samples", "both.npz"],
            "train --keep-dual",
        ),
    ],
)
def test_bad_input(folder, capsys, argv, message):
    assert main(TRAIN) == 0
    damaged()
    assert main(argv) == 1
    assert message in error_line(capsys)
    assert not (folder / "n").exists()
