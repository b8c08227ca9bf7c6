"""Checkpoints: complete or not there, the same on all ranks, and only of the same run."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from multimargin.checkpoints import _store
from multimargin.checkpoints._store import Checkpoints, first_difference
from multimargin.parallel._communicator import SerialCommunicator
from tests.checkpoints.steps import IDENTITY, parts_of, write_steps
from tests.support.rank_threads import run_ranks


def read_on(folder, ranks, identity=IDENTITY):
    """What each rank reads: (common, {part: {array: values}}), or None."""

    def work(comm):
        checkpoints = Checkpoints(folder, 0, comm, identity)
        try:
            found = checkpoints.read()
            if found is None:
                return None
            return found.common, {
                name: {key: array.copy() for key, array in found.part(name).items()}
                for name in found.names
            }
        finally:
            checkpoints.close()

    return run_ranks(ranks, work)


def steps_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("step-"))


def check_whole(found, ranks, step):
    common, parts = found
    assert common == {"pass": step, "gap": float("inf")}

    class Rank:
        size = ranks

    expected = {}
    for Rank.rank in range(ranks):
        expected.update(parts_of(Rank, step))
    assert set(parts) == set(expected)
    for name, part in expected.items():
        assert set(parts[name]) == set(part)
        for key, array in part.items():
            got = parts[name][key]
            assert got.dtype == array.dtype
            np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("writers", [1, 2, 3])
@pytest.mark.parametrize("readers", [1, 3])
def test_any_number_of_ranks_reads_what_any_number_wrote(tmp_path, writers, readers):
    folder = tmp_path / "c"
    write_steps(folder, writers, 1, 1)
    for found in read_on(folder, readers):
        check_whole(found, writers, 1)


def test_an_empty_folder_has_none(tmp_path):
    assert read_on(tmp_path / "c", 2) == [None, None]


def test_the_last_two_are_kept(tmp_path):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 5)
    assert steps_in(folder) == ["step-000004", "step-000005"]
    write_steps(folder, 3, 6, 6)
    assert steps_in(folder) == ["step-000005", "step-000006"]


def cut(path):
    path.write_bytes(path.read_bytes()[:-64])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-64] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "share gone": ("rank-00001.arrays", Path.unlink, "not there"),
    "share cut": ("rank-00001.arrays", cut, "bytes"),
    "share flipped": ("rank-00000.arrays", flip, "checksum of array"),
    "manifest gone": ("manifest.json", Path.unlink, "not finished"),
    "manifest flipped": ("manifest.json", flip, "checksum of its manifest"),
    "manifest cut": ("manifest.json", cut, "checksum of its manifest"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("readers", [1, 2])
def test_damaged_ones_are_passed_over(tmp_path, damage, readers):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 3)
    name, spoil, reason = DAMAGES[damage]
    spoil(folder / "step-000003" / name)
    with pytest.warns(UserWarning, match=f"step-000003: .*passed over.*{reason}") as warned:
        found = read_on(folder, readers)
    assert len(warned) == 1  # rank 0 alone
    for each in found:
        check_whole(each, 2, 2)


def test_a_damaged_one_goes_and_the_sound_one_stays(tmp_path):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 3)
    flip(folder / "step-000003" / "rank-00001.arrays")
    (folder / "step-000003" / ".rank-00001.arrays.0123.tmp").write_bytes(b"left by a kill")

    def work(comm):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checkpoints = Checkpoints(folder, 0, comm, IDENTITY)
            assert checkpoints.read().step == 2
        checkpoints.write({}, parts_of(comm, 4))
        checkpoints.close()

    run_ranks(1, work)
    assert steps_in(folder) == ["step-000002", "step-000004"]


def test_shares_of_two_writes_are_not_mixed(tmp_path):
    folder = tmp_path / "c"
    write_steps(folder, 1, 1, 2)
    share = "rank-00000.arrays"
    (folder / "step-000002" / share).write_bytes((folder / "step-000001" / share).read_bytes())
    with pytest.warns(UserWarning, match="written by another run"):
        found = read_on(folder, 1)
    check_whole(found[0], 1, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"formulation": "cs"}, r'its formulation is "ww", but "cs" in this run'),
        ({"C": float("inf"), "seed": 4}, r"its C is 1.0, but Infinity in this run"),
        ({"seed": 4}, r"its seed is 3, but 4 in this run"),
        ({"bundles": 8}, r"its bundles is not given, but 8 in this run"),
    ],
)
def test_another_run_is_refused(tmp_path, change, words):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 1)
    with pytest.raises(ValueError, match=words) as error:
        read_on(folder, 2, {**IDENTITY, **change})
    assert "another --checkpoint folder" in str(error.value)
    check_whole(read_on(folder, 1)[0], 2, 1)


def test_equal_identities_in_other_types(tmp_path):
    identity = {"C": float("nan"), "shape": (3, np.int64(4)), "seed": np.int32(1)}
    write_steps(tmp_path / "c", 1, 1, 1, identity)
    assert read_on(tmp_path / "c", 1, {"C": float("nan"), "shape": [3, 4], "seed": 1})[0]


def test_ranks_with_different_runs_are_refused(tmp_path):
    def work(comm):
        Checkpoints(tmp_path / "c", 0, comm, {"seed": 1, "data": f"of {comm.rank}"})

    with pytest.raises(ValueError, match='data is "of 0" on rank 0 and "of 1" on rank 1'):
        run_ranks(3, work)


def test_first_difference():
    assert first_difference({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}) == ("b.c", "2", "3")
    assert first_difference({"a": [1, 2]}, {"a": [1, 2]}) is None
    assert first_difference({"a": 1}, {}) == ("a", "1", "not given")


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "c"
    with monkeypatch.context() as patch:
        patch.setattr(_store, "FORMAT_VERSION", 2)
        write_steps(folder, 1, 1, 1)
    with pytest.raises(ValueError, match="newer multimargin: checkpoint format 2"):
        read_on(folder, 2)


@pytest.mark.parametrize("failing", ["rank-00000", "rank-00001", "manifest", "step"])
def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch, failing):
    folder = tmp_path / "c"
    write_steps(folder, 2, 1, 2)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), failing)
    broken = [True]

    def fail_in(name, when):
        original = getattr(_store, name)

        def call(path, *arguments):
            if broken[0] and when in str(path):
                if not path.is_dir():
                    path.with_name(".rank-0.1.tmp").touch()
                raise full
            return original(path, *arguments)

        monkeypatch.setattr(_store, name, call)

    if failing == "manifest":
        fail_in("write_manifest", "")
    elif failing == "step":
        fail_in("sync_folder", "")
    else:
        fail_in("write_arrays", failing)

    def work(comm):
        checkpoints = Checkpoints(folder, 0, comm, IDENTITY)
        for _ in range(3):
            checkpoints.write({}, parts_of(comm, 3))
        assert checkpoints.read().step == 2
        comm.barrier()
        broken[0] = False
        comm.barrier()
        checkpoints.write({}, parts_of(comm, 4))
        assert checkpoints.read().step == 3
        checkpoints.close()

    with pytest.warns(UserWarning, match="could not be written.*No space left") as warned:
        run_ranks(2, work)
    assert len(warned) == 1
    assert steps_in(folder) == ["step-000002", "step-000003"]
    assert not list(folder.rglob("*.tmp"))


def test_what_no_file_can_hold_is_an_error_on_all_ranks(tmp_path):
    seen = []

    def work(comm):
        checkpoints = Checkpoints(tmp_path / "c", 0, comm, IDENTITY)
        array = np.zeros(2, complex if comm.rank == 1 else float)
        try:
            checkpoints.write({}, {f"part-{comm.rank}": {"a": array}})
        except ValueError as error:
            seen.append(str(error))
        assert checkpoints.read() is None
        checkpoints.close()

    run_ranks(3, work)
    assert len(seen) == 3
    assert all("complex128" in message for message in seen)
    assert steps_in(tmp_path / "c") == []


def test_names_are_unique_over_ranks(tmp_path):
    def work(comm):
        Checkpoints(tmp_path / "c", 0, comm, IDENTITY).write({}, {"same": {}})

    with pytest.raises(ValueError, match="part 'same' is given by ranks 0 and 1"):
        run_ranks(2, work)


def test_rank_zeros_clock_decides(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_store.time, "monotonic", lambda: now[0])

    def work(comm):
        # Only rank 0's interval counts.
        checkpoints = Checkpoints(tmp_path / "c", 60 if comm.rank == 0 else 0, comm, IDENTITY)
        answers = [checkpoints.due()]
        for then in (1059.0, 1060.0):
            comm.barrier()
            now[0] = then
            comm.barrier()
            answers.append(checkpoints.due())
        checkpoints.write({}, {})
        return [*answers, checkpoints.due()]

    assert run_ranks(3, work) == [[False, False, True, False]] * 3


def test_every_must_be_a_time(tmp_path):
    for every in (-1.0, float("nan"), "5s"):
        with pytest.raises(ValueError, match="every so many seconds, 0 or more"):
            Checkpoints(tmp_path / "c", every, SerialCommunicator(), {})
