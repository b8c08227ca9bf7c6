"""``python -m reproduction``: plans, goes on after every kind of end, and says what it did."""

import dataclasses
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import multimargin
from multimargin.checkpoints._lock import FolderLock
from multimargin.datasets._sets import SetDiffersWarning
from reproduction._command import main
from reproduction.experiments import EXPERIMENTS, make
from reproduction.interface._experiment import Experiment
from reproduction.runner import _store
from tests.reproduction.fake_experiment import register
from tests.support.paths import ROOT

ALL = [-1.0, 0.0, 1.0]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return register(monkeypatch)


@pytest.fixture
def unpublished(monkeypatch):
    """Spare the drawing where a test is not about it."""
    monkeypatch.setattr("reproduction.report._publish.why_not", lambda: "not now")


def reproduce(*words):
    return main(["fake", "--threads", "1", *words])


def runs():
    return json.loads(Path("build/reproduction/results.json").read_text())["experiments"]["fake"][
        "runs"
    ]


def test_everything_is_written_and_shown(fake, capsys):
    pytest.importorskip("matplotlib")
    assert reproduce() == 0
    out, err = capsys.readouterr()
    assert fake.made == ALL
    assert "11.00 =" in out
    assert re.search(r"measured on m[0-9a-f]{6} \(processor: .*, cores: \d+ .*, memory: .*\)", err)
    assert "fake: 3 runs, 0 made before, 3 to make" in err
    assert "missing: rcv1: not on this disk. Remedy: ask https://a.example" in err
    assert "fake 2/3: here, ww, log C 0, optimum, threads 1, seed 0: test_error 10" in err
    folder = Path("build/reproduction")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "report.html",
        "results.csv",
        "results.json",
        "results/fake.jsonl",
        "figures/errors.svg",
        "figures/errors.png",
        "figures/more-errors.svg",
        "figures/more-errors.png",
    }
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "python -m reproduction fake --threads 1" in page


def test_finished_runs_are_never_repeated(fake, unpublished, capsys):
    assert reproduce() == 0
    assert reproduce("--runs", "2") == 0
    assert fake.made == [*ALL, *ALL]  # the second seed of each alone
    assert "fake: 6 runs, 3 made before, 3 to make" in capsys.readouterr().err
    assert len(runs()) == 6


def test_runs_with_other_options_are_told_apart(fake, unpublished):
    assert reproduce("--runs", "2") == 0
    page = Path("build/reproduction/report.html")
    assert "made with other options" not in page.read_text(encoding="utf-8")
    assert reproduce("--report-only") == 0
    assert "3 of the runs kept are not among these" in page.read_text(encoding="utf-8")


def test_another_version_makes_them_again(fake, unpublished, monkeypatch, capsys):
    assert reproduce() == 0
    monkeypatch.setattr(multimargin, "__version__", "99.0")
    assert reproduce("--report-only") == 0
    assert "3 to make (3 made by another version or of other data)" in capsys.readouterr().err
    assert fake.made == ALL
    assert reproduce() == 0
    assert fake.made == [*ALL, *ALL]
    assert len(runs()) == 3


