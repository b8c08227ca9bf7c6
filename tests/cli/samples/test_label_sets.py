"""The command with samples that have several labels, or none."""

import json

import pytest

from multimargin import load_model
from multimargin.cli import main
from tests.cli.commands import error_line

CSV = """\
text,tags
a red rose in the garden,flower | red
a white rose,flower|white
fast red car,vehicle|red
the white truck,vehicle|white
an old truck,vehicle
nothing of note here,
garden flowers,flower
"""
SVM = "3,7,12 1:0.5 2:1\n1:0.3 3:1\n7 2:0.5\n12, 3 1:1 # two\n3 1:0.9\n"
TRAIN = ["--formulation", "ovr", "--C", "100", "--quiet"]
TAGS = ["--text", "text", "--label", "tags", "--label-separator", "pipe"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.svm").write_text(SVM)
    return tmp_path


@pytest.fixture
def trained(folder, capsys):
    assert main(["train", "t.csv", "m", *TAGS, *TRAIN, "--keep-dual"]) == 0
    assert main(["train", "t.svm", "s", "--label-separator", "comma", *TRAIN]) == 0
    assert capsys.readouterr() == ("", "")
    return folder


def test_labels_of_a_table(trained, capsys):
    assert main(["predict", "m", "t.csv", "-o", "-"]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines() == [
        "flower|red",
        "flower|white",
        "red|vehicle",
        "vehicle|white",
        "vehicle",
        "",
        "flower",
    ]
    assert main(["predict", "m", "t.csv", "-o", "-", "--label-separator", ";"]) == 0
    assert capsys.readouterr().out.startswith("flower;red\n")
    assert main(["predict", "m", "t.csv", "-o", "out.csv"]) == 0
    lines = (trained / "out.csv").read_text().splitlines()
    assert lines[:2] == ["text,tags,label", "a red rose in the garden,flower | red,flower|red"]
    assert main(["predict", "m", "t.csv", "-o", "out.csv", "--top-k", "2", "--keep", "none"]) == 0
    lines = (trained / "out.csv").read_text().splitlines()
    assert lines[0] == "label_1,score_1,label_2,score_2" and lines[5].startswith("vehicle,1.0")


def test_measures(trained, capsys):
    assert main(["evaluate", "m", "t.csv", "--certify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["error"], found["micro_f1"], found["macro_f1"]) == (7, 0, 1, 1)
    assert found["precision_at_1"] == pytest.approx(6 / 7)
    assert found["precision_at_3"] == pytest.approx(10 / 21)
    assert found["labels_per_sample"] == pytest.approx(10 / 7)
    assert found["dual_recomputed"] and found["gap"] <= found["claimed_gap"] + 1e-6
    assert main(["evaluate", "m", "t.csv"]) == 0
    out, err = capsys.readouterr()
    assert "precision@1        0.8571\nprecision@3        0.4762\nlabels per sample" in out
    (trained / "t.csv").write_text("text,tags\na rose,new|flower\na car,\n")
    assert main(["evaluate", "m", "t.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["unseen_labels"], json.loads(out)["unseen_samples"]) == (1, 1)
    assert "1 sample has a label the model was not trained on" in err


def test_libsvm_text(trained, capsys):
    assert load_model("s").preprocessing_["label_separator"] == ","
    assert main(["predict", "s", "t.svm", "-o", "-"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "7"
    assert main(["evaluate", "s", "t.svm", "--certify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == 5 and "precision_at_5" not in found
    assert main(["info", "s", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels_per_sample"] == "several"


def test_rows_without_a_label_can_be_left_out(trained, capsys):
    assert main(["train", "t.csv", "m", *TAGS, *TRAIN, "--skip-unlabelled"]) == 0
    assert "1 row without a label is left out" in capsys.readouterr().err
    (trained / "n.csv").write_text("text,tags\nan ox,3|7\nbees,\ncows,12\n")
    assert main(["train", "n.csv", "n", *TAGS, *TRAIN]) == 0
    assert load_model("n").classes_.tolist() == [3, 7, 12]


def test_one_label(trained, capsys):
    (trained / "one.csv").write_text("text,tags\na rose,flower\na car,\n")
    assert main(["train", "one.csv", "one", *TAGS, *TRAIN]) == 0
    assert main(["predict", "one", "one.csv", "-o", "-"]) == 0
    assert capsys.readouterr().out == "flower\n\n"
    assert main(["evaluate", "one", "one.csv"]) == 0
    assert "precision@1" in capsys.readouterr().out


def test_checkpoints_and_starts(trained, capsys):
    options = ["--checkpoint", "c", "--checkpoint-every", "0"]
    assert main(["train", "t.csv", "m2", *TAGS, *TRAIN, *options]) == 0
    assert main(["train", "t.csv", "m3", *TAGS, *TRAIN, "--start", "m", "--keep-dual"]) == 0
    capsys.readouterr()
    for model in ("m2", "m3"):
        assert main(["evaluate", model, "t.csv", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["error"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "no.csv", "x", *TAGS], "formulation='cs' compares the one label of a sample"),
        (["train", "no.svm", "x", "--formulation", "ovr", "--label-separator", ";"], "has commas"),
        (["train", "t.svm", "x", "--formulation", "ovr"], "the line has several labels"),
        (["train", "no.csv", "x", *TAGS, *TRAIN, "--class-weight", "balanced"], "class_weight is"),
        (["report", "m", "t.csv"], "report is for one label per sample"),
        (["calibrate", "m", "t.csv", "n"], "calibrate is for one label per sample"),
        (["predict", "m", "t.csv", "-o", "-", "--label-separator", "e"], "'flower' holds 'e'"),
        (["serve", "one"], "the model has one label"),
    ],
)
def test_refused_in_one_line(trained, capsys, words, message):
    (trained / "one.csv").write_text("text,tags\na rose,flower\na car,\n")
    assert main(["train", "one.csv", "one", *TAGS, *TRAIN]) == 0
    assert main(words) == 1
    assert message in error_line(capsys)


def test_a_model_of_one_label_takes_no_separator(folder, capsys):
    assert main(["train", "t.csv", "m", *TAGS[:4], "--quiet", "--skip-unlabelled"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "m", "t.csv", "--label-separator", "pipe"]) == 1
    assert "m has one label for each sample" in error_line(capsys)
