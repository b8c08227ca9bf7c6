"""Tables: what is written is read back, and what is wrong is told with its line."""

import bz2
import csv
import gzip
import json
import lzma
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import DataFileError, read_table
from multimargin.io import _compressed
from multimargin.tables import Table, _text_formats, _text_lines
from multimargin.tables._write import table_lines

# What UTF-8 holds, but for NUL, which is refused.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6),
    st.sampled_from(["csv", "tsv", "jsonl"]),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
def test_round_trip(folder, rows, format, encoding):
    path = folder / f"round.{format}"
    path.write_bytes("".join(table_lines(format, ["a", "b,c"], rows)).encode(encoding))
    table = read_table(path, encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    assert table.columns == ["a", "b,c"]
    if format != "jsonl":  # an empty field is a missing value
        rows = [tuple(field or None for field in row) for row in rows]
    assert list(zip(table["a"], table["b,c"], strict=True)) == rows
    assert read_table(path, ["b,c"], encoding=encoding)["b,c"].tolist() == [b for _, b in rows]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["csv", "tsv", "jsonl", "parquet"]))
def test_any_bytes_are_read_or_refused(folder, content, format):
    path = write(folder / "any", content)
    try:
        assert len(read_table(path, format=format)) > 0
    except DataFileError as error:
        assert str(error).startswith(str(path))


def test_only_wanted_columns_in_their_order(folder):
    path = write(folder / "wanted.csv", "a,b,a,c\n1,2,3,4\n5,6,7,8\n")
    table = read_table(path, ["c", "b", "c"])
    assert table.columns == ["c", "b"]
    assert table["c"].tolist() == ["4", "8"]
    assert table.shape == (2, 2)
    assert len(table) == 2


def test_lines_quotes_and_separators(folder):
    text = 'text;label\r\n"one; ""two""\nlines";x\r\n\r\nb;y\r\n'
    table = read_table(write(folder / "semi.csv", text))
    assert table["text"].tolist() == ['one; "two"\nlines', "b"]
    assert [table.place(row).rpartition(":")[2] for row in range(2)] == ["2", "5"]
    table = read_table(write(folder / "tabs.tab", "a\tb\n1,2\tx\n"))
    assert table["a"].tolist() == ["1,2"]


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_compressed(folder, suffix, pack):
    path = write(folder / f"packed.csv.{suffix}", pack.compress(b"a,b\n1,2\n" * 500))
    assert len(read_table(path)) == 999
    write(path, path.read_bytes()[:-20])
    with pytest.raises(DataFileError, match=r"packed.csv.* (truncated|corrupt)"):
        read_table(path)


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_little_data_that_stands_for_much_is_refused(folder, monkeypatch, suffix, pack):
    path = write(folder / f"much.csv.{suffix}", pack.compress(b"a,b\n1,2\n" * 300_000))
    monkeypatch.setattr(_compressed, "_ALWAYS", 1 << 20)
    with pytest.raises(DataFileError, match=r"much.csv.*: .* more than 100 times .* decompress it"):
        read_table(path, ["a"])


def test_json_lines(folder):
    lines = [{"t": "x", "n": 1}, {"n": 2.5, "t": None, "o": [1]}, {"t": "ü"}]
    path = write(folder / "a.ndjson", "\n\n".join(json.dumps(line) for line in lines))
    table = read_table(path, ["t", "n"])
    assert table["t"].tolist() == ["x", None, "ü"]
    assert table["n"].tolist() == [1, 2.5, None]
    assert table.place(1).endswith("a.ndjson:3")
    both = write(folder / "b.jsonl", '{"a": 1}\n{"b": true}\n')
    assert read_table(both)["b"].tolist() == [None, True]