def test_other_data_make_them_again(fake, unpublished, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(fake, "dataset", "news20")
    file = tmp_path / "news20" / "train.libsvm"
    file.parent.mkdir()
    file.write_text("1 1:1\n")
    data = ("--data", str(tmp_path))
    assert reproduce(*data) == 0
    assert reproduce(*data) == 0
    assert fake.made == ALL
    file.with_name("test.libsvm").write_text("1 1:2\n")  # fetched after the first run
    assert reproduce("--list", *data) == 0
    assert capsys.readouterr().out.count("to make  fake") == 3
    assert reproduce(*data) == 0
    assert reproduce(*data) == 0
    assert fake.made == [*ALL, *ALL]


def test_a_run_that_fails_is_shown_and_tried_again(fake, unpublished, capsys):
    def fails(cell):
        if cell.log_c == 0:
            raise MemoryError("not  enough\nfor it")

    fake.before = staticmethod(fails)
    assert reproduce() == 3
    out, err = capsys.readouterr()
    assert "FAILED: MemoryError: not enough for it" in err
    assert "1 runs failed; the same command tries them again" in err
    assert "] MemoryError: not enough for it" in out
    assert fake.made == [-1.0, 1.0]
    fake.before = staticmethod(lambda cell: None)
    assert reproduce() == 0
    assert fake.made == [-1.0, 1.0, 0.0]
    assert not any(run["failed"] for run in runs())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_and_reports_what_was_made(fake, unpublished, capsys, sent):
    before = signal.getsignal(signal.SIGTERM)

    def interrupt(cell):
        if cell.log_c == 0:
            signal.raise_signal(sent)

    fake.before = staticmethod(interrupt)
    assert reproduce() == 130
    assert signal.getsignal(signal.SIGTERM) is before
    out, err = capsys.readouterr()
    assert out == ""
    assert "every run that had ended is kept" in err
    assert len(runs()) == 1
    fake.before = staticmethod(lambda cell: None)
    assert reproduce() == 0
    assert fake.made == ALL


def test_terminated_is_interrupted(fake, unpublished):
    def terminate(cell):
        if cell.log_c == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    fake.before = staticmethod(terminate)
    assert reproduce() == 130
    assert len(runs()) == 1
    assert signal.getsignal(signal.SIGTERM) == before


_KILLED = """
import os, signal, sys
import pytest
from tests.reproduction.fake_experiment import register
from reproduction._command import main

def end(cell):
    if cell.log_c == 1:
        os.kill(os.getpid(), signal.SIGKILL)

register(pytest.MonkeyPatch()).before = staticmethod(end)
main(sys.argv[1:])
"""


def test_a_killed_run_goes_on(fake, unpublished):
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, "fake", "--threads", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Path("build/reproduction/results/fake.jsonl").open("ab") as file:
        file.write(b'{"cell": {"experiment": "fa')  # as if it had been killed in a write
    assert reproduce() == 0
    assert fake.made == [1.0]


def test_a_line_cut_off_is_said(fake, unpublished, capsys):
    assert reproduce() == 0
    path = Path("build/reproduction/results/fake.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    assert reproduce() == 0
    assert fake.made == [*ALL, 1.0]
    assert "warning: " in (err := capsys.readouterr().err)
    assert "the last line was cut off" in err


def test_full_disk_ends_with_one_line_and_loses_nothing(fake, unpublished, monkeypatch, capsys):
    write = os.pwrite

    def full(fd, content, offset):
        if b'"log_c": 1.0' in content:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, content, offset)

    with monkeypatch.context() as patch:
        patch.setattr(_store.os, "pwrite", full)
        assert reproduce() == 1
    assert "fake.jsonl: No space left on device" in capsys.readouterr().err
    assert reproduce() == 0
    assert fake.made == [*ALL, 1.0]


def test_a_full_disk_is_named_where_it_is_met_first(fake, unpublished, monkeypatch, capsys):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)  # by the lock
        assert reproduce() == 1
    assert "build/reproduction/multimargin.lock: No space left" in capsys.readouterr().err
    assert reproduce() == 0
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)  # by the files for people
        assert reproduce("--report-only") == 1
    assert "build/reproduction/results.csv: No space left" in capsys.readouterr().err


def test_a_second_run_in_the_same_folder_is_refused(fake, capsys):
    Path("build").mkdir()
    lock = FolderLock(Path("build/reproduction"), 0.0, "its results")
    assert reproduce() == 1
    assert f"another run (process {os.getpid()} on" in (err := capsys.readouterr().err)
    assert "keeps its results there" in err
    assert fake.made == []
    lock.release()


def test_list_runs_nothing_and_writes_nothing(fake, unpublished, capsys):
    assert reproduce("--list") == 0
    out = capsys.readouterr().out
    assert out.count("to make  fake: here, ww, log C") == 3
    assert "missing: rcv1" in out
    assert fake.made == []
    assert not Path("build/reproduction").exists()
    assert reproduce() == 0
    capsys.readouterr()
    assert reproduce("--list") == 0
    assert capsys.readouterr().out.count("made     fake: here") == 3


def test_data_sets_by_name(fake, unpublished, capsys):
    assert reproduce("--datasets", "nowhere", "here") == 1
    assert "uses a data set 'nowhere'; they use here, rcv1" in capsys.readouterr().err
    assert fake.made == []
    assert reproduce("--datasets", "here") == 0
    assert fake.made == ALL


