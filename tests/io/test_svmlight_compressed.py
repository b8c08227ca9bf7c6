"""LIBSVM text that is compressed: by content, whole, and not too much of it."""

from __future__ import annotations

import errno
import gzip

import numpy as np
import pytest

from multimargin import DataFileError, load_svmlight
from multimargin.io import _compressed, _svmlight
from tests.io.svmlight_files import PACKERS, TEXT, assert_same


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
