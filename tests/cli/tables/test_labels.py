"""Labels of tables: numbers, texts, none, and what a terminal would obey."""

import contextlib
import json
import os
import pty

import pytest

from multimargin import load_model
from multimargin.cli import main
from tests.cli.commands import error_line
from tests.cli.tables.table_files import TRAIN, WORDS, rows, write


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
    assert error_line(capsys) == (
        "multimargin: error: train.csv:62: the label in column 'label' is empty; --skip-unlabelled "
        "leaves out rows without a label\n"
    )
    assert main([*TRAIN, "--skip-unlabelled"]) == 0
    assert "1 row without a label is left out" in capsys.readouterr().err
    assert load_model("m").classes_.tolist() == sorted(WORDS)
    assert main(["evaluate", "m", "train.csv"]) == 1
    assert "--skip-unlabelled" in error_line(capsys)
    assert main(["evaluate", "m", "train.csv", "--skip-unlabelled", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["samples"] == 60
    assert "1 row without a label is left out" in said.err


def test_several_rows_without_a_label(folder, capsys):
    write(folder / "train.csv", [*rows(60, 1), *[("no label", "1", "a", "")] * 3])
    assert main(TRAIN) == 1
    assert "is empty, here and in 2 other rows; --skip" in error_line(capsys)
    assert main([*TRAIN, "--skip-unlabelled"]) == 0
    assert "3 rows without a label are left out" in capsys.readouterr().err


def test_a_label_seen_once(folder):
    write(folder / "train.csv", [*rows(60, 1), ("unique thing", "1", "a", "lonely")])
    assert main(TRAIN) == 0
    write(folder / "q.csv", [("a unique thing",)], ("text",))
    assert main(["predict", "m", "q.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text() == "lonely\n"


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


@pytest.fixture
def on_terminal(capfd):
    """Run a command with a terminal as its standard output, and return what that was sent."""

    def run(*command):
        ours, theirs = pty.openpty()
        kept = os.dup(1)
        os.dup2(theirs, 1)
        os.close(theirs)
        try:
            with (
                open(1, "w", encoding="utf-8", closefd=False) as terminal,
                contextlib.redirect_stdout(terminal),
            ):
                assert main(list(command)) == 0
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        sent = b""
        with contextlib.suppress(OSError):  # what a terminal says at its end
            while more := os.read(ours, 1 << 16):
                sent += more
        os.close(ours)
        return sent.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_predictions_are_escaped_on_a_terminal_only(obeyed, folder, on_terminal, capfd, out):
    found = on_terminal("predict", "m", "test.csv", "-o", out)
    escapes = {RED: r"\x1b[31mred\x1b[0m", BACKWARDS: r"\u202edrawkcab\u202c", JOINED: JOINED}
    assert found.splitlines() == [escapes[label] for label in obeyed]
    assert "\x1b" not in on_terminal("predict", "m", "test.csv", "-o", out, "--top-k", "2")
    capfd.readouterr()
    assert main(["predict", "m", "test.csv", "-o", "-"]) == 0
    assert capfd.readouterr().out.split("\n")[:-1] == obeyed
    assert main(["predict", "m", "test.csv", "-o", "out"]) == 0
    assert (folder / "out").read_text(encoding="utf-8").split("\n")[:-1] == obeyed