def test_nothing_to_run_is_an_error_that_leaves_nothing(fake, capsys):
    assert reproduce("--datasets", "rcv1") == 1
    assert "nothing to run and nothing to show" in capsys.readouterr().err
    assert not Path("build/reproduction").exists()


def test_no_results_are_no_report(fake, unpublished, capsys):
    assert reproduce("--report-only") == 1
    assert "build/reproduction has no results of fake to show" in capsys.readouterr().err
    assert not Path("build/reproduction").exists()


def test_files_of_others_are_not_overwritten(fake, unpublished, capsys):
    folder = Path("mine")
    folder.mkdir()
    (folder / "results.csv").write_text("years of work")
    assert reproduce("--out", "mine") == 1
    assert "mine holds results.csv of something else" in capsys.readouterr().err
    assert fake.made == []
    assert [path.name for path in folder.iterdir()] == ["results.csv"]
    assert (folder / "results.csv").read_text() == "years of work"


def test_own_files_are_overwritten_without_their_results(fake, unpublished):
    assert reproduce() == 0
    Path("build/reproduction/results/fake.jsonl").unlink()
    assert reproduce() == 0


def test_results_that_cannot_be_shown_are_named_before_anything_runs(fake, unpublished, capsys):
    assert reproduce() == 0
    file = Path("build/reproduction/results/fake.jsonl")
    file.write_text(file.read_text().replace('"test_error"', '"other"', 1))
    assert reproduce("--runs", "2") == 1
    err = capsys.readouterr().err
    assert "error: build/reproduction/results/fake.jsonl: its results cannot be shown" in err
    assert "KeyError: 'test_error'" in err
    assert fake.made == ALL


def test_names_that_are_not_text(fake, unpublished, capsys):
    data = os.fsdecode(b"d\xff")
    Path(data).mkdir()
    assert reproduce("--data", data) == 0
    assert reproduce("--report-only") == 0  # the start of before is in its report, too
    page = Path("build/reproduction/report.html").read_bytes().decode()
    assert "d\ufffd" in page


def test_a_terminal_without_greek(fake, unpublished, monkeypatch):
    title = fake.section
    monkeypatch.setattr(
        fake, "section", lambda *args: dataclasses.replace(title(*args), title="\u03b5")
    )
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert reproduce() == 0
    assert terminal.buffer.getvalue().startswith(b"?\n=\n")


def test_reasons_of_failures_are_said_at_the_end(fake, unpublished, monkeypatch, capsys):
    def fails(cell):
        raise MemoryError("no")

    monkeypatch.setattr("reproduction.report._plots.why_not", lambda: "not now")
    fake.before = staticmethod(fails)
    assert reproduce() == 3
    err = capsys.readouterr().err
    assert "failed, 3 of the runs: MemoryError: no" in err
    assert "without figures: not now" in err


def test_data_unlike_their_name_are_said_in_the_report(fake, unpublished, capsys):
    def once(cell):
        if cell.log_c == 0:
            warnings.warn("here has 2 classes instead of 3", SetDiffersWarning, stacklevel=1)

    fake.before = staticmethod(once)
    assert reproduce() == 0
    assert "warning: here has 2 classes" in capsys.readouterr().err
    assert ["unlike" in run["measured"] for run in runs()] == [False, True, True]
    page = Path("build/reproduction/report.html").read_text(encoding="utf-8")
    assert page.count("Other data than their name says: here has 2 classes instead of 3.") == 1


def test_a_data_folder_that_is_not_there_is_refused(fake, capsys):
    assert reproduce("--data", "no-such") == 1
    assert "no-such: no such folder of data sets" in capsys.readouterr().err


def test_an_error_rate_must_not_pass_for_a_failure(fake, unpublished):
    fake.measure = lambda self, cell, options: {"error": 0.5}
    with pytest.raises(TypeError, match="call an error rate 'test_error'"):
        reproduce()


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_registered_experiments_are_what_their_names_say(name):
    experiment = make(name)
    assert isinstance(experiment, Experiment)
    assert experiment.name == name
