"""The LIBSVM reader and writer."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from multimargin import _core
from multimargin.io import _compressed, _svmlight
from multimargin.io._svmlight import DataFileError, dump_svmlight, load_svmlight
from tests.support.paths import SHARED

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TEXT = b"3 1:0.5 4:-2\n1 2:1e-3\n3\n"


@pytest.fixture
def data_file(tmp_path):
    """Write bytes to a file and return its path."""

    def write(content: bytes, name: str = "data.svm") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def random_rows(seed: int, n: int = 200, d: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.2, format="csr", random_state=rng, dtype=np.float64)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-30, 30, X.nnz)
    return X, rng.integers(-5, 5, n)


def assert_same(a: Any, b: Any) -> None:
    """Same matrix and labels, to the bit and the type."""
    for part in ("data", "indices", "indptr"):
        left, right = getattr(a[0], part), getattr(b[0], part)
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes()
    assert a[0].shape == b[0].shape
    assert a[1].dtype == b[1].dtype
    assert a[1].tolist() == b[1].tolist()


def assert_same_as_peer(ours: Any, peer: Any) -> None:
    """Same content; scikit-learn has wider indices and float labels."""
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours[0], part), getattr(peer[0], part))
    assert ours[0].shape == peer[0].shape
    np.testing.assert_array_equal(ours[1], peer[1])


# ---- What is read -------------------------------------------------------------


def test_small_file(data_file):
    X, y = load_svmlight(data_file(TEXT))
    assert isinstance(X, sp.csr_matrix)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.indptr.dtype == np.int32
    np.testing.assert_array_equal(
        X.toarray(), np.array([[0.5, 0, 0, -2], [0, 1e-3, 0, 0], [0, 0, 0, 0]], np.float32)
    )
    assert y.dtype.char == np.dtype(np.int64).char  # not the other type of 64 bits
    assert y.tolist() == [3, 1, 3]


@pytest.mark.parametrize("zero_based", [False, True])
def test_agrees_with_scikit_learn(data_file, zero_based):
    X, y = random_rows(0)
    path = data_file(b"")
    # Written by hand: both readers then see text that neither of them wrote.
    with path.open("w") as file:
        for i in range(X.shape[0]):
            row = X[i]
            pairs = zip(row.indices + (not zero_based), row.data, strict=True)
            file.write(f"{y[i]} " + " ".join(f"{j}:{v:.17g}" for j, v in pairs) + " # note\n")
    ours, our_y = load_svmlight(path, dtype=np.float64, zero_based=zero_based, n_features=60)
    peer, peer_y = load_svmlight_file(str(path), zero_based=zero_based, n_features=60)
    assert_same_as_peer((ours, our_y), (peer, peer_y))


def test_accepted_variations(data_file):
    text = (
        b"\xef\xbb\xbf# head\r\n\r\n  \t\n"
        b"+1 qid:7 1:+.5 3:1.\t5:-1E+2 # 7:7 #\r\n"
        b"-1.0 5:3 2:0 qid:x 1:1e-400 # unsorted\n"
        b"   2e1  0004:5#glued\n"
        b"7"
    )
    X, y = load_svmlight(data_file(text), dtype=np.float64)
    assert y.tolist() == [1, -1, 20, 7]
    assert y.dtype == np.int64
    np.testing.assert_array_equal(
        X.toarray(), [[0.5, 0, 1, 0, -100], [0, 0, 0, 0, 3], [0, 0, 0, 5, 0], [0] * 5]
    )
    assert X.indices.tolist() == [0, 2, 4, 0, 1, 4, 3]  # written zeros are stored
    assert X.has_canonical_format


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "+2", "-3", "4.0", "5.", "1.5e1", "1000e-3"], [1, 2, -3, 4, 5, 15, 1]),
        (["-0", "0.000", "-0e5"], [0, 0, 0]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["9007199254740993.0"], [2**53 + 1]),  # a double would round it
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["1", "1.0", "x"], ["1", "1.0", "x"]),
        (["1", "0.9999999999999999999999"], ["1", "0.9999999999999999999999"]),
        (["1", "1e20"], ["1", "1e20"]),
        (["1", "1e-1"], ["1", "1e-1"]),
        (["sports", "politik/österreich", "a:b", "日本", "😀"], None),
        (["+-1", "--1", "1_0", "0x10", "1e", "e1", ".", "+", "nan", "inf"], None),
    ],
)
def test_labels(data_file, labels, expected):
    text = "".join(f"{label} 1:1\n" for label in labels).encode()
    _, y = load_svmlight(data_file(text))
    assert y.tolist() == (labels if expected is None else expected)
    assert y.dtype.kind == ("i" if isinstance(y.tolist()[0], int) else "U")


def test_one_text_label_in_another_block_makes_all_text():
    text = b"1 1:1\n" * 10 + b"x 1:1\n"
    *_, labels = _core.parse_svmlight(text, chunk_bytes=8, n_threads=2)
    assert labels.view("U1").ravel().tolist() == ["1"] * 10 + ["x"]


def test_float32_is_rounded_once(data_file):
    # Just above the middle of two float32: by way of float64 it falls on the
    # middle and then to the even neighbour below.
    text = b"1 1:1.00000005960464477540"
    X, _ = load_svmlight(data_file(text))
    assert X.data[0] == np.nextafter(np.float32(1), np.float32(2))


def test_smallest_and_largest_values(data_file):
    text = b"1 1:1e-46 2:-1e-46 3:1.4e-45 4:3.4028235e38 5:0e999 6:" + b"0" * 400 + b"1"
    X, _ = load_svmlight(data_file(text))
    assert X.data.tolist() == [0, 0, 2.0**-149, float(np.finfo(np.float32).max), 0, 1]
    assert np.signbit(X.data).tolist() == [False, True, False, False, False, False]


def test_highest_indices(data_file):
    X, _ = load_svmlight(data_file(b"1 2147483647:1"))
    assert X.shape == (1, 2**31 - 1)
    X, _ = load_svmlight(data_file(b"1 2147483647:1"), zero_based=True)
    assert X.shape == (1, 2**31)
    assert X.indices.tolist() == [2**31 - 1]


def test_n_features(data_file):
    path = data_file(TEXT)
    assert load_svmlight(path, n_features=9)[0].shape == (3, 9)
    X, _ = load_svmlight(path, n_features=2, ignore_extra_features=True)
    np.testing.assert_array_equal(X.toarray(), np.array([[0.5, 0], [0, 1e-3], [0, 0]], np.float32))
    with pytest.raises(DataFileError, match=r"data.svm:1: column 9: feature 4 .*n_features=3"):
        load_svmlight(path, n_features=3)


def test_labels_only(data_file):
    X, y = load_svmlight(data_file(b"1\n2\n"))
    assert X.shape == (2, 0)
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": np.int32}, "float32 or numpy.float64"),
        ({"n_features": 0}, "n_features must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"ignore_extra_features": True}, "needs n_features"),
    ],
)
def test_bad_arguments(data_file, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_svmlight(data_file(TEXT), **arguments)
    assert not isinstance(caught.value, DataFileError)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_svmlight(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        load_svmlight(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT)], ids=["plain", "gz"])
def test_pipe(tmp_path, content):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    _, y = load_svmlight(pipe)
    writer.join()
    assert y.tolist() == [3, 1, 3]


# ---- What is refused ------------------------------------------------------------

MALFORMED = [
    (b"1:0.5 2:1", 1, "no label.*'1:0.5'"),
    (b"qid:3 2:1", 1, "no label"),
    (b"1,2 1:1", 1, "multilabel.*'1,2'"),
    (b"a,b 1:1", 1, "multilabel"),
    (b"1#note", 1, "space before the comment"),
    (b"a\x00b 1:1", 1, r"control character.*'a\\x00b'"),
    (b"a\rb 1:1", 1, "control character"),
    (b"\xff 1:1", 1, r"not valid UTF-8: '\\xff'"),
    (b"\xed\xa0\x80 1:1", 1, "not valid UTF-8"),
    (b"\xc0\x80 1:1", 1, "not valid UTF-8"),
    (b"\xf4\x90\x80\x80 1:1", 1, "not valid UTF-8"),
    (b"\xe2\x82 1:1", 1, "not valid UTF-8"),
    (b"x" * 1025 + b" 1:1", 1, r"longer than 1024 bytes: 'x{30}\.\.\.'"),
    (b"1" * 1025 + b" 1:1", 1, "longer than 1024 bytes"),
    (b"1 2:1 0:1", 7, "zero_based=True.*'0:1'"),
    (b"1 -2:1", 3, "whole number, 1 or more; found '-2:1'"),
    (b"1 +2:1", 3, "whole number"),
    (b"1 1.5:1", 3, "whole number"),
    (b"1 :1", 3, "whole number"),
    (b"1 x:1", 3, "whole number"),
    (b"1 2147483648:1", 3, "below 2147483648"),
    (b"1 99999999999999999999999:1", 3, "below 2147483648"),
    (b"1 1:1 7", 7, "expected index:value, found '7'"),
    (b"1 1 :1", 3, "expected index:value, found '1'"),
    (b"1 1:1 2", 7, "expected index:value"),
    (b"1 3:", 3, "value is missing.*'3:'"),
    (b"1 3: 4:1", 3, "value is missing"),
    (b"1 3:#", 3, "value is missing"),
    (b"1 3:x", 3, "not a number: '3:x'"),
    (b"1 3:1x", 3, "not a number"),
    (b"1 3:1:2", 3, "not a number"),
    (b"1 3:+-1", 3, "not a number"),
    (b"1 3:++1", 3, "not a number"),
    (b"1 3:+", 3, "not a number"),
    (b"1 3:1,5", 3, "not a number"),
    (b"1 3:0x1p3", 3, "not a number"),
    (b"1 3:1e", 3, "not a number"),
    (b"1 3:1\r4:1", 3, "not a number"),
    (b"1 3:1\x00", 3, "not a number"),
    (b"1 3:nan", 3, "must be finite, found '3:nan'"),
    (b"1 3:-inf", 3, "must be finite"),
    (b"1 3:+Infinity", 3, "must be finite"),
    (b"1 3:1e39", 3, "too large for float32.*float64.*'3:1e39'"),
    (b"1 3:1e999999999999999999999999", 3, "too large"),
    (b"1 3:1 4:1 3:1", 11, "twice in one line: '3:1'"),
    (b"1 4:1 9:2 qid:1 9:5 4:1", 17, "twice in one line: '9:5'"),
    (b"1 3:1 3:x", 7, "not a number"),
]


@pytest.mark.parametrize(("line", "column", "message"), MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n1,2 3:4\n"])
def test_malformed(data_file, line, column, message, ending):
    before = b"\n# note\n2 1:1\n"
    path = data_file(before + line + ending)
    with pytest.raises(DataFileError, match=f"(?s)^{path}:4: column {column}: .*{message}"):
        load_svmlight(path)


def test_value_too_large_for_float64(data_file):
    with pytest.raises(DataFileError, match="too large for float64"):
        load_svmlight(data_file(b"1 1:1e309"), dtype=np.float64)
    assert load_svmlight(data_file(b"1 1:1e39"), dtype=np.float64)[0].data[0] == 1e39


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 4096])
def test_first_error_wins(n_threads, chunk_bytes):
    lines = [b"1 1:1 2:2"] * 300
    lines[123] = b"1 1:1 2:bad"
    lines[124] = b"1 1:worse"
    lines[299] = b"1,2"
    for _ in range(20):
        with pytest.raises(_core.SvmlightParseError) as caught:
            _core.parse_svmlight(b"\n".join(lines), n_threads=n_threads, chunk_bytes=chunk_bytes)
        assert caught.value.args == (124, 7, "the value is not a number: '2:bad'")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only this\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
def test_nothing_in_the_file(data_file, content, pack):
    with pytest.raises(DataFileError, match=r"data.svm: (the file is empty|no examples)"):
        load_svmlight(data_file(pack(content)))


# ---- Compressed files -----------------------------------------------------------


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["data.svm", "data.svm{}", "data.xz", "data.gz"])
def test_content_decides(data_file, suffix, name):
    plain = load_svmlight(data_file(TEXT))
    assert_same(load_svmlight(data_file(TEXT, name.format(suffix))), plain)
    assert_same(load_svmlight(data_file(PACKERS[suffix](TEXT), name.format(suffix))), plain)


@pytest.mark.parametrize("suffix", PACKERS)
def test_several_streams(data_file, suffix):
    pack = PACKERS[suffix]
    _, y = load_svmlight(data_file(pack(b"1 1:1\n") + pack(b"2 1:1\n")))
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize("suffix", PACKERS)
def test_truncated_anywhere(data_file, suffix):
    packed = PACKERS[suffix](TEXT * 5)
    for size in range(len(packed)):
        path = data_file(packed[:size], f"data{suffix}")
        with pytest.raises(DataFileError, match=f"^{path}: truncated"):
            load_svmlight(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_corrupt_anywhere(data_file, suffix):
    """A flipped byte is found, or (in a header field without checksum) harmless."""
    packed = PACKERS[suffix](TEXT * 5)
    good = load_svmlight(data_file(packed))
    n_found = 0
    for at in range(len(packed)):
        flipped = packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]
        path = data_file(flipped, f"data{suffix}")
        try:
            loaded = load_svmlight(path)
        except DataFileError as error:
            n_found += 1
            assert str(error).startswith(f"{path}:")
            assert "corrupt" in str(error) or "truncated" in str(error)
        else:
            assert_same(loaded, good)
    assert n_found > 0.8 * len(packed)


def test_failing_disk_is_no_corruption(data_file, monkeypatch):
    class Failing:
        def readinto(self, _):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(_compressed, "packed", lambda *_: Failing())
    with pytest.raises(OSError, match="Input/output"):
        load_svmlight(data_file(gzip.compress(TEXT)))


@pytest.mark.parametrize("suffix", PACKERS)
def test_little_data_that_stands_for_much_is_refused(data_file, monkeypatch, suffix):
    text = b"1 1:1 2:1\n" * 300_000
    packed = PACKERS[suffix](text)
    assert load_svmlight(data_file(packed))[0].shape == (300_000, 2)
    monkeypatch.setattr(_compressed, "_ALWAYS", 1 << 20)
    path = data_file(packed)
    with pytest.raises(DataFileError, match=rf"{path}: .* more than 100 times .* decompress it"):
        load_svmlight(path)
    assert load_svmlight(data_file(text))[0].shape == (300_000, 2)


@pytest.mark.parametrize("suffix", PACKERS)
def test_much_data_is_no_reason_to_refuse_it(data_file, monkeypatch, suffix):
    monkeypatch.setattr(_compressed, "_ALWAYS", 1 << 10)
    values = np.random.default_rng(0).integers(10, size=20_000)
    text = "".join(f"{v} 1:{v} 2:0.25 3:0.125 4:0.0625 5:0.03125\n" for v in values).encode()
    packed = PACKERS[suffix](text)
    assert 15 < len(text) / len(packed) < 100
    assert load_svmlight(data_file(packed))[1].tolist() == values.tolist()


def test_text_beyond_the_memory_is_refused(data_file, monkeypatch):
    path = data_file(gzip.compress(TEXT))
    monkeypatch.setattr(_svmlight, "available", lambda: 2 * len(TEXT))
    load_svmlight(path)
    monkeypatch.setattr(_svmlight, "available", lambda: 2 * len(TEXT) - 2)
    with pytest.raises(DataFileError, match=r"room for in memory; .* decompress it"):
        load_svmlight(path)


# ---- Round trip -----------------------------------------------------------------

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


# ---- Writing --------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_dump_compresses_by_suffix(tmp_path, suffix):
    X, y = random_rows(2)
    path = tmp_path / f"data{suffix}"
    dump_svmlight(path, X, y)
    assert_same(load_svmlight(path, dtype=np.float64, n_features=50), (sp.csr_matrix(X), y))
    first = path.read_bytes()
    assert (_svmlight.compression("", first[:10]) or "") == suffix
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


# ---- Real files -----------------------------------------------------------------


def test_shared_files_agree_with_scikit_learn():
    root = SHARED
    names = ["dna/train", "xcsvm-splice/train", "lshtc1-dryrun-task2/train"]
    paths = [root / f"{name}.libsvm.xz" for name in names]
    if not all(path.exists() for path in paths):
        pytest.skip("the shared data sets are not here")
    for path in paths:
        with lzma.open(path) as file:
            peer, peer_y = load_svmlight_file(file, zero_based=False)
        ours = load_svmlight(path, dtype=np.float64)
        assert_same_as_peer(ours, (peer, peer_y))
