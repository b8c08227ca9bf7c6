"""``mpiexec -n N multimargin ...``: the same files and the same output for any number of ranks."""

import json
import os
import re

import pytest

from multimargin import load_model
from multimargin.cli import main
from tests.ranks.mpi_commands import run_many
from tests.support.every_formulation import MODELS, write_data
from tests.support.mpi import mpiexec, needs_mpi
from tests.support.paths import ROOT

pytestmark = needs_mpi

RANKS = (1, 2, 3)
BUNDLES = "8"


def train_command(name, folder, *more):
    return ["train", "train.svm", f"{folder}/{name}", *MODELS[name], "--bundles", BUNDLES, *more]


def later_commands(name, folder):
    """What is done with a model that was trained, its results in files."""
    return [
        ["predict", f"{folder}/{name}", "test.svm", "-o", f"{folder}/{name}.labels.txt"],
        [
            "predict",
            f"{folder}/{name}",
            "test.svm",
            "-o",
            f"{folder}/{name}.top.txt",
            "--top-k",
            "4",
        ],
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and what one process without MPI makes of it, in ``plain``."""
    folder = tmp_path_factory.mktemp("mpi")
    write_data(folder / "train.svm", 300, 1)
    write_data(folder / "test.svm", 80, 2)
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        (folder / "plain").mkdir()
        for name in MODELS:
            assert main(train_command(name, "plain", "--quiet", "--threads", "1")) == 0
            for command in later_commands(name, "plain"):
                assert main(command) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(scope="module")
def on_ranks(folder):
    """Everything again on each number of ranks; the lines that were printed."""
    printed = {}
    for n in RANKS:
        (folder / f"ranks{n}").mkdir()
        commands = []
        for name in MODELS:
            commands.append(train_command(name, f"ranks{n}", "--threads", "1", "--json"))
            commands += later_commands(name, f"ranks{n}")
        commands.append(["evaluate", "plain/ww", "test.svm", "--json"])
        printed[n] = run_many(n, commands, folder)
    return printed


def test_all_succeed_and_rank_0_alone_speaks(on_ranks):
    for n, lines in on_ranks.items():
        results = [json.loads(line) for line in lines if line.startswith("{")]
        assert len(results) == len(MODELS) + 1  # one evaluation
        assert lines.count("status 0") == len(lines) - len(results)
        for result in results[:-1]:
            assert result["ranks"] == n
            assert result["converged"] is True
            assert len(result["bytes_sent"]) == n
            assert n == 1 or max(result["bytes_sent"]) > 0


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("name", MODELS)
def test_same_bytes_as_one_process(folder, on_ranks, name, n):
    for suffix in ("", ".labels.txt", ".top.txt"):
        expected = (folder / "plain" / f"{name}{suffix}").read_bytes()
        assert (folder / f"ranks{n}" / f"{name}{suffix}").read_bytes() == expected, suffix


@pytest.mark.parametrize("name", MODELS)
def test_same_bytes_with_two_threads(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "threads2").mkdir(exist_ok=True)
    assert main(train_command(name, "threads2", "--quiet", "--threads", "2")) == 0
    expected = (folder / "plain" / name).read_bytes()
    assert (folder / "threads2" / name).read_bytes() == expected


def test_evaluations_agree(folder, on_ranks, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["evaluate", "plain/ww", "test.svm", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for lines in on_ranks.values():
        found = [json.loads(line) for line in lines if line.startswith("{")][-1]
        assert {**found, "predict_seconds": 0} == {**expected, "predict_seconds": 0}


def test_nothing_else_is_left_in_the_folder(folder, on_ranks):
    names = {name + suffix for name in MODELS for suffix in ("", ".labels.txt", ".top.txt")}
    for n in RANKS:
        assert {path.name for path in (folder / f"ranks{n}").iterdir()} == names


# ---------------------------------------------------------------- the command by itself


def test_the_command(folder):
    """As users type it, with the bundles and threads left to it."""
    command = ["-m", "multimargin", "train", "train.svm", "by-default", "--formulation", "llw"]
    result = mpiexec(2, [*command, "--solver", "extrapolated"], timeout=60, cwd=folder)
    assert result.status == 0, result.output
    assert result.stderr.count("multimargin: read 300 samples") == 1
    assert result.stdout.count("objective") == 1
    assert re.search(r"^ranks +2, 4 bundles, at most \S+ MB sent by one$", result.stdout, re.M)
    assert load_model(folder / "by-default").n_bundles == 4


def test_an_error_is_told_once(folder):
    arguments = ["predict", "train.svm", "test.svm", "-o", "out"]
    result = mpiexec(2, ["-m", "multimargin", *arguments], timeout=60, cwd=folder)
    assert result.status != 0
    assert result.stderr.count("not a multimargin model") == 1, result.output
    assert result.stdout == ""


def test_exit_status_when_the_tolerance_is_not_reached(folder):
    command = ["train", "train.svm", "early", "--formulation", "ovr", "--max-iter", "1"]
    result = mpiexec(2, ["-m", "multimargin", *command, "--tol", "1e-6"], timeout=60, cwd=folder)
    assert result.status == 3, result.output
    assert result.stderr.count("is saved, but is not within the tolerance") == 1
    assert result.stderr.count("max_iter=1 was reached") == 1
    assert not load_model(folder / "early").converged_


def test_the_example_of_the_cluster_page(folder, tmp_path):
    page = (ROOT / "docs" / "cluster.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.S)[1]
    assert len(code.strip().splitlines()) < 10
    (tmp_path / "train.py").write_text(code)
    for name in ("train.svm", "test.svm"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    result = mpiexec(2, ["train.py"], timeout=60, cwd=tmp_path)
    assert result.status == 0, result.output
    assert re.fullmatch(r"gap \d\.\d\d%, test error \d+\.\d%\n", result.stdout)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("model", "train.py", "train.svm", "test.svm")
    }
