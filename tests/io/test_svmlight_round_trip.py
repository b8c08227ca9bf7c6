"""The LIBSVM writer, and what comes back of it; any bytes are read or refused."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multimargin import DataFileError, _core, dump_svmlight, load_svmlight
from multimargin.io import _compressed
from tests.io.svmlight_files import PACKERS, assert_same, random_rows

finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


finite64 = st.floats(allow_nan=False, allow_infinity=False)


whole = st.integers(-(2**63), 2**63 - 1)


words = st.text(min_size=1, max_size=6).filter(
    lambda s: (
        not any(c in " ,#\x7f" or c < " " for c in s)
        and not s.startswith(("qid:", "\ufeff"))
        and not any("\ud800" <= c < "\ue000" for c in s)
        and not (s.split(":")[0].isascii() and s.split(":")[0].isdigit())
    )
)


@st.composite
def datasets(draw: st.DrawFn) -> tuple[Any, Any]:
    dtype, values = draw(st.sampled_from([(np.float32, finite32), (np.float64, finite64)]))
    d = draw(st.integers(1, 12))
    rows = draw(st.lists(st.dictionaries(st.integers(0, d - 1), values), min_size=1, max_size=12))
    indices = [j for row in rows for j in sorted(row)]
    data = np.array([row[j] for row in rows for j in sorted(row)], dtype)
    indptr = np.cumsum([0, *map(len, rows)])
    X = sp.csr_matrix((data, indices, indptr), shape=(len(rows), d))
    n = len(rows)
    y = draw(st.lists(whole, min_size=n, max_size=n) | st.lists(words, min_size=n, max_size=n))
    # One word that is no number keeps the rest from being read as integers.
    return X, np.array(y if isinstance(y[0], int) else ["word", *y[1:]])


@settings(max_examples=150, deadline=None)
@given(datasets())
def test_round_trip(tmp_path_factory, dataset):
    X, y = dataset
    path = tmp_path_factory.mktemp("trip") / "data.svm"
    dump_svmlight(path, X, y)
    loaded = load_svmlight(path, dtype=X.dtype, n_features=X.shape[1])
    assert_same(loaded, (X, loaded[1]))
    assert loaded[1].tolist() == y.tolist()
    peer = load_svmlight(path, dtype=X.dtype, n_features=X.shape[1], n_threads=3)
    assert_same(peer, loaded)


@settings(max_examples=100, deadline=None)
@given(datasets(), st.integers(1, 200), st.integers(2, 6))
def test_threads_and_chunks_change_nothing(tmp_path_factory, dataset, chunk_bytes, n_threads):
    path = tmp_path_factory.mktemp("threads") / "data.svm"
    dump_svmlight(path, *dataset)
    text = path.read_bytes()
    one = _core.parse_svmlight(text, double_precision=True)
    many = _core.parse_svmlight(
        text, double_precision=True, n_threads=n_threads, chunk_bytes=chunk_bytes
    )
    assert one[3] == many[3]
    for a, b in zip((*one[:3], one[4]), (*many[:3], many[4]), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def test_many_blocks_of_default_size(data_file):
    X, y = random_rows(1, n=30_000, d=100)
    path = data_file(b"")
    dump_svmlight(path, X, y)
    assert path.stat().st_size > 4 << 20
    one = load_svmlight(path, dtype=np.float64, n_threads=1)
    assert_same(one, (sp.csr_matrix(X), y))
    assert_same(load_svmlight(path, dtype=np.float64, n_threads=4), one)
    assert_same(load_svmlight(path, dtype=np.float64), one)


pieces = st.sampled_from(
    [b" ", b"\n", b"\r\n", b":", b"1", b"2:3", b"-", b"+", b"e", b".", b"#", b"qid:", b",", b"nan"]
)


soups = st.lists(pieces | st.binary(max_size=3), max_size=40).map(b"".join)


magics = st.sampled_from([b"", b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\x00"])


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(magics, soups | st.binary(max_size=200), st.booleans(), st.integers(1, 40))
def test_arbitrary_bytes(tmp_path, magic, content, zero_based, chunk_bytes):
    path = tmp_path / "data"
    path.write_bytes(magic + content)
    try:
        X, y = load_svmlight(path, zero_based=zero_based)
    except DataFileError as error:
        assert str(error).startswith(f"{path}:")
        return
    assert X.shape[0] == len(y) > 0
    assert np.isfinite(X.data).all()
    X.check_format(full_check=True)
    if not magic:
        # The same bytes in tiny blocks on threads.
        again = _core.parse_svmlight(
            content, zero_based=zero_based, n_threads=3, chunk_bytes=chunk_bytes
        )
        assert again[0].tobytes() == X.data.tobytes()
        assert again[2].tolist() == X.indptr.tolist()


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_dump_compresses_by_suffix(tmp_path, suffix):
    X, y = random_rows(2)
    path = tmp_path / f"data{suffix}"
    dump_svmlight(path, X, y)
    assert_same(load_svmlight(path, dtype=np.float64, n_features=50), (sp.csr_matrix(X), y))
    first = path.read_bytes()
    assert (_compressed.compression("", first[:10]) or "") == suffix
    dump_svmlight(path, X, y)
    assert path.read_bytes() == first  # nothing in it depends on time or name


def test_dump_writes_the_shortest_text(tmp_path):
    path = tmp_path / "data"
    X32 = sp.csr_matrix(np.array([[0.1, 0, 1e10, -3]], np.float32))
    dump_svmlight(path, X32, ["a"])
    assert path.read_text() == "a 1:0.1 3:1e+10 4:-3.0\n"
    dump_svmlight(path, [[0.1, 0, 1e-7], [0, 0, 0]], [1.0, 2.5])
    assert path.read_text() == "1.0 1:0.1 3:1e-07\n2.5\n"
    dump_svmlight(path, np.array([[True, False], [True, True]]), [True, False])
    assert path.read_text() == "1 1:1\n0 1:1 2:1\n"


def test_dump_leaves_its_input_alone(tmp_path):
    X = sp.csr_matrix((np.ones(3), [2, 0, 2], [0, 3]), shape=(1, 3))
    dump_svmlight(tmp_path / "data", X, [1])
    assert (tmp_path / "data").read_text() == "1 1:1.0 3:2.0\n"
    assert X.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], [1, 2], "X has 1 rows but y has 2"),
        ([[np.nan]], [1], "nan or infinite"),
        ([[np.inf]], [1], "nan or infinite"),
        ([1.0], [1], "2 dimensions"),
        ([[1j]], [1], "real numbers"),
        ([[1.0]], [[1]], "1 dimension"),
        ([[1.0]], [np.nan], "nan or infinite labels"),
        ([[1.0]], [b"x"], "integers, floats or str"),
        *(
            ([[1.0]], [label], "cannot be written")
            for label in ["", "a b", "a\tb", "a\n", "a,b", "a#", "qid:1", "3:4", "x" * 1025]
        ),
        ([[1.0]], ["\ufeffa"], "cannot be written"),
        ([[1.0]], ["\ud800"], "cannot be written"),
    ],
)
def test_dump_refuses(tmp_path, X, y, message):
    path = tmp_path / "data"
    path.write_text("old")
    with pytest.raises(ValueError, match=message):
        dump_svmlight(path, X, y)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_full_disk_keeps_the_old_file(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"data{suffix}"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        dump_svmlight(path, *random_rows(3))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_dump_follows_links_and_umask(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    dump_svmlight(tmp_path / "link", [[1.0]], [1])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "1 1:1.0\n"
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o666 & ~mask


def test_dump_into_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        dump_svmlight(tmp_path / "none" / "data", [[1.0]], [1])