def test_parquet(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {"t": ["x", None, "z"], "n": [1, 2, 3], "c": pandas.Categorical(["a", "b", "a"])}
    )
    frame["l"] = [[1], [2], [3]]
    frame.to_parquet(folder / "f.parquet")
    table = read_table(folder / "f.parquet", ["t", "n", "c"])
    assert table["t"].tolist() == ["x", None, "z"]
    assert table["n"].tolist() == [1, 2, 3]
    assert table["c"].tolist() == ["a", "b", "a"]
    assert table.place(1).endswith("f.parquet: row 2")
    with pytest.raises(DataFileError, match="column 'l' holds list"):
        read_table(folder / "f.parquet")
    with pytest.raises(DataFileError, match="no column 'x'"):
        read_table(folder / "f.parquet", ["x"])
    raw = (folder / "f.parquet").read_bytes()
    for damaged in (raw[:-9], raw[:50], raw[:60] + b"\xff" * 40 + raw[100:], b"PAR1" * 9):
        with pytest.raises(DataFileError, match="damaged, or no Parquet file"):
            read_table(write(folder / "d.parquet", damaged), ["t", "n", "c"])
    frame[:0].to_parquet(folder / "e.parquet")
    with pytest.raises(DataFileError, match="no rows"):
        read_table(folder / "e.parquet", ["t"])


def test_parquet_without_pyarrow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataFileError, match=r'pip install "multimargin\[parquet\]"'):
        read_table(write(folder / "p.parquet", b"PAR1"))


