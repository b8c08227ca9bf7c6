"""The command on tables: from a CSV of texts and labels to predictions, and what may be wrong."""

import argparse
import contextlib
import csv
import gzip
import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils import Bunch

from multimargin import TextClassifier, distributed, load_model, read_table, save_model
from multimargin.cli import main
from multimargin.cli.support._model_data import read_data_for
from tests.support.mpi import mpiexec, needs_mpi
from tests.support.paths import ROOT

WORDS = {"New York": "skyscraper subway", "rose": "petal thorn", "dog": "bark tail"}
TRAIN = ["train", "train.csv", "m", "--text", "text", "--label", "label", "--quiet"]


def rows(n, seed):
    """Rows of three labels; the text has a word of its label, and noise."""
    rng = np.random.default_rng(seed)
    noise = [f"word{i}" for i in range(9)]
    for i in range(n):
        label = list(WORDS)[i % 3]
        words = [rng.choice(WORDS[label].split()), *rng.choice(noise, 3)]
        yield " ".join(words), str(rng.integers(9)), "ab"[i % 2], label


def write(path, table, header=("text", "price", "kind", "label"), **options):
    with path.open("w", newline="", **options) as file:
        csv.writer(file).writerows([header, *table])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", rows(60, 1))
    write(tmp_path / "test.csv", rows(30, 2))
    return tmp_path


@pytest.fixture
def trained(folder):
    assert main(TRAIN) == 0
    return folder


def error_line(capsys):
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith("multimargin: error: ")
    return err


LABELS = list(WORDS) * 10


# ---------------------------------------------------------------- the three commands


