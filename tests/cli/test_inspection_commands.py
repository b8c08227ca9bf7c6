"""The commands explain and report, and info of a class."""

import csv
import io
import json

import pytest

from multimargin.cli import main

TEXTS = """\
text,label
where is my parcel,delivery
my parcel has not arrived,delivery
the parcel is late,delivery
i want my money back,refund
please refund my money,refund
refund for a broken cup,refund
reset my password,account
i cannot log in to my account,account
change the password of my account,account
"""
LIBSVM = "".join(f"{c} {c}:1 {c + 3}:{0.1 * i:.1f} 9:1\n" for i in range(1, 8) for c in (1, 2, 3))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "train.csv").write_text(TEXTS)
    (folder / "train.svm").write_text(LIBSVM)
    csv_file, svm_file = str(folder / "train.csv"), str(folder / "train.svm")
    options = ["--quiet", "--threads", "1", "--seed", "0"]
    text = [csv_file, str(folder / "texts"), "--text", "text", "--label", "label"]
    assert main(["train", *text, *options]) == 0
    assert main(["train", svm_file, str(folder / "numbers"), *options]) == 0
    return folder


@pytest.fixture
def folder(models, monkeypatch):
    monkeypatch.chdir(models)
    return models


def output(capsys, *argv):
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def error(capsys, *argv):
    assert main(list(argv)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


# ---------------------------------------------------------------- explain


def test_explain_a_text(folder, capsys):
    text = output(capsys, "explain", "texts", "my parcel is broken")
    assert text.startswith("delivery")
    assert "parcel" in text
    assert "best: delivery" in text
    found = json.loads(output(capsys, "explain", "texts", "my broken parcel", "-k", "1", "--json"))
    assert len(found["contributions"]) == 1
    parts = found["contributions"][0]["contribution"] + found["intercept"] + found["rest"]
    assert parts == pytest.approx(found["score"] - found["runner_up_score"])
    against = output(capsys, "explain", "texts", "parcel", "--class", "refund", "--against=account")
    assert against.startswith("refund")
    assert "account" in against.splitlines()[0]
    assert "known" in output(capsys, "explain", "texts", "xyzzy")


def test_explain_a_row(folder, capsys, monkeypatch):
    row = output(capsys, "explain", "texts", "--data", "train.csv", "--row", "3")
    assert row == output(capsys, "explain", "texts", "the parcel is late")
    monkeypatch.setattr("sys.stdin", io.StringIO("the parcel is late"))
    assert row == output(capsys, "explain", "texts", "-")
    found = json.loads(
        output(capsys, "explain", "numbers", "--data", "train.svm", "--row", "2", "--json")
    )
    assert found["label"] == 2
    # Numbered as in the file, from 1.
    assert found["contributions"][0]["feature"] == "feature 2"
    named = output(capsys, "explain", "numbers", "--data", "train.svm", "--row=2", "--against=3")
    assert "ahead of 3" in named
    behind = output(capsys, "explain", "numbers", "--data", "train.svm", "--row=2", "--class=3")
    assert "behind 2" in behind
    assert "by -" not in behind


def test_explain_says_what_is_missing(folder, capsys):
    for argv, words in (
        (["texts"], "either a TEXT"),
        (["texts", "parcel", "--data", "train.csv", "--row", "1"], "either a TEXT"),
        (["texts", "parcel", "--row", "1"], "--row is for --data"),
        (["texts", "--data", "train.csv"], "--row N"),
        (["texts", "--data", "train.csv", "--row", "10"], "9 samples"),
        (["numbers", "parcel"], "knows no words"),
        (["texts", "parcel", "--class", "refnd"], "did you mean 'refund'"),
        (["texts", "parcel", "--plot", "x.docx"], "must end in"),
        (["texts", "parcel", "--plot", "none/x.png"], "none"),
        (["nothing", "parcel"], "nothing"),
    ):
        assert words in error(capsys, "explain", *argv)


# ---------------------------------------------------------------- report and info


def test_report(folder, capsys):
    pytest.importorskip("matplotlib")
    data = folder / "test.csv"
    data.write_text(TEXTS + "refund my money,delivery\na new thing,other\n")
    text = output(capsys, "report", "texts", "test.csv", "--per-class", "r.csv", "--plot", "r.png")
    assert "2 errors in 11 samples" in text
    assert text.splitlines()[1].startswith("delivery")
    with (folder / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["label"]: row for row in csv.DictReader(file)}
    assert rows["other"]["recall"] == "0.0"
    assert rows["other"]["precision"] == ""
    assert rows["delivery"]["support"] == "4"
    assert (folder / "r.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(output(capsys, "report", "texts", "test.csv", "--json", "--sort", "f1"))
    assert found["accuracy"] == pytest.approx(9 / 11)
    assert found["classes"][0]["label"] == "other"
    assert found["confusions"][0]["total"] == 1
    assert "0 errors" in output(capsys, "report", "numbers", "train.svm")


def test_report_compares_numbers_with_texts(folder, capsys):
    (folder / "mixed.svm").write_text(LIBSVM + "new 1:1\n")
    assert "1 error in 22" in output(capsys, "report", "numbers", "mixed.svm")


def test_report_overwrites_nothing_that_it_reads(folder, capsys):
    before = (folder / "train.csv").read_bytes()
    assert "overwritten" in error(capsys, "report", "texts", "train.csv", "--per-class=train.csv")
    assert "overwritten" in error(capsys, "report", "texts", "train.csv", "--plot=train.csv")
    assert (folder / "train.csv").read_bytes() == before


def test_info_of_a_class(folder, capsys):
    text = output(capsys, "info", "texts", "--class", "refund", "-k", "2")
    assert "refund" in text
    assert "money" in text
    assert "similar:" in text
    found = json.loads(output(capsys, "info", "numbers", "--class", "2", "--json"))
    assert found["label"] == 2
    assert found["positive"][0]["feature"] == "feature 2"
    assert len(found["similar"]) == 2
    assert "did you mean" in error(capsys, "info", "texts", "--class", "refnd")