BAD = {
    "empty": ("x.csv", b"", "x.csv: the file is empty"),
    "byte order mark only": ("x.csv", b"\xef\xbb\xbf", "must name the columns"),
    "blank": ("x.csv", b"\n\n", "must name the columns"),
    "header only": ("x.csv", b"a,label\n", "no rows"),
    "latin-1": ("x.csv", b"a,b\nx,y\nd\xe9j\xe0,z\n", r"x.csv:3: byte 9 \(0xe9\) is not utf-8"),
    "utf-16": ("x.csv", "a,b\n1,2\n".encode("utf-16"), "seems to be utf-16"),
    "utf-16 without mark": ("x.csv", "a,b\n1,2\n".encode("utf-16-le"), "x.csv:1: .* NUL"),
    "cut in a character": ("x.csv", b"a,label\n1,\xc3", r"x.csv:2: byte 10 \(0xc3\)"),
    "NUL": ("x.csv", b"a,label\n1,\x002\n", "x.csv:2: the line holds a NUL"),
    "missing column": ("x.csv", b"a,labels\n1,2\n", "no column 'label'; did you mean 'labels'"),
    "far column": ("x.csv", b"a,b\n1,2\n", "no column 'label'. There are 'a', 'b'"),
    "twice": ("x.csv", b"label,label\n1,2\n", "2 columns are named 'label'"),
    "ragged": ("x.csv", b'label,b\n1,2\n"3\n",4\n5,6,7\n', "x.csv:5: 3 fields, but the header has"),
    "short": ("x.tsv", b"label\tb\n1\n", "x.tsv:2: 1 field, .* a tab or a line break"),
    "open quote": ("x.csv", b'label,b\n1,2\n3,"4\n5,6\n', "x.csv:3: a quote .* never closed"),
    "text behind a quote": ("x.csv", b'label\n"a" b\n', "x.csv:2: text behind a closing quote"),
    "no JSON": ("x.jsonl", b'{"label": 1}\n\n{label}\n', "x.jsonl:3: no JSON: .* character 2"),
    "a list": ("x.json", b"[1, 2]\n", "x.json:1: a list, not an object"),
    "a number": ("x.jsonl", b"5\n", "x.jsonl:1: a number, not an object"),
    "nested": ("x.jsonl", b'{"label": {"a": 1}}\n', "x.jsonl:1: 'label' is an object"),
    "deep": ("x.jsonl", b"[" * 100_000, "x.jsonl:1: no JSON"),
    "surrogate": ("x.jsonl", b'{"label": "\\ud800"}\n', "x.jsonl:1: .* surrogate"),
    "huge number": ("x.jsonl", b'{"label": ' + b"9" * 5000 + b"}", "x.jsonl:1: no JSON that can"),
    "missing name": ("x.jsonl", b'{"labels": 1}\n', "no column 'label'; did you mean 'labels'"),
    "blank lines": ("x.jsonl", b"\n \n", "every line is blank"),
    "no gzip": ("x.csv.gz", b"\x1f\x8b\x08\x00junkjunkjunk", "(corrupt|truncated)"),
    "no parquet": ("x.parquet", b"label\n1\n", "damaged, or no Parquet"),
    "empty parquet": ("x.parquet", b"", "the file is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    name, content, message = BAD[case]
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = write(tmp_path / name, content)
    with pytest.raises(DataFileError, match=message) as caught:
        read_table(path, ["label"])
    assert str(caught.value).startswith(str(path))


def test_wrong_byte_far_into_the_file(tmp_path):
    head = b"a,b\n" + "xü,y\n".encode() * 200_000
    path = write(tmp_path / "x.csv", head + b"\xff")
    with pytest.raises(DataFileError, match=rf"x.csv:200002: byte {len(head)} \(0xff\)"):
        read_table(path, ["a"])


def test_gigantic_lines_and_fields(tmp_path, monkeypatch):
    monkeypatch.setattr(_text_lines, "LONGEST_LINE", 1000)
    path = write(tmp_path / "x.csv", "a,b\n1,2\n" + "x" * 1001 + ",2\n")
    with pytest.raises(DataFileError, match=r"x.csv:3: the line has more than 1,000 characters"):
        read_table(path)
    monkeypatch.setattr(_text_formats, "LONGEST_FIELD", 500)
    path = write(tmp_path / "y.csv", 'a,b\n1,"' + "word\n" * 200)
    with pytest.raises(DataFileError, match=r"y.csv:2: a field of more than 500 .*never closed"):
        read_table(path)


def test_long_fields_are_read_and_the_limit_of_others_stays(tmp_path):
    before = csv.field_size_limit()
    path = write(tmp_path / "x.csv", "a,b\n" + "x" * 300_000 + ",2\n")
    assert len(read_table(path)["a"][0]) == 300_000
    with pytest.raises(DataFileError):
        read_table(write(tmp_path / "y.csv", "a,b\n1\n"))
    assert csv.field_size_limit() == before


def test_other_encodings(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\ndéjà,vu\n".encode("cp1252"))
    assert read_table(path, encoding="cp1252")["a"].tolist() == ["déjà"]
    for encoding in ("klingon", "hex", "rot13", "utf-8\0"):
        with pytest.raises(ValueError, match="is not known"):
            read_table(path, encoding=encoding)


def test_formats(tmp_path):
    path = write(tmp_path / "data.txt", "a\tb\n1\t2\n")
    with pytest.raises(ValueError, match="does not tell the format"):
        read_table(path)
    with pytest.raises(ValueError, match="format must be one of csv"):
        read_table(path, format="xlsx")
    with pytest.raises(ValueError, match=r"write \['a'\]"):
        read_table(path, "a", format="tsv")
    assert read_table(path, format="tsv")["b"].tolist() == ["2"]
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


def test_table_as_a_container():
    table = Table({"a": [1, 2, 3], "b": np.array(["x", "y", "z"])}, path="f")
    assert table[np.array([2, 0])]["b"].tolist() == ["z", "x"]
    assert table[[True, False, True]]["a"].tolist() == [1, 3]
    assert table[1:][0:1]["a"].tolist() == [2]
    assert "a" in table and "c" not in table and list(table) == ["a", "b"]
    assert repr(table) == "<Table of 3 rows: a, b>"
    with pytest.raises(ValueError, match="different lengths"):
        Table({"a": [1], "b": []})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_byte_order_mark_that_the_encoding_takes_for_a_character(tmp_path, encoding):
    path = write(tmp_path / "t.csv", "\ufefftext,label\na,b\n".encode(encoding))
    assert read_table(path, encoding=encoding).columns == ["text", "label"]
    seems = encoding[:6]
    with pytest.raises(DataFileError, match=f"seems to be {seems}|{seems}|NUL"):
        read_table(path)


def test_utf_32_is_not_taken_for_utf_16(tmp_path):
    path = write(tmp_path / "t.csv", "text,label\na,b\n".encode("utf-32"))
    with pytest.raises(DataFileError, match="seems to be utf-32"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
def test_the_order_of_bytes_is_told_where_no_mark_tells_it(tmp_path, encoding, format):
    lines = table_lines(format, ["text", "label"], [["a", "b"], ["ü", "c"]])
    path = write(tmp_path / f"t.{format}", "".join(lines).encode(encoding))
    for asked in (encoding[:6], "utf-16"):
        with pytest.raises(DataFileError, match=rf"t.{format}:.* seems to be {encoding}$"):
            read_table(path, encoding=asked)
    assert read_table(path, encoding=encoding)["text"].tolist() == ["a", "ü"]
