"""``multimargin evaluate`` and ``multimargin info``."""

import json

import pytest

from multimargin import load_model, save_model
from multimargin.cli import main
from multimargin.io._array_file import read_arrays, write_arrays
from tests.cli.commands import N_FEATURES, error_line


def test_evaluate(trained, capsys):
    assert main(["evaluate", "m", "test.svm"]) == 0
    out, err = capsys.readouterr()
    assert "error           0.00 %" in out
    assert "top-4 accuracy  100.00 %" in out
    assert err == ""


def test_evaluate_a_model_that_was_put_together_by_hand(trained, capsys):
    model = load_model("m")
    del model.model_density_
    save_model(model, "m")
    assert main(["evaluate", "m", "test.svm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["density"] is None


def test_evaluate_json_and_unseen_labels(trained, capsys):
    with (trained / "test.svm").open("a") as file:
        file.write("11 1:3\n11 2:3\n12 1:3\n3 1:2.5 2:3\n")
    assert main(["evaluate", "m", "test.svm", "--json", "--top-k", "2"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == (
        "multimargin: note: 3 samples have labels the model was not trained on; they count as "
        "errors\n"
    )
    assert result["samples"] == 44
    assert result["error"] == pytest.approx(4 / 44)
    assert result["micro_f1"] == pytest.approx(40 / 44)
    assert result["top_k"] == 2
    assert result["top_k_accuracy"] == pytest.approx(41 / 44)
    assert (result["unseen_labels"], result["unseen_samples"]) == (2, 3)


def test_one_sample_with_an_unseen_label(trained, capsys):
    (trained / "test.svm").write_text("3 1:3\n11 2:3\n")
    assert main(["evaluate", "m", "test.svm"]) == 0
    assert capsys.readouterr().err == (
        "multimargin: note: 1 sample has a label the model was not trained on; it counts as an "
        "error\n"
    )


def test_info(trained, capsys):
    assert main(["info", "m"]) == 0
    out = capsys.readouterr().out
    assert "classes           4\n" in out
    assert "verified          no\n" in out
    assert main(["info", "m", "--json", "--verify"]) == 0
    result = json.loads(capsys.readouterr().out)
    model = load_model("m")
    assert result["bytes"] == (trained / "m").stat().st_size
    assert (result["classes"], result["features"], result["format"]) == (4, N_FEATURES, 1)
    assert result["verified"] is True
    assert result["converged"] is True
    assert result["dual_gap"] == model.dual_gap_
    assert result["params"]["formulation"] == "cs"


def test_info_finds_damage(trained, capsys):
    raw = bytearray((trained / "m").read_bytes())
    raw[int.from_bytes(raw[32:40], "little")] ^= 1  # the first byte of the first array
    (trained / "m").write_bytes(raw)
    assert main(["info", "m"]) == 0
    capsys.readouterr()
    assert main(["info", "m", "--verify"]) == 1
    assert "m: damaged: the checksum of array" in error_line(capsys)
    assert main(["evaluate", "m", "test.svm"]) == 1
    assert "m: damaged: the checksum of array" in error_line(capsys)


def test_forged_index_is_refused(trained, capsys):
    save_model(load_model("m").sparsify(), "m")
    meta, arrays = read_arrays("m")
    indices = arrays["coef.indices"].copy()
    indices[-1] = 2**31 - 1
    write_arrays("m", meta, {**arrays, "coef.indices": indices})
    assert main(["predict", "m", "test.svm", "-o", "-"]) == 1
    assert "not within 0..11" in error_line(capsys)
