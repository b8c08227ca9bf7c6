"""``multimargin predict`` to a table: the columns of the input, labels, scores and the margin."""

import csv
import json

import pytest

from multimargin import load_model, read_table
from multimargin.cli import main
from tests.cli.commands import error_line
from tests.cli.tables.table_files import LABELS, TRAIN, rows, write

NEW = ["label", "score", "margin"]


def frame_of(path):
    return path.read_text().splitlines()


@pytest.fixture
def asked(trained):
    table = [(i, *row) for i, row in enumerate(rows(30, 2))]
    write(trained / "q.csv", table, ("id", "text", "price", "kind", "label"))
    return trained


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("keep", [[], ["--keep", "all"]])
def test_all_columns_are_kept_before_the_new_ones(asked, suffix, keep, capsys):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    assert main(["predict", "m", "q.csv", "-o", f"out.{suffix}", *keep]) == 0
    assert capsys.readouterr().err == (
        "multimargin: note: columns of the input are kept under another name: 'label' as "
        "'input_label'\n"
    )
    found, given = read_table(f"out.{suffix}"), read_table("q.csv")
    assert found.columns == ["id", "text", "price", "kind", "input_label", *NEW]
    assert found["label"].tolist() == LABELS
    for name in ("id", "text", "price", "kind"):
        assert found[name].tolist() == given[name].tolist()
    assert found["input_label"].tolist() == given["label"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_the_margin_is_the_best_score_less_the_second(asked, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    options = ["--keep", "none", "--top-k", "2"]
    assert main(["predict", "m", "q.csv", "-o", f"out.{suffix}", *options]) == 0
    table = read_table(f"out.{suffix}")
    assert table.columns == ["label_1", "score_1", "label_2", "score_2", "margin"]
    first, second, margin = (table[n].astype(float) for n in ("score_1", "score_2", "margin"))
    assert (margin > 0).all()
    assert first - second == pytest.approx(margin, abs=1e-5)
    assert main(["predict", "m", "q.csv", "-o", f"one.{suffix}", "--keep", "none"]) == 0
    one = read_table(f"one.{suffix}")
    assert one.columns == NEW
    assert one["score"].tolist() == table["score_1"].tolist()
    assert one["margin"].tolist() == table["margin"].tolist()
    best, scores = load_model("m").predict_topk(read_table("q.csv"), 2)
    assert one["label"].tolist() == best[:, 0].tolist()
    assert margin == pytest.approx(scores[:, 0] - scores[:, 1], rel=1e-4)


def test_some_columns_in_the_order_in_which_they_are_named(asked):
    assert main(["predict", "m", "q.csv", "-o", "out.csv", "--keep", "price,id"]) == 0
    assert read_table("out.csv").columns == ["price", "id", *NEW]


def test_columns_that_are_not_there_are_named(asked, capsys):
    assert main(["predict", "m", "q.csv", "-o", "out.csv", "--keep", "ids"]) == 1
    assert "q.csv:1: there is no column 'ids'; did you mean 'id'?" in error_line(capsys)


def test_names_that_are_taken(asked, capsys):
    columns = ("score", "text", "margin", "input_score")
    write(asked / "q.csv", [("1", "a bark", "2", "3")], columns)
    assert main(["predict", "m", "q.csv", "-o", "out.csv"]) == 0
    found = read_table("out.csv")
    renamed = ["input_input_score", "text", "input_margin", "input_score"]
    assert found.columns == [*renamed, *NEW]
    assert [found[name][0] for name in renamed] == ["1", "a bark", "2", "3"]
    assert "'score' as 'input_input_score', 'margin' as 'input_margin'" in capsys.readouterr().err
    # Names of the new columns differ with --top-k, and so do those that are taken.
    assert main(["predict", "m", "q.csv", "-o", "out.csv", "--top-k", "1"]) == 0
    assert read_table("out.csv").columns[:4] == ["score", "text", "input_margin", "input_score"]


def test_columns_without_a_name_of_their_own_are_left_out(asked, capsys):
    write(asked / "q.csv", [("a bark", "1", "2", "3")], ("text", "x", "x", ""))
    assert main(["predict", "m", "q.csv", "-o", "out.csv"]) == 0
    assert read_table("out.csv").columns == ["text", *NEW]
    assert "are not kept: 'x', ''" in capsys.readouterr().err
    assert main(["predict", "m", "q.csv", "-o", "out.csv", "--keep", "x"]) == 1
    assert "2 columns are named 'x'" in error_line(capsys)


def test_values_of_json_lines_are_kept_as_they_are(asked):
    records = [
        {"text": "a bark", "tags": ["x", {"y": 1}], "n": 1.5, "ok": True, "none": None},
        {"text": "a petal", "late": "ü"},
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (asked / "q.jsonl").write_text(lines)
    assert main(["predict", "m", "q.jsonl", "-o", "out.jsonl"]) == 0
    first, second = map(json.loads, frame_of(asked / "out.jsonl"))
    assert {name: first[name] for name in records[0]} == records[0]
    assert (first["late"], second["late"], second["tags"]) == (None, "ü", None)
    assert (first["label"], second["label"]) == ("dog", "rose")
    assert main(["predict", "m", "q.jsonl", "-o", "out.csv"]) == 0
    with (asked / "out.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert json.loads(cells[0]["tags"]) == ["x", {"y": 1}]
    assert (cells[0]["none"], cells[1]["tags"], cells[1]["late"]) == ("", "", "ü")


def test_values_of_parquet_are_kept(asked, capsys):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"text": ["a bark", "a petal"], "n": [1, 2], "x": [0.5, None]})
    frame["day"] = pandas.to_datetime(["2024-01-02", "2024-01-03"])
    frame["raw"] = [b"\0", b"\1"]
    frame.to_parquet("q.parquet")
    assert main(["predict", "m", "q.parquet", "-o", "out.parquet"]) == 0
    assert "are not kept: 'raw'" in capsys.readouterr().err
    found = pandas.read_parquet("out.parquet")
    assert found.columns.tolist() == ["text", "n", "x", "day", *NEW]
    assert found["n"].tolist() == [1, 2]
    assert found["x"].isna().tolist() == [False, True]
    assert found["day"].tolist() == frame["day"].tolist()
    assert main(["predict", "m", "q.parquet", "-o", "out.jsonl"]) == 0
    last = json.loads(frame_of(asked / "out.jsonl")[-1])
    assert (last["n"], last["x"], last["day"]) == (2, None, "2024-01-03 00:00:00")


def test_columns_of_mixed_kinds_are_no_parquet(asked, capsys):
    pytest.importorskip("pyarrow")
    (asked / "q.jsonl").write_text('{"text": "bark", "n": 1}\n{"text": "bark", "n": "x"}\n')
    (asked / "out.parquet").write_text("precious")
    assert main(["predict", "m", "q.jsonl", "-o", "out.parquet"]) == 1
    assert "column 'n' cannot be written as Parquet" in error_line(capsys)
    assert (asked / "out.parquet").read_text() == "precious"


def test_texts_under_another_name_are_kept_too(asked):
    write(asked / "q.csv", [("7", "a bark")], ("id", "words"))
    assert main(["predict", "m", "q.csv", "-o", "out.csv", "--text", "words"]) == 0
    assert read_table("out.csv").columns == ["id", "words", *NEW]
    assert read_table("out.csv")["label"].tolist() == ["dog"]


def test_a_model_of_two_classes(folder):
    table = [row for row in rows(60, 1) if row[-1] != "dog"]
    write(folder / "train.csv", table)
    assert main(TRAIN) == 0
    assert main(["predict", "m", "train.csv", "-o", "out.csv", "--keep", "none"]) == 0
    found = read_table("out.csv")
    scores, margins = (found[name].astype(float) for name in ("score", "margin"))
    assert margins == pytest.approx(2 * scores, rel=1e-4)  # the other class has the opposite


@pytest.mark.parametrize(
    ("name", "ending"),
    [("out.xlsx", ".xlsx"), ("out.csv.gz", ".gz"), ("out.XLS", ".xls"), ("out.html", ".html")],
)
def test_unknown_endings_of_the_output_are_refused(asked, capsys, name, ending):
    assert main(["predict", "m", "q.csv", "-o", name]) == 1
    assert error_line(capsys) == (
        f"multimargin: error: {name}: predictions are not written as {ending}: name it .csv, .tsv, "
        ".jsonl or .parquet for a table, or .txt or without an ending for one label on each line\n"
    )
    assert not (asked / name).exists()


def test_lines_of_labels_keep_nothing(asked, capsys):
    assert main(["predict", "m", "q.csv", "-o", "out.txt"]) == 0
    assert frame_of(asked / "out.txt") == LABELS
    for output in ("out.txt", "-"):
        assert main(["predict", "m", "q.csv", "-o", output, "--keep", "id"]) == 1
        assert "--keep is for tables: -o OUT with one of .csv, .tsv" in error_line(capsys)


def test_libsvm_text_has_no_columns_to_keep(folder, capsys):
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n" * 5)
    assert main(["train", "data.svm", "m", "--quiet"]) == 0
    assert main(["predict", "m", "data.svm", "-o", "out.csv"]) == 0
    assert read_table("out.csv").columns == NEW
    assert main(["predict", "m", "data.svm", "-o", "out.csv", "--keep", "id"]) == 1
    assert "--keep is for models of tables; m takes LIBSVM text" in error_line(capsys)


def test_parquet_without_pyarrow_is_told_before_the_work(asked, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["predict", "missing", "q.csv", "-o", "out.parquet"]) == 1
    assert 'pip install "multimargin[parquet]"' in error_line(capsys)
