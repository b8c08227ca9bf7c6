"""TextClassifier and TextFeatures: raw texts and columns in, classes out."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

from multimargin import DataFileError, MulticlassSVC, TextClassifier, distributed, read_table
from multimargin.tables import Table
from multimargin.tables._write import table_lines
from multimargin.text import TextFeatures

TEXTS = [
    "a small dog that barks",
    "a big dog",
    "the dog of the neighbour barks and barks",
    "a red rose in the garden",
    "a white rose",
    "roses are red and the garden is green",
    "a fast car on the road",
    "the road to the garden",
    "a red car",
]
LABELS = ["pet"] * 3 + ["flower"] * 3 + ["traffic"] * 3


def columns():
    return {
        "title": list(TEXTS),
        "body": [text[::-1] for text in TEXTS],
        "price": [1.0, 2.0, None, "4", "", 6, 7, float("nan"), 9],
        "kind": ["a", "b", None, "a", "", "c", "a", "b", "b"],
    }


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0 and a.dtype == b.dtype


# ---------------------------------------------------------------- features


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"ngram_range": (1, 2), "min_df": 2, "use_idf": False},
        {"stop_words": "english", "sublinear_tf": False, "max_df": 0.5},
        {"stop_words": ["the", "dog"], "max_features": 4, "strip_accents": "ascii"},
        {"lowercase": False, "analyzer": "char"},
    ],
)
def test_features_are_those_of_scikit_learn(options):
    own = TextFeatures(**options)
    X = own.fit_transform(TEXTS)
    reference = TfidfVectorizer(**{"sublinear_tf": True, **options}, dtype=np.float32)
    expected = reference.fit_transform(TEXTS)
    assert X.dtype == np.float32
    assert own.get_feature_names_out().tolist() == reference.get_feature_names_out().tolist()
    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-6, atol=1e-7)
    assert same(X, own.transform(TEXTS))
    assert same(X[3:5], own.transform(TEXTS[3:5]))
    assert X.has_sorted_indices


def test_columns_stand_side_by_side():
    own = TextFeatures(text=["title", "body"], numeric=["price"], categorical="kind")
    X = own.fit_transform(columns()).toarray()
    names = own.get_feature_names_out().tolist()
    assert names[0] == "title:and"
    assert "body:god" in names
    assert names[-4:] == ["price", "kind=a", "kind=b", "kind=c"]
    known = np.array([1.0, 2, 4, 6, 7, 9])
    np.testing.assert_allclose(X[3, -4], (4 - known.mean()) / known.std(), rtol=1e-6)
    assert X[[2, 4, 7], -4].tolist() == [0, 0, 0]
    assert X[:5, -3:].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_one_column_of_texts_has_plain_names():
    own = TextFeatures(text="title", numeric="price").fit(columns())
    assert own.get_feature_names_out().tolist()[-2:] == ["white", "price"]


def test_unknown_values_have_no_feature():
    own = TextFeatures(text="title", numeric="price", categorical="kind").fit(columns())
    X = own.transform({"title": ["xyzzy"], "price": [None], "kind": ["z"]})
    assert X.nnz == 0


def test_categories_are_the_same_as_numbers_and_as_text():
    own = TextFeatures(categorical=["c"]).fit({"c": [1, 2, 3]})
    assert own.transform({"c": ["2", 2.0, np.int64(2)]}).toarray().tolist() == [[0, 1, 0]] * 3


def test_constant_and_missing_numbers():
    own = TextFeatures(numeric=["a", "b"])
    X = own.fit_transform({"a": [0.1] * 7, "b": [None] * 7})
    assert X.nnz == 0
    assert own.transform({"a": [1.1], "b": [5]}).toarray()[0] == pytest.approx([1.0, 5.0])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=8), st.sampled_from(["word", "char_wb"]))
def test_features_of_any_text(texts, analyzer):
    own = TextFeatures(analyzer=analyzer, ngram_range=(1, 2))
    X = own.fit_transform([*texts, "two words"])
    assert same(X, own.transform([*texts, "two words"]))
    assert np.isfinite(X.data).all()


# ---------------------------------------------------------------- the classifier


def test_it_is_a_multiclass_svc_on_these_features():
    model = TextClassifier("cs", 2.0, ngram_range=(1, 2), random_state=0).fit(TEXTS, LABELS)
    X = model.features_.transform(TEXTS)
    other = MulticlassSVC("cs", 2.0, random_state=0).fit(X, LABELS)
    assert model.n_features_in_ == model.coef_.shape[1] == X.shape[1]
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.decision_function(TEXTS), other.decision_function(X))
    np.testing.assert_array_equal(model.predict_topk(TEXTS, 2)[0], other.predict_topk(X, 2)[0])
    # Features that were made before are taken as they are.
    np.testing.assert_array_equal(model.predict(X), model.predict(TEXTS))
    assert model.score(TEXTS, LABELS) == 1.0


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda t: np.array(t, dtype=object)])
def test_sequences(kind):
    model = TextClassifier(random_state=0).fit(kind(TEXTS), LABELS)
    assert model.predict(kind(["the dog", "car"])).tolist() == ["pet", "traffic"]


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns())
    model = TextClassifier(text="title", numeric=("price",), categorical=["kind"], random_state=0)
    model.fit(frame, pandas.Series(LABELS))
    again = clone(model).fit(columns(), LABELS)
    np.testing.assert_array_equal(model.decision_function(frame), again.decision_function(frame))
    shuffled = frame[["kind", "price", "title"]].assign(other=1)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))
    series = TextClassifier(random_state=0).fit(frame["title"], LABELS)
    texts = pandas.Series(["dog", pandas.NA, None], dtype="string")
    assert series.predict(texts)[0] == "pet"


def test_tables():
    table = Table({**columns(), "label": LABELS})
    model = TextClassifier(text="title", random_state=0).fit(table, table["label"])
    assert model.predict(table[2:4]).tolist() == ["pet", "flower"]
    # One column of texts: a sequence of them will do.
    assert model.predict(["the dog"]).tolist() == ["pet"]


def test_empty_and_unknown_texts_score_the_intercepts():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    for text in ("", "xyzzy", None, float("nan")):
        np.testing.assert_array_equal(model.decision_function([text])[0], model.intercept_)


def test_search_over_parameters():
    grid = {"C": [0.1, 1.0], "ngram_range": [(1, 1), (1, 2)]}
    model = TextClassifier(random_state=0)
    assert GridSearchCV(model, grid, cv=3).fit(TEXTS, LABELS).best_params_ in (
        {"C": c, "ngram_range": n} for c in grid["C"] for n in grid["ngram_range"]
    )
    table = Table(columns())
    search = GridSearchCV(TextClassifier(text="title", random_state=0), {"C": [0.1, 1]}, cv=3)
    assert search.fit(table, LABELS).best_score_ > 0.3


def test_parameters_and_pickles():
    model = TextClassifier("ovr", min_df=2, text=["title", "body"], numeric=["price"])
    other = TextClassifier().set_params(**model.get_params())
    assert other.get_params() == model.get_params() == clone(model).get_params()
    model.fit(columns(), LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(columns()), model.decision_function(columns())
    )
    tags = get_tags(model)
    assert tags.input_tags.string and not tags.input_tags.two_d_array


def test_a_fit_that_fails_leaves_the_model():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    before = model.decision_function(TEXTS)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(["other words", "here"], ["a", "a"])
    np.testing.assert_array_equal(model.decision_function(TEXTS), before)


def test_weights_and_warm_starts():
    model = TextClassifier(random_state=0, warm_start=True).fit(TEXTS, LABELS, [1] * 8 + [0])
    assert model.classes_.tolist() == sorted(set(LABELS))
    passes = model.fit(TEXTS, LABELS, [1] * 8 + [0]).n_iter_
    assert passes <= 2


def test_warm_starts_know_texts_with_and_without_their_column():
    model = TextClassifier(text="title", random_state=0, warm_start=True).fit(TEXTS, LABELS)
    assert model.fit({"title": TEXTS}, LABELS).n_known_samples_ == len(TEXTS)


def test_distributed_fit_of_one_process():
    model = TextClassifier(text="title", random_state=0)
    trained = distributed.fit(model, columns(), LABELS)
    assert not hasattr(model, "features_")
    assert trained.predict(columns()).tolist() == LABELS
    assert trained.gather().predict(["dog"]).tolist() == ["pet"]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"analyzer": "words"}, "analyzer must be 'word' or 'char' or 'char_wb', got 'words'"),
        ({"analyzer": str.split}, "analyzer must be"),
        ({"ngram_range": (2, 1)}, "ngram_range must be two integers"),
        ({"ngram_range": (1, 1000)}, "ngram_range must be"),
        ({"ngram_range": 2}, "ngram_range must be"),
        ({"min_df": 0}, "min_df must be an integer of at least 1"),
        ({"max_df": 1.5}, "max_df must be"),
        ({"max_features": 0}, "max_features must be"),
        ({"stop_words": "german"}, "stop_words must be None, 'english' or a list"),
        ({"stop_words": {"a": 1}}, "stop_words must be"),
        ({"strip_accents": "all"}, "strip_accents must be"),
        ({"lowercase": 1}, "lowercase must be True or False"),
        ({"text": "a", "numeric": ["a"]}, "column 'a' is named twice"),
        ({"text": 3}, "text must be the name of a column"),
        ({"C": -1}, "C must be None or a positive"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier(**parameters).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, "one text", r"write \[text\]"),
        ({}, columns(), "X has columns: say which"),
        ({}, sp.eye(9, format="csr"), "sparse matrix of features"),
        ({}, [*TEXTS[:8], 5], r"X\[8\]: a text must be a str, got int '5'"),
        ({}, [*TEXTS[:8], b"bytes"], "got bytes"),
        ({}, np.array(TEXTS).reshape(3, 3), "one dimension, got 2"),
        ({}, [""] * 9, "the texts give no features"),
        ({"min_df": 20}, TEXTS, "the texts give no features"),
        ({}, [], "0 sample"),
        ({"text": "titel"}, columns(), "no column 'titel'; did you mean 'title'"),
        ({"text": "title", "numeric": "kind"}, columns(), "column 'kind', row 0: 'a' is not a num"),
        ({"text": "title", "numeric": "price"}, TEXTS, "a data frame or a mapping with the col"),
        ({"numeric": "n"}, {"n": [1e200] * 9}, "too large"),
        ({"text": "title", "numeric": "n"}, {"title": TEXTS, "n": [1]}, "has 9 rows, .* has 1"),
    ],
)
def test_wrong_input(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier(**parameters).fit(X, LABELS)


def test_wrong_input_of_a_fitted_model():
    model = TextClassifier(text="title", numeric="price", random_state=0).fit(columns(), LABELS)
    with pytest.raises(ValueError, match="too far from the numbers of the training data"):
        model.predict({"title": ["a"], "price": [1e100]})
    with pytest.raises(ValueError, match="no column 'price'"):
        model.predict({"title": ["a"]})
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(sp.csr_matrix((1, 3)))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict({"title": [], "price": []})
    with pytest.raises(NotFittedError):
        TextClassifier().predict(["a"])


def test_values_of_a_table_are_found_in_its_file():
    table = Table(
        {"t": ["a b", "b c"], "n": ["1", "x"]}, path="f.csv", lines=np.array([2, 7], dtype=np.int64)
    )
    with pytest.raises(DataFileError, match=r"f.csv:7: column 'n': 'x' is not a number"):
        TextFeatures(numeric="n").fit(table)


@pytest.mark.parametrize("missing", [None, float("nan"), "NA"])
def test_missing_labels(missing):
    if missing == "NA":
        missing = pytest.importorskip("pandas").NA
    labels = [*LABELS[:4], missing, *LABELS[5:]]
    with pytest.raises(ValueError, match=r"missing labels .*: 1 of [0-9]+, in row 4; leave"):
        TextClassifier().fit(TEXTS, labels)
    with pytest.raises(ValueError, match="missing labels"):
        TextClassifier().fit(TEXTS, np.array(labels, dtype=object))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_an_empty_field_of_a_table_is_a_missing_label(tmp_path, ending):
    rows = [("a red rose", "flower"), ("a dog", ""), ("", "pet"), ("a cat", "pet")]
    path = tmp_path / f"table.{ending}"
    path.write_text("".join(table_lines(ending, ["text", "label"], rows)))
    table = read_table(path)
    if ending != "jsonl":
        assert table["label"].tolist() == ["flower", None, "pet", "pet"]
    with pytest.raises(ValueError, match=r"missing labels .*: 1 of 4, in row 1; leave these rows"):
        TextClassifier(text="text").fit(table, table["label"])
    kept = table[np.array([bool(label) for label in table["label"]])]
    assert TextClassifier(text="text").fit(kept, kept["label"]).classes_.tolist() == [
        "flower", "pet"
    ]  # fmt: skip


def test_labels_of_two_types():
    with pytest.raises(ValueError, match=r"several types \(int, str\)"):
        TextClassifier().fit(TEXTS, [3, *LABELS[1:]])


def test_a_warm_start_from_an_iterator():
    model = TextClassifier(warm_start=True, random_state=0)
    for passes in (True, False):
        model.fit(iter(TEXTS), LABELS)
        assert (model.n_iter_ > 0) == passes
