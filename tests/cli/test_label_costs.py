"""Costs between labels on the command line."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import LabelTree, load_model, mean_label_cost
from multimargin.cli import main
from tests.cli.commands import error_line, samples

HIERARCHY = "root odd 3\nodd 5\nroot 7\nroot 9\n"
TREE = {"3": "odd", "5": "odd", "odd": "root", "7": "root", "9": "root"}
TRIPLES = "3 5 0.5\n5 3 4\n\n9 7 0\n"


@pytest.fixture
def files(folder):
    (folder / "hierarchy.txt").write_text(HIERARCHY)
    (folder / "costs.txt").write_text(TRIPLES)
    (folder / "hard.svm").write_text(samples(30, 5, [5, 3, 7, 9]))  # two labels are exchanged
    return folder


def results(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_hierarchy(files, formulation, capsys):
    options = ["--formulation", formulation, "--hierarchy", "hierarchy.txt", "--quiet"]
    assert main(["train", "train.svm", "m", *options, "--keep-dual"]) == 0
    model = load_model("m")
    assert model.label_cost == LabelTree(TREE)
    found = results(capsys, "evaluate", "m", "hard.svm")
    assert found["error"] > 0.4
    assert found["mean_cost"] == pytest.approx(found["error"])  # siblings cost 1
    deeper = results(
        capsys, "evaluate", "m", "hard.svm", "--hierarchy", "hierarchy.txt",
        "--hierarchy-cost", "depth",
    )  # fmt: skip
    assert deeper["mean_cost"] == pytest.approx(found["error"] / 2)
    assert main(["evaluate", "m", "train.svm", "--certify"]) == 0
    out = capsys.readouterr().out
    assert "mean cost         0.0000\n" in out and "gap" in out


def test_evaluate_a_model_that_was_trained_without(files, capsys):
    assert main(["train", "train.svm", "m", "--quiet"]) == 0
    assert "mean_cost" not in results(capsys, "evaluate", "m", "hard.svm")
    found = results(capsys, "evaluate", "m", "hard.svm", "--label-cost", "costs.txt")
    # 8 samples of label 5 are taken for 3, and 8 of 3 for 5.
    assert found["mean_cost"] == pytest.approx((8 * 4 + 8 * 0.5) / 30)


def test_label_cost(files, capsys):
    assert main(["train", "train.svm", "m", "--label-cost", "costs.txt", "--quiet"]) == 0
    model = load_model("m")
    assert sp.issparse(model.label_cost) and model.label_cost.nnz == 3
    assert (
        mean_label_cost([3, 5, 9, 3], [5, 3, 7, 9], model.label_cost, labels=[3, 5, 7, 9])
        == (0.5 + 4 + 0 + 1) / 4
    )
    assert main(["info", "m"]) == 0
    assert "label cost        exceptions\n" in capsys.readouterr().out
    assert main(["train", "train.svm", "plain", "--quiet"]) == 0
    assert not np.array_equal(load_model("plain").coef_, model.coef_)


def test_tables_and_tune(files, capsys):
    named = [("red apple", "an apple"), ("fast car", "a car"), ("green pear", "a pear")] * 6
    rows = ["text\tlabel", *(f"{text} {k}\t{label}" for k, (text, label) in enumerate(named))]
    (files / "data.tsv").write_text("\n".join(rows))
    (files / "tree.txt").write_text("fruit\tan apple\nfruit\ta pear\nthing\tfruit\nthing\ta car\n")
    table = ["data.tsv", "--text", "text", "--label", "label", "--hierarchy", "tree.txt"]
    found = results(
        capsys, "tune", *table, "--C", "1", "--folds", "2", "--measure", "mean-cost", "--quiet",
        "--model", "best",
    )  # fmt: skip
    assert {row["formulation"] for row in found["candidates"]} == {"ww", "cs"}
    assert all(row["mean_cost"] >= 0 for row in found["candidates"])
    assert load_model("best").label_cost.parents["a pear"] == "fruit"


REFUSED = [
    (
        ["--hierarchy", "hierarchy.txt", "--formulation", "llw"],
        "must be None for formulation='llw'",
    ),
    (["--hierarchy", "none.txt"], "none.txt: No such file or directory"),
    (["--hierarchy", "costs.txt", "--label-cost", "costs.txt"], "exclude each other"),
    (["--hierarchy-cost", "depth"], "--hierarchy-cost needs --hierarchy FILE"),
    (["--label-cost", "hierarchy.txt"], "hierarchy.txt:1: there is no label 'root'"),
    (["--label-cost", "two.txt"], "two.txt:1: '3 5' is not like 'label other cost'"),
    (["--label-cost", "word.txt"], "word.txt:1: the cost 'much' is no number"),
    (["--label-cost", "twice.txt"], "twice.txt:2: a second cost of '3' and '5'"),
    (["--label-cost", "minus.txt"], "got -1 for 3 and 5"),
    (["--label-cost", "own.txt"], "must be 0 on the diagonal, got 2 for 3 and 3"),
    (["--label-cost", "empty.txt"], "empty.txt: no line such as 'label other cost'"),
    (["--hierarchy", "cycle.txt"], "a cycle of parents holds the node"),
    (["--hierarchy", "few.txt"], "the label 9 is not in the tree"),
]
FILES = {
    "two": "3 5", "word": "3 5 much", "twice": "3 5 1\n3 5 2", "minus": "3 5 -1", "own": "3 3 2",
    "empty": " \n", "cycle": "a 3\n3 a", "few": "r 3\nr 5\nr 7",
}  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused(files, options, message, capsys):
    for name, text in FILES.items():
        (files / f"{name}.txt").write_text(text)
    assert main(["train", "train.svm", "m", "--quiet", *options]) == 1
    assert message in error_line(capsys)
