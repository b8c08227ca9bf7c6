"""The text format of the LSHTC challenges."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from multimargin import DataFileError, load_svmlight
from multimargin.datasets import _lshtc_format, load_lshtc

TEXT = b"Data\n545, 32 18:2 8:1\n\n7 3:0.5\n-1,2 8:1 0:4 8:2\n"


@pytest.fixture
def data_file(tmp_path):
    """Write bytes to a file and return its path."""

    def write(content: bytes, name: str = "train.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def twin(lines: list[tuple[list[int], list[tuple[int, float]]]], multilabel: str) -> Any:
    """Dense rows and labels, one number at a time."""
    width = 1 + max((f for _, pairs in lines for f, _ in pairs), default=-1)
    rows, labels = [], []
    for names, pairs in lines:
        if len(names) > 1 and multilabel == "drop":
            continue
        row = np.zeros(width)
        for feature, value in pairs:
            row[feature] += value
        rows.append(row)
        labels.append(tuple(names) if multilabel == "all" else names[0])
    return rows, labels


def test_small_file(data_file):
    X, y = load_lshtc(data_file(TEXT), multilabel="first")
    assert X.dtype == np.float32
    assert (X.indices.dtype, X.indptr.dtype, y.dtype) == (np.int32, np.int32, np.int64)
    assert X.shape == (3, 19)
    assert y.tolist() == [545, 7, -1]
    assert X.indices.tolist() == [8, 18, 3, 0, 8]
    assert X.data.tolist() == [1, 2, 0.5, 4, 3]
    _, y = load_lshtc(data_file(TEXT), multilabel="all")
    assert y.tolist() == [(545, 32), (7,), (-1, 2)]
    X, y = load_lshtc(data_file(TEXT), multilabel="drop", n_features=30, dtype=np.float64)
    assert (X.shape, X.dtype, y.tolist()) == ((1, 30), np.float64, [7])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(data_file, pack):
    X, y = load_lshtc(data_file(pack(TEXT), "odd.name"), multilabel="first")
    assert (X.shape, y.tolist()) == ((3, 19), [545, 7, -1])


def test_same_as_libsvm_text_where_that_has_one_label_and_sorted_features(data_file):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(200):
        columns = np.unique(rng.integers(1, 50, 10))
        pairs = " ".join(f"{c}:{v:.7g}" for c, v in zip(columns, rng.random(10), strict=False))
        lines.append(f"{rng.integers(9)} {pairs}\n")
    path = data_file("".join(lines).encode())
    X, y = load_lshtc(path, n_features=60)
    expected, labels = load_svmlight(path, zero_based=True, n_features=60)
    for part in ("data", "indices", "indptr"):
        assert getattr(X, part).tobytes() == getattr(expected, part).tobytes()
    assert y.tobytes() == labels.tobytes()


LINES = st.lists(
    st.tuples(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3),
        st.lists(st.tuples(st.integers(0, 6), st.integers(-99, 99).map(lambda v: v / 8))),
    ),
    min_size=1,
    max_size=8,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=LINES,
    comma=st.sampled_from([",", ", ", " ,\t"]),
    gap=st.sampled_from([" ", "  ", "\t"]),
    end=st.sampled_from(["\n", "\r\n", "\n \n", " \n"]),
    start=st.sampled_from(["", "Data\n", "\ufeff", "\ufeff\nData\r\n"]),
    multilabel=st.sampled_from(["first", "drop", "all"]),
    piece=st.sampled_from([1, 20, 1 << 20]),
)
def test_same_as_its_slow_twin(tmp_path, lines, comma, gap, end, start, multilabel, piece):
    text = start
    for names, pairs in lines:
        tokens = [comma.join(map(str, names)), *(f"{f}:{v}" for f, v in pairs)]
        text += gap.join(tokens) + end
    path = tmp_path / "train.txt"
    path.write_bytes(text.encode())
    rows, labels = twin(lines, multilabel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lshtc_format, "_PIECE_BYTES", piece)
        if not rows:
            with pytest.raises(DataFileError, match="no samples"):
                load_lshtc(path, multilabel=multilabel, n_features=7)
            return
        X, y = load_lshtc(path, multilabel=multilabel, n_features=7, n_threads=2)
    assert y.tolist() == labels
    expected = np.zeros((len(rows), 7))
    for k, row in enumerate(rows):
        expected[k, : len(row)] = row
    np.testing.assert_array_equal(X.toarray(), expected)
    # Looked at again, by a matrix that has not been told.
    assert csr_matrix((X.data, X.indices, X.indptr), shape=X.shape).has_canonical_format


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2:1\n1,2 3:1\n", r":2: the line has 2 labels; .*'first'.*'drop'"),
        (b"1 2:1\n\n 3:1\n", r":3: the line has no label"),
        (b"3:1 4:1\n", r":1: the line has no label"),
        (b"1 x 3:1\n", r":1: '1 x' is not a list of labels.*'545, 32 8:1 18:2'"),
        (b"1,,2 3:1\n", r"'1,,2' is not a list"),
        (b"Data\nData\n", r":2: 'Data' is not a list"),
        (b"1.5 3:1\n", r"'1.5' is not a list"),
        (b"\xff 3:1\n", r"is not a list"),
        (b"9223372036854775808 3:1\n", r":1: the label 9223372036854775808 does not fit"),
        (b"1 3:1\n1 3:1 4:x\n", r":2: the value is not a number: '4:x'"),
        (b"1 3:1 3:1\n1 -3:1 4:1\n", r":2: a feature index must be a whole number"),
        (b"1 3:1 10:1 1_0:1\n", r":1: a feature index must be a whole number.*'1_0:1'"),
        (b"1 3:1 3\n", r":1: expected index:value, found '3'"),
        (b"1 3:1e308 3:1e308\n", r":1: values must be finite"),
        (b"1 2147483648:1\n", r":1: feature indices must be below 2147483648"),
        (b"Data\n \n", "no samples"),
        (b"", "the file is empty"),
        (gzip.compress(TEXT, mtime=0)[:-9], "truncated"),
    ],
)
def test_refused(data_file, text, message):
    with pytest.raises(DataFileError, match=f"train.txt.*{message}"):
        load_lshtc(data_file(text), dtype=np.float64)


def test_line_of_a_later_piece_is_named(data_file, monkeypatch):
    monkeypatch.setattr(_lshtc_format, "_PIECE_BYTES", 10)
    text = b"Data\n" + b"1 2:1\n" * 20 + b"1 9:1 7:1\n"
    with pytest.raises(DataFileError, match=r"train.txt:22: feature 7 is beyond n_features=7"):
        load_lshtc(data_file(text), n_features=7)
    with pytest.raises(DataFileError, match=r"train.txt:23: the value is missing"):
        load_lshtc(data_file(text + b"1 3:\n"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"multilabel": "last"},
            "multilabel must be 'error', 'first', 'drop' or 'all', got 'last'",
        ),
        ({"n_features": 0}, "n_features must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"dtype": np.int32}, "dtype must be"),
    ],
)
def test_bad_arguments(data_file, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_lshtc(data_file(TEXT), **arguments)
