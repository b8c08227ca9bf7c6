"""``multimargin train``: what it saves, says and refuses."""

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from multimargin import MulticlassSVC, distributed, load_model, save_model
from multimargin.cli import main
from multimargin.io import _atomic
from tests.cli.commands import error_line


def test_train_reports_and_saves(folder, capsys):
    assert main(["train", "train.svm", "m", "--C", "0.5", "--seed", "4", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert "classes      4" in out
    assert "read 120 samples with 12 features" in err
    model = load_model("m", verify=True)
    assert model.classes_.tolist() == [3, 5, 7, 9]
    assert (model.C, model.random_state, model.fit_intercept) == (0.5, 4, True)
    assert sorted(p.name for p in folder.iterdir()) == ["m", "test.svm", "train.svm"]


def test_train_quiet(folder, capfd):
    assert main(["train", "train.svm", "m", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


def test_train_json_is_all_of_stdout(folder, capfd):
    assert main(["train", "train.svm", "m", "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["samples"] == 120
    assert result["classes"] == 4
    assert result["converged"] is True
    assert result["gap"] >= 0
    assert 0 < result["density"] <= 1


def test_train_options_reach_the_estimator(folder):
    options = (
        "--formulation cs --tol 0.05 --stopping violation --no-intercept --intercept-scaling 2 "
        "--max-iter 77 --time-limit 50 --class-weight balanced --features 20 --dtype float64 "
        "--normalize l2"
    )
    assert main(["train", "train.svm", "m", "--quiet", *options.split()]) == 0
    model = load_model("m")
    assert (model.tol, model.stopping, model.max_iter) == (0.05, "violation", 77)
    assert model.formulation == "cs"
    assert (model.fit_intercept, model.intercept_scaling) == (False, 2.0)
    assert (model.time_limit, model.class_weight) == (50.0, "balanced")
    assert model.n_features_in_ == 20
    assert not np.any(model.intercept_)
    assert model.preprocessing_ == {"normalize": "l2", "zero_based": False, "dtype": "float64"}


def test_a_free_intercept_reaches_the_estimator(folder, capfd):
    assert main(["train", "train.svm", "m", "--quiet", "--free-intercept"]) == 0
    model = load_model("m")
    assert model.fit_intercept == "free" and np.any(model.intercept_)
    assert main(["train", "train.svm", "m", "--free-intercept", "--no-intercept"]) == 1
    assert main(["train", "train.svm", "m", "--free-intercept", "--checkpoint", "c"]) == 1
    assert "--free-intercept does not work with --checkpoint" in capfd.readouterr().err


def test_options_of_some_formulations_reach_the_estimator(folder):
    options = "--formulation ovr --loss squared_hinge --quiet"
    assert main(["train", "train.svm", "m", *options.split()]) == 0
    assert (load_model("m").formulation, load_model("m").loss) == ("ovr", "squared_hinge")
    options = "--formulation llw --solver alternating --reductions 3 --quiet"
    assert main(["train", "train.svm", "m", *options.split()]) == 0
    assert (load_model("m").solver, load_model("m").n_reductions) == ("alternating", 3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--loss squared_hinge", "loss"),
        ("--solver block", "solver"),
        ("--formulation llw --reductions 3", "n_reductions"),
        ("--C inf", "C must be"),
    ],
)
def test_options_without_meaning_are_refused(folder, capsys, options, named):
    assert main(["train", "train.svm", "m", *options.split()]) == 1
    assert named in capsys.readouterr().err
    assert not Path("m").exists()


def test_hard_margin(folder, capsys):
    Path("apart.svm").write_text("a 1:1\nb 2:1\nc 3:1\n")
    assert main(["train", "apart.svm", "m", "--formulation", "llw", "--C", "inf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["C"] == "inf"
    assert main(["train", "apart.svm", "m", "--formulation", "llw", "--C", "inf"]) == 0
    assert "Lee-Lin-Wahba, C = inf" in capsys.readouterr().out
    assert np.inf == load_model("m").C
    Path("equal.svm").write_text("a 1:1\nb 1:1\nc 3:1\n")
    assert main(["train", "equal.svm", "m2", "--formulation", "llw", "--C", "inf"]) == 1
    assert "infeasible" in capsys.readouterr().err


def test_trained_as_in_python(trained):
    from multimargin import load_svmlight

    X, y = load_svmlight("train.svm")
    save_model(
        MulticlassSVC(random_state=0).fit(X, y),
        "python",
        preprocessing={"normalize": "none", "zero_based": False, "dtype": "float32"},
    )
    assert (trained / "python").read_bytes() == (trained / "m").read_bytes()


def test_tolerance_not_reached(folder, capsys):
    status = main(["train", "train.svm", "m", "--quiet", "--max-iter", "1", "--tol", "1e-9"])
    assert status == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[1] for line in err.splitlines()] == [" warning"] * 2
    assert "tol was not reached" in err
    assert "m is saved, but is not within the tolerance 1e-09" in err
    assert load_model("m").converged_ is False


@pytest.mark.parametrize("pack", [(gzip.compress, "gz"), (lzma.compress, "xz")])
def test_compressed_data(trained, pack):
    compress, suffix = pack
    packed = trained / f"train.svm.{suffix}"
    packed.write_bytes(compress((trained / "train.svm").read_bytes()))
    assert main(["train", str(packed), "m2", "--quiet", "--threads", "1"]) == 0
    assert (trained / "m2").read_bytes() == (trained / "m").read_bytes()


def test_folder_of_the_model_is_checked_first(folder, capsys, monkeypatch):
    monkeypatch.setattr(distributed, "fit", lambda *_, **__: pytest.fail("trained in vain"))
    assert main(["train", "train.svm", "no/such/m"]) == 1
    assert "no/such/m: No such file or directory" in error_line(capsys)
    assert main(["train", "train.svm", "."]) == 1
    assert "not a regular file" in error_line(capsys)


def test_data_are_not_overwritten(folder, capsys):
    before = (folder / "train.svm").read_bytes()
    (folder / "link").symlink_to("train.svm")
    assert main(["train", "train.svm", "link"]) == 1
    assert "also the input train.svm" in error_line(capsys)
    assert (folder / "train.svm").read_bytes() == before


def test_full_disk(folder, capsys, monkeypatch):
    def full(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_atomic.os, "fsync", full)
    assert main(["train", "train.svm", "m", "--quiet"]) == 1
    assert "No space left on device" in error_line(capsys)
    assert sorted(p.name for p in folder.iterdir()) == ["test.svm", "train.svm"]
