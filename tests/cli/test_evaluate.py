"""``multimargin evaluate`` and ``multimargin info``, and the measures that they print."""

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score

from multimargin.cli import main
from multimargin.models._file import load_model, read_arrays, save_model, write_arrays
from multimargin.models._measures import measures
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
        "multimargin: note: 3 samples have one of 2 labels that the model does not know; "
        "they count as errors\n"
    )
    assert result["samples"] == 44
    assert result["error"] == pytest.approx(4 / 44)
    assert result["micro_f1"] == pytest.approx(40 / 44)
    assert result["top_k"] == 2
    assert result["top_k_accuracy"] == pytest.approx(41 / 44)
    assert (result["unseen_labels"], result["unseen_samples"]) == (2, 3)


def test_measures_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    classes = np.array([2, 3, 5, 8, 13])
    y = rng.choice([*classes, 21, 34], 300)
    best = np.array([rng.permutation(classes)[:3] for _ in y])
    result = measures(classes, y, best)
    assert result["error"] == pytest.approx((y != best[:, 0]).mean())
    assert result["top_k_accuracy"] == pytest.approx((y[:, None] == best).any(axis=1).mean())
    for average in ("micro", "macro"):
        expected = f1_score(y, best[:, 0], average=average, zero_division=0)
        assert result[f"{average}_f1"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (np.array(["1", "2", "x"]), np.array([1, 2, 2, 7])),
        (np.array([1, 2, 3]), np.array(["1", "2", "2", "x"])),
    ],
)
def test_labels_are_compared_across_types(classes, y):
    result = measures(classes, y, classes[np.array([0, 1, 1, 2])][:, None])
    assert result["error"] == pytest.approx(0.25)
    assert (result["unseen_labels"], result["unseen_samples"]) == (1, 1)


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
    assert result["params"]["formulation"] == "ww"


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
