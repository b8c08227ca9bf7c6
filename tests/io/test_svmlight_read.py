"""The LIBSVM reader: what is read."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from multimargin import DataFileError, _core, load_svmlight
from tests.io.svmlight_files import TEXT, random_rows
from tests.support.paths import SHARED


def assert_same_as_peer(ours: Any, peer: Any) -> None:
    """Same content; scikit-learn has wider indices and float labels."""
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours[0], part), getattr(peer[0], part))
    assert ours[0].shape == peer[0].shape
    np.testing.assert_array_equal(ours[1], peer[1])


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
