"""Array files written by several ranks: the same bytes as by one, or nothing at all."""

from __future__ import annotations

import errno
import os
import resource
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import ModelFileError
from multimargin.distributed import _parallel_file
from multimargin.distributed._parallel_file import Piece, write_arrays_together
from multimargin.io import _array_file
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.io._checksums import crc32_combine
from multimargin.parallel._communicator import SerialCommunicator
from tests.support.forks import in_fork
from tests.support.rank_threads import run_ranks

RANK = threading.local()  # of the thread that asks
META = {"kind": "test", "values": [1, 2.5, "ä"]}


def some_arrays():
    generator = np.random.default_rng(1)
    return {
        "coef": generator.standard_normal((7, 11)),
        "indices": generator.integers(0, 99, 23).astype(np.int32),
        "single": np.array(3.5, dtype=np.float32),
        "nothing": np.zeros((0, 5), dtype=np.int64),
        "flags": generator.random(3) < 0.5,
        "big_endian": np.arange(6, dtype=">u2").reshape(1, 2, 3),
    }


def cut(array, bounds, rank):
    """Rank's piece of an array of which the ranks hold the stretches between the bounds."""
    begin, end = bounds[rank], bounds[rank + 1]
    return Piece(array.dtype, array.shape, begin, array.reshape(-1)[begin:end])


def even(size, ranks):
    return [size * rank // ranks for rank in range(ranks + 1)]


def write_cut(path, arrays, ranks, bounds=None):
    def work(comm):
        RANK.number = comm.rank
        pieces = {
            name: cut(array, (bounds or {}).get(name, even(array.size, ranks)), comm.rank)
            for name, array in arrays.items()
        }
        write_arrays_together(comm, path, META if comm.rank == 0 else {}, pieces)

    run_ranks(ranks, work)


@pytest.fixture
def expected(tmp_path):
    write_arrays(tmp_path / "expected", META, some_arrays())
    return (tmp_path / "expected").read_bytes()


def only(folder, *names):
    return sorted(path.name for path in folder.iterdir()) == sorted(names)


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_the_bytes_are_those_of_one_writer(tmp_path, expected, ranks):
    write_cut(tmp_path / "file", some_arrays(), ranks)
    assert (tmp_path / "file").read_bytes() == expected
    assert only(tmp_path, "file", "expected")
    read_arrays(tmp_path / "file", verify=True)


def test_one_process_without_other_ranks(tmp_path, expected):
    pieces = {name: cut(a, [0, a.size], 0) for name, a in some_arrays().items()}
    write_arrays_together(SerialCommunicator(), tmp_path / "file", META, pieces)
    assert (tmp_path / "file").read_bytes() == expected


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_rank_that_holds_nothing(tmp_path, expected, empty):
    bounds = {}
    for name, array in some_arrays().items():
        inner = even(array.size, 2)
        bounds[name] = [*inner[: empty + 1], *inner[empty:]]
    write_cut(tmp_path / "file", some_arrays(), 3, bounds)
    assert (tmp_path / "file").read_bytes() == expected


def test_ranks_need_not_hold_stretches_in_their_order(tmp_path, expected):
    def work(comm):
        pieces = {
            name: cut(a, even(a.size, 3), (comm.rank + 2) % 3) for name, a in some_arrays().items()
        }
        write_arrays_together(comm, tmp_path / "file", META, pieces)

    run_ranks(3, work)
    assert (tmp_path / "file").read_bytes() == expected


def test_no_arrays(tmp_path):
    write_arrays(tmp_path / "expected", META, {})
    run_ranks(2, lambda comm: write_arrays_together(comm, tmp_path / "file", META, {}))
    assert (tmp_path / "file").read_bytes() == (tmp_path / "expected").read_bytes()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(1, 5),
    st.sampled_from(["<f8", "<f4", "|i1", "<u2"]),
    st.randoms(use_true_random=False),
)
def test_any_cuts(tmp_path_factory, sizes, ranks, dtype, random):
    folder = tmp_path_factory.mktemp("cuts")
    arrays = {f"a{i}": np.arange(n).astype(dtype) for i, n in enumerate(sizes)}
    bounds = {
        name: [0, *sorted(random.randint(0, a.size) for _ in range(ranks - 1)), a.size]
        for name, a in arrays.items()
    }
    write_arrays(folder / "expected", META, arrays)
    write_cut(folder / "file", arrays, ranks, bounds)
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()


