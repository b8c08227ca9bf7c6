"""Results on disk: kept from the moment they are known, whatever happens next."""

import csv
import errno
import json
import math
import os
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import multimargin
from reproduction.interface._cell import Cell, Record
from reproduction.interface._experiment import Missing, Plan
from reproduction.measuring import _machine
from reproduction.report._export import write_csv, write_json
from reproduction.runner import _store
from reproduction.runner._store import Session, Store

CELLS = [Cell("fake", "set", "ww", c, "optimum", 0, {"threads": 2}) for c in (-1.0, 0.0, math.inf)]


@pytest.fixture(scope="module")
def session():
    return Session.begin("python -m reproduction fake")


def keep(store, session, cell, **measured):
    store.append(Record(cell, measured, session.machine), session, 0.5)


@pytest.fixture
def store(tmp_path, session):
    """Two results and a failure."""
    store = Store(tmp_path / "results", "fake")
    keep(store, session, CELLS[0], test_error=np.float32(0.5), history=np.arange(3), ok=True)
    keep(store, session, CELLS[1], error="MemoryError: no")
    keep(store, session, CELLS[2], test_error=math.nan)
    return store


def again(store):
    return Store(store.path.parent, "fake")


def test_read_again_is_the_same(store, session):
    read = again(store)
    assert repr(read.latest) == repr(store.latest)  # nan is not equal to itself
    kept = read.latest[CELLS[0].key]
    assert kept.record.measured == {"test_error": 0.5, "history": [0, 1, 2], "ok": True}
    assert kept.session == session
    assert kept.record.machine == session.machine == _machine.machine_id()
    assert [read.done(cell) for cell in CELLS] == [True, False, True]
    assert read.complaints == []


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ('"seconds": 0.5', '"seconds": "long"'),
        ('"log_c": -1.0', '"log_c": null'),
        ('"experiment": "fake"', '"experiment": "lshtc"'),
        ('"options": {"threads": 2}', '"options": 2'),
    ],
)
def test_lines_that_were_changed_are_left_out(store, words, others):
    store.path.write_text(store.path.read_text().replace(words, others, 1))
    read = again(store)
    assert set(read.latest) == {cell.key for cell in CELLS[1:]}
    assert "lines that cannot be read are left out (1)" in read.complaints[0]


def test_a_failed_run_is_replaced_by_one_that_succeeds(store, session):
    keep(store, session, CELLS[1], test_error=1.0)
    for each in (store, again(store)):
        assert each.done(CELLS[1])
        assert len(each.latest) == 3


def test_a_result_of_another_version_is_kept_but_not_done(store, session, monkeypatch):
    monkeypatch.setattr(multimargin, "__version__", "99.0")
    read = again(store)
    assert not any(read.done(cell) for cell in CELLS)
    assert len(read.latest) == 3
    keep(read, replace(session, id="new", version="99.0"), CELLS[0], test_error=2.0)
    assert again(read).done(CELLS[0])
    assert again(read).latest[CELLS[0].key].session.version == "99.0"


def test_a_cut_of_the_last_line_loses_that_run_alone(store, session):
    whole = store.path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    ends = [start, start + 1, len(whole) - 2, len(whole) - 1, len(whole)]
    for length in [*ends, *range(start + 2, len(whole) - 2, 17)]:
        store.path.write_bytes(whole[:length])
        read = again(store)
        complete = length >= len(whole) - 1  # without its newline it is still whole
        assert read.done(CELLS[2]) == complete
        assert bool(read.complaints) == (start < length and not complete)
        keep(read, session, CELLS[1], test_error=3.0)
        read = again(read)
        assert read.complaints == []
        assert read.done(CELLS[0])
        assert read.done(CELLS[1])
        assert read.done(CELLS[2]) == complete


