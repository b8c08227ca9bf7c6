"""LIBSVM text whose lines have any number of labels, read with ``multilabel=True``."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from multimargin import DataFileError, MulticlassSVC, _core, load_svmlight

TEXT = (
    b"3,7,12 1:0.5 2:1\n1:0.3 3:1\n# a comment\n7 2:0.5\n12, 3 1:1 # two\nqid:4 2:2\n+3,3.0 1:0.9\n"
)


@pytest.fixture
def data_file(tmp_path):
    def write(content):
        (tmp_path / "d.svm").write_bytes(content)
        return tmp_path / "d.svm"

    return write


def test_lines_with_none_one_and_several(data_file):
    X, y = load_svmlight(data_file(TEXT), multilabel=True)
    assert y.tolist() == [(3, 7, 12), (), (7,), (12, 3), (), (3, 3)]
    assert X.toarray()[:, 0].tolist() == pytest.approx([0.5, 0.3, 0, 1, 0, 0.9])
    model = MulticlassSVC("ovr", random_state=0).fit(X, y)
    assert model.classes_.tolist() == [3, 7, 12]


def test_words(data_file):
    X, y = load_svmlight(data_file("rot,weiß 1:1\n2:1\ngrün,7 1:2\n".encode()), multilabel=True)
    assert (X.shape, y.tolist()) == ((3, 2), [("rot", "weiß"), (), ("grün", "7")])


def test_one_label_in_each_line(data_file):
    path = data_file(b"3 1:1\n1 2:1\n")
    _, single = load_svmlight(path)
    assert load_svmlight(path, multilabel=True)[1].tolist() == [
        (label,) for label in single.tolist()
    ]


def test_as_scikit_learn(data_file):
    path = data_file(b"3,7 1:0.5 2:1\n1:0.3 3:1\n7 2:0.5\n")
    X, y = load_svmlight(path, multilabel=True, dtype=np.float64)
    expected, labels = load_svmlight_file(str(path), multilabel=True)
    assert (expected != X).nnz == 0
    assert y.tolist() == labels


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (b"1,,2 1:1", 3, "a label is missing next to a comma: '1,,2'"),
        (b",2 1:1", 1, "a label is missing next to a comma"),
        (b"1, 1:1", 4, "a label is missing after a comma: '1:1'"),
        (b"1,", 3, "a label is missing next to a comma"),
        (b"1,\x01 1:1", 3, "control character"),
        (b"1,a#b 1:1", 3, "'#' inside a label"),
        (b"1,2 x", 5, "expected index:value, found 'x'"),
        (b"1," + b"x" * 1025 + b" 1:1", 3, "longer than 1024 bytes"),
    ],
)
def test_refused(data_file, text, column, message):
    with pytest.raises(DataFileError, match=message) as error:
        load_svmlight(data_file(b"5 1:1\n" + text + b"\n"), multilabel=True)
    assert f"d.svm:2: column {column}: " in str(error.value)


def test_several_labels_have_to_be_asked_for(data_file):
    with pytest.raises(DataFileError, match="multilabel=True"):
        load_svmlight(data_file(TEXT))


LABELS = st.lists(st.one_of(st.integers(-9, 99).map(str), st.sampled_from(["a", "ü", "b:1"])))
LINES = st.lists(
    st.tuples(LABELS, st.lists(st.integers(1, 9), unique=True, min_size=1)), min_size=1
)


@settings(deadline=None)
@given(LINES, st.integers(1, 40), st.booleans())
def test_as_a_slow_reader_in_any_chunks(lines, chunk_bytes, space):
    comma = ", " if space else ","
    text = "\n".join(
        " ".join([comma.join(labels), *(f"{k}:1" for k in features)]).strip()
        for labels, features in lines
    )
    *rest, begin, labels = _core.parse_svmlight(
        text.encode(), multilabel=True, chunk_bytes=chunk_bytes, n_threads=2
    )
    flat = [label for row, _ in lines for label in row]
    if all(label.lstrip("-").isdigit() for label in flat):
        assert labels.tolist() == [int(label) for label in flat]
    else:
        found = labels.view(f"U{labels.shape[1]}").ravel() if len(labels) else []
        assert list(found) == flat
    assert np.diff(begin).tolist() == [len(row) for row, _ in lines]
    assert np.diff(rest[2]).tolist() == [len(features) for _, features in lines]