def test_several_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(_array_file, "_CHUNK", 1000)
    array = np.random.default_rng(2).standard_normal(5000)
    write_arrays(tmp_path / "expected", META, {"a": array})
    hide(monkeypatch, [1])
    write_cut(tmp_path / "file", {"a": array}, 3, {"a": [0, 333, 4999, 5000]})
    assert (tmp_path / "file").read_bytes() == (tmp_path / "expected").read_bytes()


# ---------------------------------------------------------------- no shared file system


def hide(monkeypatch, ranks):
    real = _parallel_file._open
    monkeypatch.setattr(
        _parallel_file,
        "_open",
        lambda path: real(path + ".gone" if RANK.number in ranks else path),
    )


@pytest.mark.parametrize("hidden", [[1], [1, 2], [2]])
def test_ranks_that_do_not_see_the_file_send_theirs(tmp_path, expected, monkeypatch, hidden):
    hide(monkeypatch, hidden)
    write_cut(tmp_path / "file", some_arrays(), 3)
    assert (tmp_path / "file").read_bytes() == expected


def test_what_is_sent_does_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr(_array_file, "_CHUNK", 1000)
    hide(monkeypatch, [1, 2])
    waiting = []

    def work(comm):
        RANK.number = comm.rank
        receive = comm.receive

        def counted(source):
            message = receive(source)
            if comm.rank == 0 and len(message) == 2:  # a place and a chunk
                mail = [
                    each for other in (1, 2) for each in list(comm._mail[other, 0, "own"].queue)
                ]
                waiting.append(sum(len(each) == 2 for each in mail))
            return message

        comm.receive = counted
        pieces = {"a": cut(np.arange(3000.0), even(3000, 3), comm.rank)}
        write_arrays_together(comm, tmp_path / "file", META, pieces)

    run_ranks(3, work)
    assert len(waiting) == 16
    assert max(waiting) == 0


# ---------------------------------------------------------------- errors


def failures(ranks, path, pieces_of):
    def work(comm):
        RANK.number = comm.rank
        with pytest.raises(Exception) as caught:
            write_arrays_together(comm, path, META, pieces_of(comm))
        return caught.value

    return run_ranks(ranks, work)


def simple(comm):
    return {"a": cut(np.arange(30.0), even(30, comm.size), comm.rank)}


