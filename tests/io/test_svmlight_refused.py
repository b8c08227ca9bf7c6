"""The LIBSVM reader: what is refused, and where the error is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from multimargin import DataFileError, _core, load_svmlight
from tests.io.svmlight_files import PACKERS

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
