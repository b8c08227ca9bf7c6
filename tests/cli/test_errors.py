"""Exit codes, errors of one line, and other ends: Ctrl-C, a closed pipe, a full disk."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from multimargin import distributed
from multimargin.cli import main
from tests.cli.commands import N_FEATURES, error_line, run


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


def test_interrupted(folder, capsys, monkeypatch):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "fit", interrupt)
    assert main(["train", "train.svm", "m", "--quiet"]) == 130
    assert capsys.readouterr().err == "multimargin: interrupted\n"
    assert not (folder / "m").exists()


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
    done = run("predict", "m", "test.svm", "-o", "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "3\n5\n7\n9\n" * 10