@pytest.mark.parametrize("hidden", [[], [1]])
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_full_disk_on_any_rank(tmp_path, monkeypatch, failing, hidden):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real = _parallel_file._pwrite
    hide(monkeypatch, hidden)

    def pwrite(fd, data, position):
        if RANK.number == failing or (failing in hidden and RANK.number == 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(fd, data, position)

    monkeypatch.setattr(_parallel_file, "_pwrite", pwrite)

    for error in failures(3, path, simple):
        assert (error.errno, error.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == b"old"
    assert only(tmp_path, "file")


@pytest.mark.parametrize("call", ["posix_fallocate", "fsync", "replace"])
def test_whatever_fails_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, call, full)
    for error in failures(2, path, simple):
        assert (error.errno, error.filename) == (errno.EDQUOT, str(path))
    assert path.read_bytes() == b"old"
    assert only(tmp_path, "file")


def test_a_file_system_that_cannot_allocate(tmp_path, expected, monkeypatch):
    def unknown(*arguments):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", unknown)
    write_cut(tmp_path / "file", some_arrays(), 2)
    assert (tmp_path / "file").read_bytes() == expected


def test_no_such_folder(tmp_path):
    for error in failures(3, tmp_path / "no" / "file", simple):
        assert isinstance(error, FileNotFoundError)
        assert error.filename == str(tmp_path / "no" / "file")


def test_what_no_file_can_hold(tmp_path):
    def pieces_of(comm):
        dtype = np.dtype(complex)
        return {"a": Piece(dtype, (2,), comm.rank, np.zeros(1, dtype))}

    for error in failures(2, tmp_path / "file", pieces_of):
        assert isinstance(error, ModelFileError)
        assert "complex128" in str(error)

    def many_dimensions(comm):
        return {"a": Piece(np.dtype("f8"), (1, 1, 1, 1, 2), comm.rank, np.zeros(1))}

    for error in failures(2, tmp_path / "file", many_dimensions):
        assert isinstance(error, ModelFileError)
        assert "5 dimensions" in str(error)
    assert only(tmp_path)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ([(0, 10), (11, 30)], "element 10 of array 'a' is missing"),
        ([(0, 10), (9, 30)], "element 9 of array 'a' is given twice"),
        ([(0, 10), (10, 29)], "element 29 of array 'a' is missing"),
        ([(1, 10), (10, 30)], "element 0 of array 'a' is missing"),
        ([(0, 10), (10, 31)], "has 30 elements"),
    ],
)
def test_each_element_once(tmp_path, bounds, words):
    def pieces_of(comm):
        begin, end = bounds[comm.rank]
        return {"a": Piece(np.dtype("f8"), (30,), begin, np.zeros(end - begin))}

    for error in failures(2, tmp_path / "file", pieces_of):
        assert isinstance(error, ValueError)
        assert words in str(error)
    assert only(tmp_path)


def test_all_ranks_mean_the_same_arrays(tmp_path):
    def other_shape(comm):
        return {"a": Piece(np.dtype("f8"), (2, 15 + comm.rank), 0, np.zeros(0))}

    def other_name(comm):
        return {f"a{comm.rank}": Piece(np.dtype("f8"), (2, 15), 0, np.zeros(0))}

    for pieces_of in (other_shape, other_name):
        for error in failures(2, tmp_path / "file", pieces_of):
            assert "ranks 0 and 1 do not write the same arrays" in str(error)

    def other_type(comm):
        return {"a": Piece(np.dtype("f8"), (2,), comm.rank, np.zeros(1, np.float32))}

    for error in failures(2, tmp_path / "file", other_type):
        assert "is of float64, a piece of it of float32" in str(error)


def test_a_real_limit_of_the_system(tmp_path):
    def work(comm):
        part = np.full(20_000, comm.rank, dtype=np.float64)
        whole = {"a": Piece(part.dtype, (40_000,), comm.rank * 20_000, part)}
        with pytest.raises(OSError) as error:
            write_arrays_together(comm, tmp_path / "file", {}, whole)
        return error.value.errno

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        return run_ranks(2, work)

    assert in_fork(limited) == [errno.EFBIG] * 2
    assert only(tmp_path)


# ---------------------------------------------------------------- checksums


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_combined_checksums(first, second):
    combined = crc32_combine(zlib.crc32(first), zlib.crc32(second), len(second))
    assert combined == zlib.crc32(first + second)


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_checksums_of_many_pieces(pieces):
    crc = 0
    for piece in pieces:
        crc = crc32_combine(crc, zlib.crc32(piece), len(piece))
    assert crc == zlib.crc32(b"".join(pieces))


def test_combined_checksums_of_long_pieces():
    first, second = bytes(range(256)) * 9000, b"\x5a\x00" * 3_000_001
    combined = crc32_combine(zlib.crc32(first), zlib.crc32(second), len(second))
    assert combined == zlib.crc32(first + second)
