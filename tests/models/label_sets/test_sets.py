"""Sets of labels as users give them, and as models give them back."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import MultiLabelBinarizer

from multimargin.models.label_sets._sets import label_sets, sets_among

Y = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]])
LISTS = [["b", "a"], [], ["c", "b", "a"], ["b"]]
# Columns of Y in the order of the labels.
BY_LABEL = Y[:, [0, 2, 1]]


@pytest.mark.parametrize(
    ("y", "form"),
    [
        (Y, "dense"),
        (Y.tolist(), "dense"),
        (list(Y), "dense"),
        (Y.astype(bool), "dense"),
        (Y.astype(np.float32), "dense"),
        (np.asfortranarray(Y), "dense"),
        (Y.astype(object), "dense"),
        (pd.DataFrame(Y), "dense"),
        (pd.DataFrame({"a": Y[:, 0] > 0, "b": Y[:, 1], "c": Y[:, 2]}), "dense"),
        (sp.csr_matrix(Y), "sparse"),
        (sp.csc_matrix(Y.astype(bool)), "sparse"),
        (sp.coo_array(Y.astype(np.float64)), "sparse"),
    ],
)
def test_indicator_matrices(y, form):
    found = label_sets(y)
    assert (found.form, found.classes.tolist(), len(found)) == (form, [0, 1, 2], 4)
    assert found.member.toarray().tolist() == Y.tolist()
    assert found.member.indices.dtype == np.int32


def test_stored_zeros_are_no_labels():
    y = sp.csr_matrix(Y)
    y.data[0] = 0
    assert label_sets(y).member.nnz == 5
    assert y.nnz == 6


@pytest.mark.parametrize(
    "y",
    [
        LISTS,
        [tuple(row) for row in LISTS],
        [set(row) for row in LISTS],
        [[], *LISTS][1:],
        [LISTS[0], (), {"a", "b", "c"}, frozenset("b")],
        [["b", "a", "b", "b"], [], ["c", "b", "a"], ["b"]],
        pd.Series(LISTS),
        [np.array(row) for row in LISTS],
    ],
)
def test_lists_of_labels(y):
    found = label_sets(y)
    assert (found.form, found.classes.tolist()) == ("lists", ["a", "b", "c"])
    assert found.member.toarray().tolist() == BY_LABEL.tolist()


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        ["ab", "cd"],
        np.array([0, 1, 1]),
        np.array([[1], [0], [1]]),  # a column
        pd.Series(["a", "b"]),
        pd.Series(["a", "b"], dtype="category"),
        np.array(["a", None], dtype=object),
        "abc",
        None,
        7,
    ],
)
def test_one_label_per_sample(y):
    assert label_sets(y) is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[0, 2], [1, 0]]), "indicator matrix of 0 and 1, samples x labels, and holds 2"),
        (np.array([[0.5, 1.0]]), "holds 0.5"),
        (np.array([[np.nan, 1.0]]), "holds nan"),
        (np.array([["a", "b"]]), "holds a;"),
        (np.array([[1j, 0]]), "holds"),
        (sp.csr_matrix([[0, -1]]), "holds -1"),
        (sp.coo_matrix(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)), "holds 2"),
        ([["a"], "b"], r"y\[1\] is 'b', but other samples have lists of labels: write \[label\]"),
        ([["a"], None], r"y\[1\] is 'None'"),
        ([["a"], [["b"]]], "lists within lists"),
        ([["a"], [("b", "c")]], "lists within lists"),
        ([["a"], ["b", None]], "missing label"),
        ([["a"], [""]], "missing label"),
        ([[1.0], [float("nan")]], "missing label"),
        ([["a", 1]], r"labels of several types \(int, str\)"),
    ],
)
def test_odd_ones_are_refused_in_one_line(y, message):
    with pytest.raises(ValueError, match=message) as error:
        label_sets(y)
    assert "\n" not in str(error.value)


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(-3, 6)), min_size=1))
def test_lists_are_as_of_scikit_learn(y):
    binarizer = MultiLabelBinarizer()
    expected = binarizer.fit_transform(y)
    found = label_sets(y)
    assert found.classes.tolist() == binarizer.classes_.tolist()
    assert found.member.toarray().tolist() == expected.tolist()
    assert found.member.has_canonical_format


def test_among_the_labels_of_a_model():
    classes = np.array(["a", "b"])
    found = sets_among(classes, [["x", "b"], [], ["a", "y", "x"]])
    assert found.toarray().tolist() == [[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1]]
    assert sets_among(classes, ["b", "z"]).toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert sets_among(np.array([3, 5]), [["5"], ["3", "word"]]).toarray().tolist() == [
        [0, 1, 0],
        [1, 0, 1],
    ]
    assert sets_among(classes, np.array([[1, 0], [1, 1]])).toarray().tolist() == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="y has 3 columns, but the model has 2 labels"):
        sets_among(classes, Y)
