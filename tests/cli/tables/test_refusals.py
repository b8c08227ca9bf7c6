"""Options and data that do not go together."""

import gzip

import pytest

from multimargin import load_model, save_model
from multimargin.cli import main
from tests.cli.commands import error_line
from tests.cli.tables.table_files import TRAIN, write

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
        (["train.csv", "m", *COLUMNS, "--features", "9"], "--features 9 is for LIBSVM text; for"),
        (["train.csv", "m", *COLUMNS, "--features", "both"], "features='both' needs an encoder"),
        (["data.svm", "m", "--features", "both"], "--features both is for tables: --text COLUMN"),
        (["data.svm", "m", "--encoder", "x"], "--encoder is for tables"),
        (
            ["train.csv", "m", "--numeric", "price", "--label", "label", "--encoder", "x"],
            "--encoder is for texts",
        ),
        (["train.csv", "m", *COLUMNS, "--encoder", "./none"], "encoder './none': there is no such"),
    ],
)
def test_train_refuses(folder, capsys, arguments, message):
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n")
    write(folder / "same.csv", [("a b", "x"), ("b c", "x")], ("text", "label"))
    assert main(["train", *arguments, "--quiet"]) == 1
    assert message in error_line(capsys)
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    "option",
    [
        ["--ngrams", "2-1"],
        ["--min-df", "-1"],
        ["--max-df", "x"],
        ["--numeric", "a,,b"],
        ["--features", "all"],
    ],
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