def test_from_a_table_to_predictions(folder, capsys):
    assert main(["train", "train.csv", "m", "--text", "text", "--label", "label"]) == 0
    out, err = capsys.readouterr()
    assert "classes    3" in out
    assert "read 60 samples with text, label" in err
    assert main(["evaluate", "m", "test.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"] == 0
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text().splitlines() == LABELS
    model = load_model("m", verify=True)
    assert isinstance(model, TextClassifier)
    assert model.text == "text"
    assert model.preprocessing_ == {"label": "label"}


def test_info_tells_the_columns(trained, capsys):
    assert main(["info", "m"]) == 0
    out = capsys.readouterr().out
    assert "text columns         text" in out
    assert "ngram_range=(1, 1)" in out
    assert main(["info", "m", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["takes"], result["text_columns"]) == ("tables", ["text"])


def test_options_reach_the_features(folder):
    options = (
        "--numeric price --categorical kind --analyzer char_wb --ngrams 2-3 --min-df 2 "
        "--max-df 0.9 --max-features 50 --no-idf --formulation cs --C 2"
    )
    assert main([*TRAIN, *options.split()]) == 0
    model = load_model("m")
    assert (model.analyzer, model.ngram_range, model.min_df) == ("char_wb", (2, 3), 2)
    assert (model.max_df, model.max_features, model.use_idf) == (0.9, 50, False)
    assert (model.formulation, model.C) == ("cs", 2.0)
    assert model.features_.get_feature_names_out().tolist()[-3:] == ["price", "kind=a", "kind=b"]
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 0
    found = (folder / "out").read_text().splitlines()
    assert np.mean([a == b for a, b in zip(found, LABELS, strict=True)]) > 0.6


def test_numbers_alone(folder):
    command = ["train", "train.csv", "m", "--numeric", "price", "--categorical", "kind"]
    assert main([*command, "--label", "label", "--quiet"]) == 0
    assert load_model("m").n_features_in_ == 3


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet", "csv.gz"])
def test_other_formats(folder, suffix):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv("train.csv")
    name = f"other.{suffix}"
    if suffix == "tsv":
        frame.to_csv(name, sep="\t", index=False)
    elif suffix == "jsonl":
        frame.to_json(name, orient="records", lines=True)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(name)
    else:
        frame.to_csv(name, index=False)
    for data, model in (("train.csv", "m"), (name, "n")):
        columns = ["--text", "text", "--numeric", "price", "--label", "label"]
        assert main(["train", data, model, "--quiet", *columns]) == 0
    assert (folder / "m").read_bytes() == (folder / "n").read_bytes()


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_predictions_as_a_table(trained, suffix):
    assert main(["predict", "m", "test.csv", "-o", f"out.{suffix}"]) == 0
    table = read_table(f"out.{suffix}")
    assert table.columns == ["label", "score"]
    assert table["label"].tolist() == LABELS
    assert main(["predict", "m", "test.csv", "-o", f"out.{suffix}", "--top-k", "2"]) == 0
    table = read_table(f"out.{suffix}")
    assert table.columns == ["label_1", "score_1", "label_2", "score_2"]
    first, second = (table[f"score_{k}"].astype(float) for k in (1, 2))
    assert (first >= second).all()


def test_labels_with_spaces_are_separated_by_tabs(trained):
    assert main(["predict", "m", "test.csv", "-o", "out", "--top-k", "2"]) == 0
    pairs = (trained / "out").read_text().splitlines()[0].split("\t")
    assert pairs[0].rpartition(":")[0] == "New York"
    assert len(pairs) == 2


def test_labels_with_line_breaks(folder, capsys):
    table = [(text, "two\nlines" if label == "dog" else label) for text, *_, label in rows(60, 1)]
    write(folder / "train.csv", table, ("text", "label"))
    assert main(TRAIN) == 0
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 1
    assert "'two\\nlines' has a line break or a tab in it: write a table" in error_line(capsys)
    assert main(["predict", "m", "test.csv", "-o", "out.csv"]) == 0
    expected = ["two\nlines" if label == "dog" else label for label in LABELS]
    assert read_table("out.csv")["label"].tolist() == expected


@pytest.mark.parametrize("name", ["out.csv.gz", "out.parquet"])
def test_tables_that_cannot_be_written(trained, capsys, name):
    assert main(["predict", "m", "test.csv", "-o", name]) == 1
    assert "tables are written as csv, tsv, jsonl, and not compressed" in error_line(capsys)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("labels", "kind"), [(["1", "2", "-3"], "i"), (["1", "2", "x"], "U"), (["01", "02", "3"], "U")]
)
def test_integers_are_numbers_if_all_are(folder, labels, kind, capsys):
    names = dict(zip(WORDS, labels, strict=True))
    for part, seed in (("train", 1), ("test", 2)):
        table = [(text, names[label]) for text, *_, label in rows(60, seed)]
        write(folder / f"{part}.csv", table, ("text", "label"))
    assert main(TRAIN) == 0
    assert load_model("m").classes_.dtype.kind == kind
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text().splitlines() == labels * 20
    # A part of the labels is still what it was, whatever it looks like alone.
    write(folder / "one.csv", [row for row in table if row[1] != "x"], ("text", "label"))
    assert main(["evaluate", "m", "one.csv", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["error"], result["unseen_labels"]) == (0, 0)


def test_rows_without_a_label(folder, capsys):
    table = [*rows(60, 1), ("text without label", "1", "a", " ")]
    write(folder / "train.csv", table)
    assert main(TRAIN) == 1
    assert "train.csv:62: the label in column 'label' is empty" in error_line(capsys)
    assert main([*TRAIN, "--skip-unlabelled"]) == 0
    assert "1 rows without a label are left out" in capsys.readouterr().err
    assert load_model("m").classes_.tolist() == sorted(WORDS)
    assert main(["evaluate", "m", "train.csv"]) == 1
    assert "--skip-unlabelled" in error_line(capsys)
    assert main(["evaluate", "m", "train.csv", "--skip-unlabelled", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["samples"] == 60
    assert "1 rows without a label are left out" in said.err


def test_a_label_seen_once(folder):
    write(folder / "train.csv", [*rows(60, 1), ("unique thing", "1", "a", "lonely")])
    assert main(TRAIN) == 0
    write(folder / "q.csv", [("a unique thing",)], ("text",))
    assert main(["predict", "m", "q.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text() == "lonely\n"


# ---------------------------------------------------------------- texts


def test_empty_and_unknown_texts_are_counted(trained, capsys):
    write(trained / "q.csv", [("", "x"), ("xyzzy", "y"), ("a bark", "z")], ("text", "other"))
    assert main(["predict", "m", "q.csv", "-o", "out"]) == 0
    assert "note: 2 of 3 rows have no word that the model knows" in capsys.readouterr().err
    lines = (trained / "out").read_text().splitlines()
    assert lines[2] == "dog"
    assert lines[0] == lines[1]


def test_columns_of_other_names(trained, capsys):
    write(trained / "q.csv", [("bark", "dog"), ("petal", "rose")], ("words", "truth"))
    assert main(["predict", "m", "q.csv", "-o", "out"]) == 1
    assert "no column 'text'. There are 'words', 'truth'" in error_line(capsys)
    assert main(["predict", "m", "q.csv", "-o", "out", "--text", "words"]) == 0
    assert (trained / "out").read_text() == "dog\nrose\n"
    command = ["evaluate", "m", "q.csv", "--text", "words"]
    assert main(command) == 1
    assert "no column 'label'" in error_line(capsys)
    assert main([*command, "--label", "truth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"] == 0


def test_labels_are_optional_where_they_are_not_needed(trained, capsys):
    model = distributed.load_model("m")
    args = argparse.Namespace(model="m", data="test.csv", threads=None)
    X, y = read_data_for(model, args, labelled=True)
    assert model.predict(X).tolist() == y.tolist() == LABELS
    write(trained / "q.csv", [("bark",)], ("text",))
    args.data = "q.csv"
    X, y = read_data_for(model, args, labelled=False)
    assert (model.predict(X).tolist(), y) == (["dog"], None)


def test_a_model_trained_on_texts_without_columns(folder, capsys):
    model = TextClassifier(random_state=0).fit(["bark", "petal"], ["dog", "rose"])
    save_model(model, "m")
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 1
    assert "texts without columns: say which column" in error_line(capsys)
    write(folder / "q.csv", [("bark",), ("petal",)], ("words",))
    assert main(["predict", "m", "q.csv", "-o", "out", "--text", "words"]) == 0
    assert (folder / "out").read_text() == "dog\nrose\n"
    assert main(["evaluate", "m", "q.csv", "--text", "words"]) == 1
    assert "--label COLUMN" in error_line(capsys)


def test_encodings(folder, capsys):
    table = [(f"{text} über", label) for text, *_, label in rows(60, 1)]
    write(folder / "train.csv", table, ("text", "label"), encoding="cp1252")
    assert main(TRAIN) == 1
    assert "(0xfc) is not utf-8: give the encoding" in error_line(capsys)
    assert main([*TRAIN, "--encoding", "cp1252"]) == 0
    assert "über" in load_model("m").features_.get_feature_names_out()
    (folder / "m").unlink()
    assert main([*TRAIN, "--encoding", "klingon"]) == 1
    assert "encoding 'klingon' is not known" in error_line(capsys)
    write(folder / "train.csv", table, ("text", "label"), encoding="utf-16-be")
    assert main([*TRAIN, "--encoding", "utf-16"]) == 1
    assert "seems to be utf-16-be" in error_line(capsys)


# ---------------------------------------------------------------- what is refused

COLUMNS = ["--text", "text", "--label", "label"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.csv", "m"], "train.csv is a table: say which column"),
        (["train.csv", "m", "--label", "label"], "--label is for tables: say which column"),
        (["train.csv", "m", "--ngrams", "1-2"], "--ngrams is for tables"),
        (["train.csv", "m", "--text", "text"], "say which column holds the labels: --label"),
        (["data.svm", "m", *COLUMNS], "LIBSVM text has no columns: leave --text and --label out"),
        (["train.csv", "m", *COLUMNS, "--normalize", "l2"], "--normalize is for LIBSVM text"),
        (["train.csv", "m", *COLUMNS, "--dtype", "float64"], "--dtype is for LIBSVM text"),
        (["train.csv", "m", "--text", "txt", "--label", "label"], "did you mean 'text'?"),
        (["train.csv", "m", *COLUMNS, "--numeric", "kind"], "train.csv:2: column 'kind': 'a' is"),
        (["train.csv", "m", *COLUMNS, "--numeric", "label"], "it cannot be a feature, too"),
        (["train.csv", "m", *COLUMNS, "--numeric", "text"], "column 'text' is named twice"),
        (["train.csv", "m", *COLUMNS, "--min-df", "1000"], "the texts give no features"),
        (["train.csv", "m", *COLUMNS, "--format", "jsonl"], "train.csv:1: no JSON"),
        (["same.csv", "m", *COLUMNS], "all 2 rows have the label x in column 'label'"),
        (["train.csv", "train.csv", *COLUMNS], "also the input"),
        (["none.csv", "m", *COLUMNS], "none.csv: No such file"),
        (
            ["train.csv", "m", "--numeric", "price", "--label", "label", "--no-idf"],
            "--no-idf is for texts",
        ),
    ],
)
def test_train_refuses(folder, capsys, arguments, message):
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n")
    write(folder / "same.csv", [("a b", "x"), ("b c", "x")], ("text", "label"))
    assert main(["train", *arguments, "--quiet"]) == 1
    assert message in error_line(capsys)
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    "option", [["--ngrams", "2-1"], ["--min-df", "-1"], ["--max-df", "x"], ["--numeric", "a,,b"]]
)
def test_options_that_cannot_be(folder, capsys, option):
    assert main([*TRAIN, *option]) == 2
    assert option[1] in capsys.readouterr().err


def test_models_and_data_that_do_not_go_together(trained, capsys):
    (trained / "data.svm").write_text("1 1:1\n2 2:1\n3 3:1\n" * 5)
    assert main(["train", "data.svm", "s", "--quiet"]) == 0
    assert main(["predict", "s", "test.csv", "-o", "out"]) == 1
    assert "test.csv is a table, but s was trained on LIBSVM text" in error_line(capsys)
    assert main(["evaluate", "s", "data.svm", "--label", "x"]) == 1
    assert "--label is for models of tables" in error_line(capsys)
    assert main(["predict", "m", "data.svm", "-o", "out"]) == 1
    assert "m takes tables" in error_line(capsys)
    save_model(load_model("m"), "other", preprocessing={"stemmed": True})
    assert main(["predict", "other", "test.csv", "-o", "out"]) == 1
    assert "stemmed=True, which this command cannot repeat" in error_line(capsys)
    assert not (trained / "out").exists()


def test_truncated_data_leaves_the_old_predictions(trained, capsys):
    packed = gzip.compress((trained / "test.csv").read_bytes())
    (trained / "test.csv.gz").write_bytes(packed[:-20])
    (trained / "out.csv").write_text("precious\n")
    assert main(["predict", "m", "test.csv.gz", "-o", "out.csv"]) == 1
    assert "truncated" in error_line(capsys)
    assert (trained / "out.csv").read_text() == "precious\n"


# ---------------------------------------------------------------- ranks


@needs_mpi
def test_ranks_write_the_same_file(folder):
    train = [*TRAIN, "--categorical", "kind", "--bundles", "3", "--threads", "1"]
    assert main(train) == 0
    one = (folder / "m").read_bytes()
    (folder / "m").unlink()
    commands = [
        train,
        ["predict", "m", "test.csv", "-o", "out.csv", "--top-k", "2"],
        ["evaluate", "m", "test.csv", "--json"],
    ]
    (folder / "commands.json").write_text(json.dumps(commands))
    script = ROOT / "tests" / "support" / "mpi_commands.py"
    result = mpiexec(2, [script, "commands.json"], timeout=120, cwd=folder)
    assert result.status == 0, result.output
    assert '"error": 0.0' in result.stdout
    assert (folder / "m").read_bytes() == one
    assert read_table("out.csv")["label_1"].tolist() == LABELS


# ---------------------------------------------------------------- the example and the demo


@pytest.fixture
def small_wordnet(monkeypatch):
    import multimargin.datasets

    texts = ["bark, bark", 'a "petal"', "tail", "bread", "city", "skin"] * 3
    y = np.array(["dog.n#1", "rose.n#2", "cat.n#3", "food.n#4", "place.n#5", "organ.n#6"] * 3)
    data = Bunch(texts_train=texts, y_train=y, texts_test=texts[:3], y_test=y[:3])
    data.target_names = np.unique(y)
    monkeypatch.setattr(multimargin.datasets, "load_wordnet_texts", lambda: data)
    return data


def test_example_data(folder, small_wordnet, capsys):
    for _ in range(2):  # the second time it is there already
        assert main(["data", "example", "deep/folder"]) == 0
        assert "definitions-test.csv  3 definitions" in capsys.readouterr().out
    table = read_table("deep/folder/definitions-train.csv")
    assert table["definition"].tolist() == small_wordnet.texts_train
    assert table["hypernym"].tolist() == small_wordnet.y_train.tolist()
    (folder / "deep/folder/definitions-test.csv").write_text("mine")
    assert main(["data", "example", "deep/folder"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert (folder / "deep/folder/definitions-test.csv").read_text() == "mine"


def test_demo_saves_its_model(folder, small_wordnet, capsys):
    assert main(["demo", "--script", "--save", "no/folder"]) == 1
    assert "no/folder" in error_line(capsys)
    assert main(["demo", "--script", "--save", "m"]) == 0
    assert "The model is saved as m." in capsys.readouterr().out
    assert load_model("m", verify=True).predict(["they bark"]).tolist() == ["dog.n#1"]


def test_labels_of_which_most_are_seen_once(folder, capsys):
    """Not worth a warning: with thousands of classes it is the rule."""
    write(folder / "train.csv", [(f"word{i} same", "1", "a", f"l{i}") for i in range(40)])
    assert main(TRAIN) == 0
    assert capsys.readouterr().err == ""


def test_a_label_of_eighteen_digits(folder, capsys):
    labels = ["999999999999999999", "-999999999999999998", "7"]
    table = [(f"word{i} same", "1", "a", label) for i, label in enumerate(labels)]
    write(folder / "train.csv", table)
    assert main(TRAIN) == 0
    for label in labels:
        assert main(["info", "m", "--class", label]) == 0
        assert capsys.readouterr().out.startswith(f"{label}: ")


def test_a_label_with_a_line_break_stays_on_its_line(folder, capsys):
    table = [("petal thorn", "1", "a", "two\nlines"), ("bark tail", "1", "a", "one")]
    write(folder / "train.csv", table)
    assert main(TRAIN) == 0
    for command in (["info", "m", "--class", "one"], ["explain", "m", "petal"]):
        assert main(command) == 0
        assert "two lines" in capsys.readouterr().out


def test_a_label_with_a_nul_is_refused(folder, capsys):
    rows = [{"text": "petal thorn", "label": "a\0"}, {"text": "bark tail", "label": "a"}]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["train", "train.jsonl", *TRAIN[2:]]) == 1
    assert error_line(capsys).endswith("train.jsonl:1: the label in column 'label' holds a NUL\n")


# ---------------------------------------------------------------- what a terminal would obey

RED, BACKWARDS, JOINED = "\x1b[31mred\x1b[0m", "\u202edrawkcab\u202c", "می\u200cروم"


@pytest.fixture
def obeyed(folder):
    names = dict(zip(WORDS, (RED, BACKWARDS, JOINED), strict=True))
    for path, n, seed in ((folder / "train.csv", 60, 1), (folder / "test.csv", 30, 2)):
        write(path, [(*row, names[label]) for *row, label in rows(n, seed)], encoding="utf-8")
    assert main(TRAIN) == 0
    return list(names.values()) * 10


def test_labels_that_a_terminal_would_obey_are_escaped(obeyed, capsys):
    capsys.readouterr()
    for command in (
        ["info", "m", "--class", RED],
        ["explain", "m", "skyscraper"],
        ["report", "m", "test.csv"],
        ["tune", *TRAIN[1:2], *TRAIN[3:], "--formulations", "ww", "--C", "1"],
    ):
        assert main(command) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out
        if command[0] != "tune":
            assert r"\x1b[31mred\x1b[0m" in out
            assert r"\u202edrawkcab" in out
            assert JOINED in out
    assert main(["info", RED]) == 1
    assert r"\x1b[31mred\x1b[0m: No such file" in error_line(capsys)
    assert main(["explain", "m", "skyscraper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == RED


def on_terminal(*command):
    """What a terminal is sent."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "multimargin", *command], stdout=theirs, check=False
        )
        os.close(theirs)
        sent = b""
        with contextlib.suppress(OSError):  # what a terminal says at its end
            while more := os.read(ours, 1 << 16):
                sent += more
    finally:
        os.close(ours)
    assert done.returncode == 0
    return sent.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_predictions_are_escaped_on_a_terminal_only(obeyed, folder, capsys, out):
    found = on_terminal("predict", "m", "test.csv", "-o", out)
    escapes = {RED: r"\x1b[31mred\x1b[0m", BACKWARDS: r"\u202edrawkcab\u202c", JOINED: JOINED}
    assert found.splitlines() == [escapes[label] for label in obeyed]
    assert "\x1b" not in on_terminal("predict", "m", "test.csv", "-o", out, "--top-k", "2")
    capsys.readouterr()
    assert main(["predict", "m", "test.csv", "-o", "-"]) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == obeyed
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text(encoding="utf-8").split("\n")[:-1] == obeyed
