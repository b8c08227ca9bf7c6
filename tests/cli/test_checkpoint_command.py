"""``multimargin train --checkpoint``: runs that end early and are gone on with, without MPI."""

import argparse
import json

import pytest

from multimargin.checkpoints._store import Checkpoints
from multimargin.cli import main
from multimargin.cli.support._arguments import duration
from tests.support.every_formulation import MODELS, write_data

RESUMED = "multimargin: going on from the checkpoint in state"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "train.svm", 150, 1, n_classes=12, n_features=30)
    return tmp_path


def train(*more, model="m"):
    return main(["train", "train.svm", model, "--tol", "0.01", "--threads", "1", *more])


KEPT = ["--checkpoint", "state", "--checkpoint-every", "0"]


class Killed(BaseException):
    """Nobody catches this, as nobody can catch a kill."""


def die_after(monkeypatch, writes):
    """Let the run die right after it has written so many checkpoints."""
    real = Checkpoints.write

    def write(self, *args):
        real(self, *args)
        self.writes = getattr(self, "writes", 0) + 1
        if self.writes == writes:
            raise Killed

    monkeypatch.setattr(Checkpoints, "write", write)


# One-vs-rest writes one after each group of classes, and these classes are one group; rows are done
# after two.
CASES = [(name, 1) for name in MODELS]
CASES += [(name, 3) for name in MODELS if name.startswith(("ww", "cs", "llw"))]


@pytest.mark.parametrize(("name", "writes"), CASES)
def test_a_run_is_gone_on_with(folder, name, writes, capsys):
    options = [*MODELS[name], "--bundles", "4"]
    assert train(*options, model="whole") == 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        die_after(monkeypatch, writes)
        with pytest.raises(Killed):
            train(*options, *KEPT)
    assert not (folder / "m").exists()
    assert (folder / "state").is_dir()
    assert RESUMED not in capsys.readouterr().err
    assert train(*options, *KEPT) == 0
    assert capsys.readouterr().err.count(RESUMED) == 1
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    assert not (folder / "state").exists()  # a finished run needs it no more


def test_a_run_that_did_not_reach_its_tolerance_stays(folder, capsys):
    options = ["--formulation", "llw", "--solver", "extrapolated", "--bundles", "4", *KEPT]
    assert train(*options[:-4], model="whole") == 0
    assert train(*options, "--max-iter", "3") == 3
    assert (folder / "state").is_dir()
    assert train(*options) == 0
    assert capsys.readouterr().err.count(RESUMED) == 1
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()


def test_bundles_are_those_of_the_run_before(folder, capsys):
    options = ["--formulation", "llw", "--solver", "extrapolated", "--json", *KEPT]
    assert train(*options, "--bundles", "3", "--max-iter", "3") == 3
    assert json.loads(capsys.readouterr().out)["bundles"] == 3
    assert train(*options) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["bundles"] == 3
    assert RESUMED in err


def test_one_process_has_one_bundle_unless_told_otherwise(folder, capsys):
    assert train("--json", *KEPT) == 0
    assert json.loads(capsys.readouterr().out)["bundles"] == 1
    assert train("--json") == 0
    assert json.loads(capsys.readouterr().out)["bundles"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--C", "2"], "C"),
        (["--seed", "5"], "seed"),
        (["--solver", "alternating"], "solver"),
        (["--no-intercept"], "intercept"),
        (["--normalize", "l2"], "data"),
        (["--bundles", "5"], "bundles"),
        (["--dtype", "float64"], "dtype"),
    ],
)
def test_the_state_of_another_run_is_refused(folder, change, message, capsys):
    options = ["--formulation", "llw", "--solver", "extrapolated", *KEPT]
    assert train(*options, "--max-iter", "3") == 3
    capsys.readouterr()
    assert train(*options, *change) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("multimargin: error: state")
    assert message in error
    # It is still there for the right one.
    assert train(*options) == 0
    assert RESUMED in capsys.readouterr().err


def test_an_option_that_would_do_nothing(folder, capsys):
    assert train("--checkpoint-every", "60s") == 1
    assert "--checkpoint-every needs --checkpoint DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 60), ("60s", 60), ("5m", 300), ("1h", 3600), ("0.5h", 1800), ("0", 0)],
)
def test_times(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "m5", "5d", "-1s", "1hm", "inf", "nan", "1 hour"])
def test_times_that_are_none(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a time such as 60s, 5m or 1h"):
        duration(text)
