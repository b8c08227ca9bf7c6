"""One copy of the data per host, the same on all ranks, and nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC
from multimargin.distributed import _data_cache
from multimargin.distributed._data_cache import shared
from multimargin.parallel._communicator import SerialCommunicator
from tests.support.mapped import map_of
from tests.support.rank_threads import run_ranks


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("MULTIMARGIN_CACHE", str(folder))
    return folder


def matrix(dtype=np.float64, index=np.int32):
    X = sp.random(30, 20, density=0.2, format="csr", random_state=1, dtype=dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def same(X, Y):
    assert X.shape == Y.shape
    for name in ("data", "indices", "indptr"):
        one, other = getattr(X, name), getattr(Y, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


LABELS = {
    "numbers": np.arange(30) % 7 - 3,
    "floats": np.arange(30) % 7 / 2,
    "text": np.array([f"klasse {'ä' * (i % 5)}" for i in range(30)]),
    "bytes": np.array([f"class {i % 5}" for i in range(30)], dtype="S"),
    "big-endian text": np.array([f"{i % 5}" for i in range(30)]).astype(">U9"),
    "objects": np.array([f"class {i % 5}" for i in range(30)], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS)
def test_labels_come_back(labels):
    y = LABELS[labels]
    for _, got in run_ranks(2, lambda comm: shared(comm, lambda: (matrix(), y))):
        assert got.dtype == y.dtype.newbyteorder("=")
        np.testing.assert_array_equal(got, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_ranks_of_a_host_map_what_one_has_read(cache, dtype, index):
    calls = []
    expected = matrix(dtype, index)

    def work(comm):
        def read():
            calls.append(comm.rank)
            return matrix(dtype, index), np.arange(30)

        return shared(comm, read)

    for X, _ in run_ranks(3, work):
        same(X, expected)
        assert all(map_of(array) is not None for array in (X.data, X.indices, X.indptr))
        assert X.has_canonical_format
    assert calls == [0]
    assert list(cache.iterdir()) == []


def test_each_host_reads_once_and_one_rank_alone_maps_nothing(cache):
    calls = []

    def work(comm):
        def read():
            calls.append(comm.rank)
            return matrix(), np.arange(30)

        return shared(comm, read)

    results = run_ranks(5, work, hosts=["a", "b", "a", "c", "b"])
    assert sorted(calls) == [0, 1, 3]
    for rank, (X, _) in enumerate(results):
        same(X, matrix())
        assert (map_of(X.data) is None) == (rank == 3)
    assert list(cache.iterdir()) == []


def test_without_other_ranks_there_is_no_file(monkeypatch):
    monkeypatch.setattr(_data_cache, "_cache_file", None)
    X = matrix()
    got, _ = shared(SerialCommunicator(), lambda: (X, np.arange(30)))
    assert got.data is X.data or np.shares_memory(got.data, X.data)


def test_a_model_trains_on_mapped_data():
    y = np.arange(30) % 3

    def work(comm):
        X, labels = shared(comm, lambda: (matrix(), y))
        return MulticlassSVC(random_state=1).fit(X, labels).coef_

    expected = MulticlassSVC(random_state=1).fit(matrix(), y).coef_
    for coef in run_ranks(2, work):
        np.testing.assert_array_equal(np.asarray(coef), np.asarray(expected))


def test_duplicates_are_summed_where_they_can_be():
    X = sp.csr_matrix(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    for got, _ in run_ranks(2, lambda comm: shared(comm, lambda: (X, [0]))):
        np.testing.assert_array_equal(got.indices, [0, 1])
        np.testing.assert_array_equal(got.data, [2.0, 5.0])


def test_no_samples():
    X = sp.csr_matrix((0, 4))
    for got, y in run_ranks(2, lambda comm: shared(comm, lambda: (X, np.array([], dtype=str)))):
        assert got.shape == (0, 4)
        assert y.shape == (0,)


# ---------------------------------------------------------------- errors


def failures(size, read, hosts=None):
    def work(comm):
        with pytest.raises(Exception) as caught:
            shared(comm, lambda: read(comm))
        return caught.value

    return run_ranks(size, work, hosts)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "data.svm"),
        ValueError("data.svm:3: column 4: no number"),
    ],
)
def test_a_bad_file_on_one_host_is_everyones_error(cache, error):
    def read(comm):
        if comm.rank == 2:
            raise error
        return matrix(), np.arange(30)

    raised = failures(4, read, hosts=[0, 0, 1, 1])
    assert [type(each) for each in raised] == [type(error)] * 4
    assert [str(each) for each in raised] == [str(error)] * 4
    assert list(cache.iterdir()) == []


def test_hosts_with_different_data_are_refused(cache):
    changed = matrix()
    changed.data[5] += 1e-9

    for one, y in ((changed, np.arange(30)), (matrix(), np.arange(30)[::-1])):

        def read(comm, one=one, y=y):
            return (one, y) if comm.rank == 3 else (matrix(), np.arange(30))

        raised = failures(4, read, hosts=[0, 0, 1, 2])
        for error in raised:
            assert isinstance(error, ValueError)
            assert "hosts have read different data" in str(error)
            assert "on rank 3" in str(error)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ((np.eye(3), [1, 2, 3]), TypeError, "sparse matrix, got ndarray"),
        ((sp.eye(3), [1, 2]), ValueError, "one label per row"),
        ((sp.eye(3), np.array([1, "a", None], dtype=object)), ValueError, "numbers or strings"),
    ],
)
def test_what_is_no_data(given, kind, words):
    for error in failures(2, lambda comm: given):
        assert isinstance(error, kind)
        assert words in str(error)


def test_too_little_space_is_noticed_before_writing(cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(_data_cache.shutil, "disk_usage", lambda folder: usage(10, 9, 1))
    monkeypatch.setattr(_data_cache, "write_arrays", None)
    for error in failures(3, lambda comm: (matrix(), np.arange(30))):
        assert error.errno == errno.ENOSPC
        assert "GB are needed, 0.00 GB are free" in str(error)
        assert "MULTIMARGIN_CACHE" in str(error)
        assert str(cache) in str(error)
    assert list(cache.iterdir()) == []


def test_a_full_disk_while_writing(cache, monkeypatch):
    def full(path, *arguments, **options):
        path.write_bytes(b"some of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(_data_cache, "write_arrays", full)
    for error in failures(3, lambda comm: (matrix(), np.arange(30))):
        assert error.errno == errno.ENOSPC
        assert "No space left on device" in str(error)
    assert list(cache.iterdir()) == []


def test_no_such_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MULTIMARGIN_CACHE", str(tmp_path / "nowhere"))
    for error in failures(2, lambda comm: (matrix(), np.arange(30))):
        assert isinstance(error, FileNotFoundError)
        assert "MULTIMARGIN_CACHE" in str(error)


def test_a_rank_that_does_not_see_the_file(cache, monkeypatch):
    real = _data_cache._map
    seen = []

    def map_some(path):
        seen.append(path)
        return real(path + "x" if len(seen) == 2 else path)

    monkeypatch.setattr(_data_cache, "_map", map_some)
    for error in failures(3, lambda comm: (matrix(), np.arange(30))):
        assert isinstance(error, FileNotFoundError)
        assert "a folder that all ranks of a host see" in str(error)
    assert list(cache.iterdir()) == []


# ---------------------------------------------------------------- kills


def killed_reader():
    """Share data in a forked child that is killed before all of it is there."""
    child = os.fork()
    if child == 0:
        try:
            _data_cache._map = lambda path: os.kill(os.getpid(), signal.SIGKILL)
            run_ranks(2, lambda comm: shared(comm, lambda: (matrix(), np.arange(30))))
        finally:
            os._exit(1)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def test_what_a_killed_reader_leaves_is_removed_by_the_next_run(cache):
    assert killed_reader() == signal.SIGKILL
    left = list(cache.iterdir())
    assert [path.name.startswith("multimargin-cache-") for path in left] == [True]
    # Of somebody who still runs, of another host, and of another program.
    name, host = left[0].name, _data_cache._owner_prefix("")
    others = [f"{host}{os.getpid()}-abc", name.replace("cache-", "cache-other."), "mine"]
    for other in others:
        (cache / other).mkdir()
    run_ranks(2, lambda comm: shared(comm, lambda: (matrix(), np.arange(30))))
    assert sorted(path.name for path in cache.iterdir()) == sorted(others)
