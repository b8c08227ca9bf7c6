"""``multimargin demo`` and ``multimargin data example``."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from multimargin import load_model, read_table
from multimargin.cli import main
from tests.cli.commands import error_line


@pytest.fixture
def small_wordnet(monkeypatch):
    import multimargin.datasets

    words = ("dog", "bow", "bread", "city", "skin", "run")
    texts = list(words) * 5
    y = np.array([f"{w}_kind.{'v' if w == 'run' else 'n'}#n1" for w in words] * 5)
    data = Bunch(texts_train=texts, y_train=y, texts_test=[*texts, "xyzzy"])
    data.y_test = np.append(y, "none.n#n1")  # which has no feature and is left out
    data.target_names = np.unique(y)
    monkeypatch.setattr(multimargin.datasets, "load_wordnet_texts", lambda: data)


def test_demo_script(small_wordnet, capsys, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked for input"))
    assert main(["demo", "--script", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "30 definitions, 6 classes" in out
    assert "test error      0.00 %" in out
    answers = out[out.index("a small dog") :].splitlines()
    assert answers[1].endswith("dog kind (noun)")
    assert "run kind (verb)" in out


@pytest.mark.parametrize("end", ["", EOFError])
def test_demo_conversation(small_wordnet, capsys, monkeypatch, end):
    typed = iter(["bread with skin on it", "xyzzy", end])

    def answer(_prompt):
        line = next(typed)
        if line is EOFError:
            raise EOFError
        return line

    monkeypatch.setattr("builtins.input", answer)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    talk = out[out.index("Type a definition") :]
    assert "bread kind (noun)" in talk
    assert "none of these words" in talk


@pytest.fixture
def tiny_wordnet(monkeypatch):
    import multimargin.datasets

    texts = ["bark, bark", 'a "petal"', "tail", "bread", "city", "skin"] * 3
    y = np.array(["dog.n#1", "rose.n#2", "cat.n#3", "food.n#4", "place.n#5", "organ.n#6"] * 3)
    data = Bunch(texts_train=texts, y_train=y, texts_test=texts[:3], y_test=y[:3])
    data.target_names = np.unique(y)
    monkeypatch.setattr(multimargin.datasets, "load_wordnet_texts", lambda: data)
    return data


def test_example_data(folder, tiny_wordnet, capsys):
    for _ in range(2):  # the second time it is there already
        assert main(["data", "example", "deep/folder"]) == 0
        assert "definitions-test.csv  3 definitions" in capsys.readouterr().out
    table = read_table("deep/folder/definitions-train.csv")
    assert table["definition"].tolist() == tiny_wordnet.texts_train
    assert table["hypernym"].tolist() == tiny_wordnet.y_train.tolist()
    (folder / "deep/folder/definitions-test.csv").write_text("mine")
    assert main(["data", "example", "deep/folder"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert (folder / "deep/folder/definitions-test.csv").read_text() == "mine"


def test_demo_saves_its_model(folder, tiny_wordnet, capsys):
    assert main(["demo", "--script", "--save", "no/folder"]) == 1
    assert "no/folder" in error_line(capsys)
    assert main(["demo", "--script", "--save", "m"]) == 0
    assert "The model is saved as m." in capsys.readouterr().out
    assert load_model("m", verify=True).predict(["they bark"]).tolist() == ["dog.n#1"]
