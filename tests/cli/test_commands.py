"""The command line: results, exit codes, and errors of one line."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.utils import Bunch

from multimargin import cli, distributed
from multimargin.cli import main
from multimargin.estimator._svc import MulticlassSVC
from multimargin.io import _atomic
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._measures import measures
from multimargin.persistence import load_model, save_model

N_FEATURES = 12


def samples(n, seed, labels):
    """Return lines of LIBSVM text: each class has its own feature, the rest is noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        c = i % len(labels)
        x = rng.random(N_FEATURES) * (rng.random(N_FEATURES) < 0.3)
        x[c] += 2
        row = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x) if v)
        lines.append(f"{labels[c]} {row}\n")
    return "".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text(samples(120, 1, [3, 5, 7, 9]))
    (tmp_path / "test.svm").write_text(samples(40, 2, [3, 5, 7, 9]))
    return tmp_path


@pytest.fixture
def trained(folder):
    assert main(["train", "train.svm", "m", "--quiet", "--threads", "1"]) == 0
    return folder


def run(*argv, stdin="", **options):
    return subprocess.run(
        [sys.executable, "-m", "multimargin", *argv],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def error_line(capsys):
    """Return the single line on stderr; there is nothing on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("multimargin: error: ")
    return err


# ---------------------------------------------------------------- train


def test_train_reports_and_saves(folder, capsys):
    assert main(["train", "train.svm", "m", "--C", "0.5", "--seed", "4", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert "classes    4" in out
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
    assert np.inf == load_model("m").C
    Path("equal.svm").write_text("a 1:1\nb 1:1\nc 3:1\n")
    assert main(["train", "equal.svm", "m2", "--formulation", "llw", "--C", "inf"]) == 1
    assert "infeasible" in capsys.readouterr().err


def test_trained_as_in_python(trained):
    from multimargin.io._svmlight import load_svmlight

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


# ---------------------------------------------------------------- predict


def test_predict(trained):
    assert main(["predict", "m", "test.svm", "-o", "out"]) == 0
    predicted = [int(line) for line in (trained / "out").read_text().splitlines()]
    assert predicted == [3, 5, 7, 9] * 10


def test_predict_to_stdout(trained, capsys):
    assert main(["predict", "m", "test.svm", "-o", "-", "--threads", "1"]) == 0
    assert capsys.readouterr().out == "3\n5\n7\n9\n" * 10


def test_predict_to_a_device(trained):
    done = run("predict", "m", "test.svm", "-o", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, "3\n5\n7\n9\n" * 10)


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


# ---------------------------------------------------------------- evaluate


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


# ---------------------------------------------------------------- info


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


# ---------------------------------------------------------------- errors


def test_bad_data(folder, capsys):
    (folder / "bad.svm").write_text("1 1:1\n2 1:x\n")
    assert main(["train", "bad.svm", "m", "--quiet"]) == 1
    assert "bad.svm:2: " in error_line(capsys)
    assert not (folder / "m").exists()


def test_one_class(folder, capsys):
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n")
    assert main(["train", "one.svm", "m", "--quiet"]) == 1
    assert "class" in error_line(capsys)


@pytest.mark.parametrize("command", ["predict", "evaluate", "info"])
def test_not_a_model(folder, capsys, command):
    more = {"predict": ["test.svm", "-o", "-"], "evaluate": ["test.svm"], "info": []}[command]
    assert main([command, "train.svm", *more]) == 1
    assert "train.svm: not a multimargin model" in error_line(capsys)
    assert main([command, "missing", *more]) == 1
    assert "missing: No such file or directory" in error_line(capsys)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["juggle"],
        ["train", "train.svm"],
        ["train", "train.svm", "m", "--C", "-1"],
        ["train", "train.svm", "m", "--C", "nan"],
        ["train", "train.svm", "m", "--tol", "0"],
        ["train", "train.svm", "m", "--formulation", "magic"],
        ["train", "train.svm", "m", "--threads", "0"],
        ["train", "train.svm", "m", "--seed", "-1"],
        ["train", "train.svm", "m", "--seed", "4294967296"],
        ["train", "train.svm", "m", "--normalize", "l7"],
        ["train", "train.svm", "m", "--max-iter", "1.5"],
        ["predict", "m", "test.svm"],
        ["predict", "m", "test.svm", "-o", "-", "--top-k", "0"],
    ],
)
def test_wrong_usage(folder, capsys, argv):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: multimargin")
    assert not (folder / "m").exists()


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["train", "--help"]])
def test_help(capsys, argv):
    assert main(argv) == 0
    assert "multimargin" in capsys.readouterr().out


def test_interrupted(folder, capsys, monkeypatch):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "fit", interrupt)
    assert main(["train", "train.svm", "m", "--quiet"]) == 130
    assert capsys.readouterr().err == "multimargin: interrupted\n"
    assert not (folder / "m").exists()


def test_interrupted_process(folder):
    """A real Ctrl-C in the middle of a training that would go on for long."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(3000) % 300)
    rows = (" ".join(f"{j}:{rng.random():.3f}" for j in range(1, 60, 3)) for _ in labels)
    (folder / "hard.svm").write_text(
        "".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True))
    )
    options = ["--C", "1000", "--tol", "1e-9", "--dtype", "float64", "--max-iter", "1000000"]
    command = [sys.executable, "-m", "multimargin", "train", "hard.svm", "m", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "read 3,000 samples" in process.stderr.readline()
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        assert process.wait(60) == 130
    assert err.endswith("multimargin: interrupted\n")
    assert "Traceback" not in err
    assert not (folder / "m").exists()
    assert not list(folder.glob(".*.tmp"))


def test_out_of_memory(folder, capsys, monkeypatch):
    def exhausted(*_args, **_kwargs):
        raise MemoryError

    monkeypatch.setattr(distributed, "fit", exhausted)
    assert main(["train", "train.svm", "m", "--quiet"]) == 1
    assert error_line(capsys) == "multimargin: error: not enough memory\n"


def test_warnings_are_lines(trained, capsys, monkeypatch):
    import warnings

    def predict(self, X):
        warnings.warn("odd\n  samples", UserWarning, stacklevel=1)
        return np.repeat(self.classes_[:1], X.shape[0])

    monkeypatch.setattr(distributed.DistributedModel, "predict", predict)
    assert main(["predict", "m", "test.svm", "-o", "-"]) == 0
    assert capsys.readouterr().err == "multimargin: warning: odd samples\n"


def test_closed_pipe(trained):
    with (trained / "many.svm").open("w") as file:
        file.writelines(f"3 {i % N_FEATURES + 1}:1\n" for i in range(100_000))
    command = [sys.executable, "-m", "multimargin", "predict", "m", "many.svm", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() in {b"3", b"5", b"7", b"9"}
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
def test_stdout_full(trained):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "multimargin", "predict", "m", "test.svm", "-o", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "multimargin: error: No space left on device\n"


def test_as_a_process(trained):
    done = run("evaluate", "m", "test.svm", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["error"] == 0
    done = run("info", "nothing")
    assert done.returncode == 1
    assert done.stderr == "multimargin: error: nothing: No such file or directory\n"


# ---------------------------------------------------------------- demo


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


def test_every_command_is_described():
    text = cli.build_parser().format_help()
    for command in ("train", "predict", "evaluate", "info", "demo"):
        assert f"    {command} " in text