def test_lines_that_say_nothing_are_left_out_with_a_word(store):
    lines = store.path.read_bytes().splitlines(keepends=True)
    store.path.write_bytes(lines[0] + b'{"cell": 3}\n\x00\x00\x00\n[]\n' + b"".join(lines[1:]))
    read = again(store)
    assert len(read.latest) == 3
    (complaint,) = read.complaints
    assert "lines that cannot be read are left out (3)" in complaint


def test_full_disk_leaves_what_was_there(store, session, monkeypatch):
    before = store.path.read_bytes()
    write = os.pwrite

    def full(fd, content, offset):
        if len(content) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, content[: len(content) // 2], offset)

    with monkeypatch.context() as patch:
        patch.setattr(_store.os, "pwrite", full)
        with pytest.raises(OSError, match=r"fake\.jsonl") as caught:
            keep(store, session, CELLS[1], test_error=1.0)
    assert caught.value.errno == errno.ENOSPC
    assert store.path.read_bytes() == before
    keep(store, session, CELLS[1], test_error=1.0)
    assert again(store).done(CELLS[1])


def test_what_json_cannot_hold_is_refused_and_nothing_written(store, session):
    before = store.path.read_bytes()
    with pytest.raises(TypeError, match="must be numbers, words and lists, got set"):
        keep(store, session, CELLS[0], test_error={1, 2})
    assert store.path.read_bytes() == before


def test_csv_has_a_row_per_run(store, tmp_path, session):
    path = tmp_path / "results.csv"
    write_csv(path, store.latest.values())
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["log_c"] for row in rows] == ["-1.0", "0.0", "inf"]
    assert [row["measured.test_error"] for row in rows] == ["0.5", "", "nan"]
    assert [row["measured.error"] for row in rows] == ["", "MemoryError: no", ""]
    assert [row["failed"] for row in rows] == ["False", "True", "False"]
    assert {row["options.threads"] for row in rows} == {"2"}
    assert {row["machine"] for row in rows} == {session.machine}
    assert {row["version"] for row in rows} == {multimargin.__version__}
    assert "measured.history" not in rows[0]


def test_json_has_everything_and_is_strict(store, tmp_path, session):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    path = tmp_path / "results.json"
    plan = Plan(tuple(CELLS), (Missing("rcv1", "not there", "fetch it"),))
    write_json(path, [session], {"fake": plan}, {"fake": list(store.latest.values())})
    content = json.loads(path.read_text(), parse_constant=refuse)
    assert content["machines"][session.machine] == dict(session.hardware)
    assert content["sessions"][0]["software"]["numpy"] == np.__version__
    experiment = content["experiments"]["fake"]
    assert len(experiment["planned"]) == 3
    assert experiment["missing"] == [{"name": "rcv1", "why": "not there", "remedy": "fetch it"}]
    assert experiment["runs"][0]["measured"]["history"] == [0, 1, 2]
    assert experiment["runs"][2]["log_c"] == "inf"
    assert experiment["runs"][2]["measured"]["test_error"] == "nan"


def test_commit_tells_changes_of_known_files_only(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@a.example"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True)

    assert _machine.commit(tmp_path) == "unknown (no git repository)"
    git("init", "-q")
    (tmp_path / "known").write_text("1")
    git("add", "known")
    git("commit", "-q", "-m", "first")
    (tmp_path / "result").write_text("1")
    clean = _machine.commit(tmp_path)
    assert len(clean) == 12
    (tmp_path / "known").write_text("2")
    assert _machine.commit(tmp_path) == f"{clean} with changes"


def test_another_repositorys_commit_is_not_ours(tmp_path, monkeypatch):
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    file = tmp_path / "site-packages" / "multimargin" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setattr(multimargin, "__file__", str(file))
    monkeypatch.setattr(_machine, "distribution", lambda name: _NoSource())
    assert _machine.package_commit() == (
        f"multimargin {multimargin.__version__} (no git repository)"
    )


class _NoSource:
    def read_text(self, name):
        return None
