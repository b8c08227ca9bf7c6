"""What files of tables may be: separators, spreadsheets, and numbers that cannot be read."""

import json

import pytest

from multimargin import load_model
from multimargin.cli import main
from tests.cli.commands import error_line
from tests.cli.tables.table_files import LABELS, TRAIN, rows, write

NUMBERS = ["train", "train.csv", "m", "--numeric", "price,size", "--label", "label", "--quiet"]


@pytest.mark.parametrize(
    ("separator", "names"),
    [("\t", ["tab", "\\t", "\t"]), ("|", ["pipe", "|"]), (";", ["semicolon"]), ("~", ["~"])],
)
def test_separators_are_found_or_given(folder, separator, names, capsys):
    for part, seed in (("train", 1), ("test", 2)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            lines = [("text", "price", "kind", "label"), *rows(60, seed)]
            file.writelines(separator.join(row) + "\n" for row in lines)
    for name in names:
        assert main([*TRAIN, "--delimiter", name]) == 0
        assert load_model("m").n_features_in_ > 10
        assert main(["predict", "m", "test.csv", "-o", "out", "--delimiter", name]) == 0
        assert (folder / "out").read_text().splitlines() == LABELS * 2
        assert main(["evaluate", "m", "test.csv", "--json", "--delimiter", name]) == 0
        assert json.loads(capsys.readouterr().out)["error"] == 0
    if separator != "~":
        whole = (folder / "m").read_bytes()
        assert main(TRAIN) == 0
        assert (folder / "m").read_bytes() == whole
    else:
        assert main(TRAIN) == 1
        assert "which is the only one: --delimiter" in error_line(capsys)


def test_with_a_separator_any_name_is_a_table(folder):
    (folder / "train.csv").rename("train.dat")
    assert main(["train", "train.dat", *TRAIN[2:], "--delimiter", "comma"]) == 0


@pytest.mark.parametrize("wrong", ["commas", "", '"'])
def test_separators_that_cannot_be(folder, wrong, capsys):
    assert main([*TRAIN, "--delimiter", wrong]) == 2
    assert "is neither one character nor one of tab, comma" in capsys.readouterr().err


def test_separators_are_of_text_tables(folder, capsys):
    (folder / "d.svm").write_text("1 1:1\n2 2:1\n")
    assert main(["train", "d.svm", "s", "--delimiter", "tab"]) == 1
    assert "--delimiter is for tables" in error_line(capsys)
    assert main(["train", "d.svm", "s", "--quiet"]) == 0
    assert main(["evaluate", "s", "d.svm", "--delimiter", "tab"]) == 1
    assert "--delimiter is for models of tables" in error_line(capsys)


@pytest.mark.parametrize("ending", ["xlsx", "xls"])
def test_spreadsheets_are_refused(trained, ending, capsys):
    name = f"data.{ending}"
    (trained / name).write_bytes(b"PK\3\4")
    for command in (
        ["train", name, "n"],
        ["train", name, "n", "--text", "text", "--label", "label"],
        ["tune", name, "--text", "text", "--label", "label"],
        ["predict", "m", name, "-o", "out"],
        ["evaluate", "m", name],
        ["explain", "m", "--data", name, "--row", "1"],
    ):
        assert main(command) == 1
        line = error_line(capsys)
        assert f"{name}: spreadsheets (.{ending}) cannot be read: export it as CSV" in line


def write_numbers(folder, bad):
    """Write 60 rows with two columns of numbers; `bad` has values by row and column."""
    table = []
    for i, (_, price, _, label) in enumerate(rows(60, 1)):
        table.append((bad.get((i, 0), price), bad.get((i, 1), str(i)), label))
    write(folder / "train.csv", table, ("price", "size", "label"))


def test_one_number_that_cannot_be_read(folder, capsys):
    write_numbers(folder, {(3, 1): "1 m"})
    assert main(NUMBERS) == 1
    assert error_line(capsys) == (
        "multimargin: error: train.csv:5: column 'size': '1 m' is not a number\n"
    )


def test_all_numbers_that_cannot_be_read_are_told_at_once(folder, capsys):
    bad = {(i, 0): f"x{i}" for i in range(7, 20)} | {(8, 1): "y", (2, 1): "1e200"}
    write_numbers(folder, bad | {(1, 0): "n/a", (0, 1): ""})  # which say that there is none
    assert main(NUMBERS) == 1
    assert error_line(capsys) == (
        "multimargin: error: 15 values cannot be used: "
        "train.csv:4: column 'size': 1e+200 is too large; at most 1e+150 can be used; "
        "train.csv:9: column 'price': 'x7' is not a number; "
        "train.csv:10: column 'price': 'x8' is not a number; "
        "train.csv:10: column 'size': 'y' is not a number; "
        "train.csv:11: column 'price': 'x9' is not a number; "
        "and 10 more. Correct them, or leave them empty\n"
    )
    write_numbers(folder, {(2, 0): "x", (4, 0): "y"})
    assert main(NUMBERS) == 1
    assert "2 values cannot be used: " in (line := error_line(capsys))
    assert "more" not in line


def test_numbers_that_cannot_be_read_in_predictions(folder, capsys):
    write_numbers(folder, {})
    assert main(NUMBERS) == 0
    write_numbers(folder, {(0, 0): "x", (1, 0): "1e40", (2, 0): "1e41"})
    assert main(["predict", "m", "train.csv", "-o", "out"]) == 1
    assert "train.csv:2: column 'price': 'x' is not a number" in error_line(capsys)
    write_numbers(folder, {(1, 0): "1e40", (2, 0): "1e41"})
    assert main(["predict", "m", "train.csv", "-o", "out"]) == 1
    line = error_line(capsys)
    assert "2 values cannot be used: train.csv:3: column 'price': 1e+40 is too far from" in line
    assert "train.csv:4: column 'price': 1e+41 is too far" in line
