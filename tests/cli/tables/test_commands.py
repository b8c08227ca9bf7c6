"""From a table of texts and labels to predictions: train, predict, evaluate, info."""

import json

import numpy as np
import pytest

from multimargin import TextClassifier, distributed, load_model, read_table, save_model
from multimargin.cli import build_parser, main
from multimargin.cli.support._model_data import read_data_for
from tests.cli.commands import error_line
from tests.cli.tables.table_files import LABELS, TRAIN, rows, write


def test_from_a_table_to_predictions(folder, capsys):
    assert main(["train", "train.csv", "m", "--text", "text", "--label", "label"]) == 0
    out, err = capsys.readouterr()
    assert "classes      3" in out
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


def test_empty_and_unknown_texts_are_counted(trained, capsys):
    write(trained / "q.csv", [("", "x"), ("xyzzy", "y"), ("a bark", "z")], ("text", "other"))
    assert main(["predict", "m", "q.csv", "-o", "out"]) == 0
    assert (
        "note: 2 of 3 rows have no word that the model knows; scores are" in capsys.readouterr().err
    )
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
    args = build_parser().parse_args(["evaluate", "m", "test.csv"])
    X, y, _ = read_data_for(model, args, labelled=True)
    assert model.predict(X).tolist() == y.tolist() == LABELS
    write(trained / "q.csv", [("bark",)], ("text",))
    args.data = "q.csv"
    X, y, _ = read_data_for(model, args, labelled=False)
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
