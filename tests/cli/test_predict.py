"""``multimargin predict``: files, standard output and the best k classes."""

import numpy as np
import pytest

from multimargin import load_model, save_model
from multimargin.cli import main
from tests.cli.commands import error_line, samples


def test_predict(trained):
    assert main(["predict", "m", "test.svm", "-o", "out"]) == 0
    predicted = [int(line) for line in (trained / "out").read_text().splitlines()]
    assert predicted == [3, 5, 7, 9] * 10


def test_predict_to_stdout(trained, capsys):
    assert main(["predict", "m", "test.svm", "-o", "-", "--threads", "1"]) == 0
    assert capsys.readouterr().out == "3\n5\n7\n9\n" * 10


@pytest.mark.parametrize(("k", "expected"), [(2, 2), (50, 4)])
def test_predict_top_k(trained, k, expected):
    assert main(["predict", "m", "test.svm", "-o", "out", "--top-k", str(k)]) == 0
    lines = (trained / "out").read_text().splitlines()
    assert len(lines) == 40
    for line, label in zip(lines, ["3", "5", "7", "9"] * 10, strict=True):
        pairs = [pair.rsplit(":", 1) for pair in line.split(" ")]
        scores = [float(score) for _, score in pairs]
        assert len(pairs) == expected
        assert pairs[0][0] == label
        assert scores == sorted(scores, reverse=True)


def test_predict_binary(folder):
    (folder / "two.svm").write_text(samples(60, 1, ["no", "yes"]))
    assert main(["train", "two.svm", "m", "--quiet"]) == 0
    assert main(["predict", "m", "two.svm", "-o", "out"]) == 0
    assert (folder / "out").read_text() == "no\nyes\n" * 30
    assert main(["predict", "m", "two.svm", "-o", "out", "--top-k", "2"]) == 0
    assert (folder / "out").read_text().startswith("no:")


def test_features_beyond_the_model_are_left_out(trained):
    (trained / "wide.svm").write_text("0 1:3 999999:100\n0 2:3\n")
    assert main(["predict", "m", "wide.svm", "-o", "out"]) == 0
    assert (trained / "out").read_text() == "3\n5\n"


def test_normalization_is_remembered(folder):
    assert main(["train", "train.svm", "m", "--quiet", "--normalize", "l2"]) == 0
    scaled = "".join(
        " ".join([line.split()[0], *(f"{p}e3" for p in line.split()[1:])]) + "\n"
        for line in (folder / "test.svm").read_text().splitlines()
    )
    (folder / "scaled.svm").write_text(scaled + "3\n")
    (folder / "same.svm").write_text((folder / "test.svm").read_text() + "3\n")
    for name in ("same", "scaled"):  # the last sample has no feature and stays zero
        assert main(["predict", "m", f"{name}.svm", "-o", name, "--top-k", "4"]) == 0
    rows = [(folder / name).read_text().replace(":", " ").split() for name in ("same", "scaled")]
    np.testing.assert_allclose(
        np.array(rows[0], float), np.array(rows[1], float), rtol=1e-4, atol=1e-5
    )


def test_zero_based_is_remembered(folder):
    text = "a 0:1\nb 1:1\nc 2:1\n" * 10
    (folder / "zero.svm").write_text(text)
    assert main(["train", "zero.svm", "m", "--quiet", "--zero-based"]) == 0
    assert load_model("m").n_features_in_ == 3
    assert main(["predict", "m", "zero.svm", "-o", "out"]) == 0
    assert (folder / "out").read_text() == "a\nb\nc\n" * 10


def test_preprocessing_from_elsewhere_is_refused(trained, capsys):
    save_model(load_model("m"), "other", preprocessing={"stemmed": True})
    assert main(["predict", "other", "test.svm", "-o", "-"]) == 1
    assert "stemmed=True, which this command cannot repeat" in error_line(capsys)


def test_output_is_checked_first_and_kept_on_failure(trained, capsys):
    assert main(["predict", "m", "test.svm", "-o", "no/out"]) == 1
    assert "no/out: No such file" in error_line(capsys)
    (trained / "out").write_text("precious\n")
    assert main(["predict", "m", "missing.svm", "-o", "out"]) == 1
    assert "missing.svm: No such file" in error_line(capsys)
    assert main(["predict", "m", "test.svm", "-o", "m"]) == 1
    assert "also the input m" in error_line(capsys)
    assert (trained / "out").read_text() == "precious\n"
    assert not list(trained.glob(".*.tmp"))
