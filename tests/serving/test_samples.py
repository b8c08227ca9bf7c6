"""Rows of columns and of numbers over HTTP, what is not known of a sample, and examples."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("starlette")
from sklearn.preprocessing import normalize

from multimargin import MulticlassSVC, TextClassifier
from multimargin.serving import Limits, create_app
from tests.support.json_schema import errors
from tests.support.served import LABELS, TEXTS, number_model, number_rows, small_model, table_model
from tests.support.served_client import DOCUMENT, ask, checked, client_of
from tests.text.encoders import encode, labelled


def best(result):
    return [entry["label"] for entry in result["classes"]]


# ---------------------------------------------------------------- rows of columns


def test_rows_of_columns():
    model = table_model()
    client = client_of(model)
    table = {"text": TEXTS[:3], "length": [20, 5.5, None], "kind": ["pet", "tool", None]}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    labels, scores = model.predict_topk(table, 3)
    results = ask(client, rows=rows, k=3, explain=True)["results"]
    assert [best(result) for result in results] == labels.tolist()
    np.testing.assert_allclose(
        [[entry["score"] for entry in result["classes"]] for result in results], scores, atol=1e-5
    )
    features = {f["feature"] for f in results[0]["explanation"]["features"]}
    assert {"dog", "length", "kind=pet"} <= features
    # Numbers may be strings, as fields of a form are; what is absent or null is missing.
    written = {"text": TEXTS[1], "length": " 5.5", "kind": "tool"}
    assert ask(client, row=written, k=3, explain=True)["results"] == [results[1]]
    assert ask(client, row={"text": TEXTS[2]}, k=3, explain=True)["results"] == [results[2]]


def test_what_rows_take_is_described():
    about = checked(client_of(table_model()).get("/model"), "Model")
    assert about["takes"] == "row"
    text, length, kind = about["columns"]
    assert (text["name"], text["kind"]) == ("text", "text")
    assert length["mean"] == pytest.approx(np.mean([len(text) for text in TEXTS]))
    assert kind["values"] == ["food", "pet", "thing", "water"]
    for question in ({"row": {"text": "a dog"}}, {"rows": [{"length": 3}, {}]}):
        assert errors(question, {"$ref": "#/components/schemas/Question"}, DOCUMENT) == []


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"text": "a dog"}, 'either "row", a row, or "rows"'),
        ({"row": "a dog"}, "row must be an object of columns and values: 'a dog'"),
        ({"row": [1, 2]}, "row must be an object"),
        ({"row": {"size": 3}}, "no column 'size'; there are 'text', 'length', 'kind'"),
        ({"row": {"text": 3}}, "column 'text' must be a string: 3"),
        ({"row": {"length": True}}, "column 'length' must be a string, a number or null: true"),
        ({"row": {"kind": ["pet"]}}, "column 'kind' must be a string, a number or null: an array"),
        ({"row": {"length": "tall"}}, "row: column 'length': 'tall' is not a number"),
        ({"rows": [{}, {"length": "tall"}]}, "rows[1]: column 'length': 'tall' is not a number"),
        ({"rows": [{"length": 1e100}]}, "rows[0]: column 'length': 1e+100 is too far"),
        ({"rows": {}}, "rows must be an array of rows: an object"),
    ],
)
def test_bad_rows_of_columns(question, says):
    assert says in ask(client_of(table_model()), status=422, **question)["error"]["message"]


def test_one_named_column_of_texts_is_a_text():
    model = TextClassifier(text="text").fit({"text": TEXTS}, LABELS)
    assert best(ask(client_of(model), text="a dog")["results"][0])[0] == "dog"


# ---------------------------------------------------------------- rows of numbers


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_numbers(sparse):
    X, y = number_rows()
    model = MulticlassSVC(sparse_coef=sparse, random_state=0).fit(X, y)
    client = client_of(model)
    about = checked(client.get("/model"), "Model")
    assert (about["takes"], about["columns"], about["features"]) == ("row", [], 12)
    assert "analyzer" not in about
    labels, scores = model.predict_topk(X[:5], 3)
    results = ask(client, rows=X[:5].tolist(), k=3, explain=True)["results"]
    assert [best(result) for result in results] == labels.tolist()
    found = [[entry["score"] for entry in result["classes"]] for result in results]
    np.testing.assert_allclose(found, scores, atol=1e-5)
    why = results[0]["explanation"]
    parts = sum(f["contribution"] for f in why["features"]) + why["intercept"]
    assert parts == pytest.approx(why["difference"], abs=1e-4)
    assert why["features"][0]["feature"].startswith("feature ")
    # Features that are not named are 0.
    sparse_row = np.zeros((1, 12))
    sparse_row[0, [2, 7]] = 3, -1
    (result,) = ask(client, row={"7": -1, "2": 3}, k=3)["results"]
    assert best(result) == model.predict_topk(sparse_row, 3)[0][0].tolist()
    assert result["known_features"] == 2


def test_numbers_as_they_were_trained():
    """LIBSVM text counts from 1, and rows may have had unit length."""
    X, y = number_rows()
    model = MulticlassSVC(random_state=0).fit(normalize(X), y)
    model.preprocessing_ = {"normalize": "l2", "zero_based": False, "dtype": "float32"}
    client = client_of(model)
    (result,) = ask(client, row=X[7].tolist(), k=3)["results"]
    _, scores = model.predict_topk(normalize(X[7:8]), 3)
    np.testing.assert_allclose([e["score"] for e in result["classes"]], scores[0], atol=1e-5)
    pairs = {str(j + 1): value for j, value in enumerate(X[7].tolist())}
    assert ask(client, row=pairs, k=3)["results"] == [result]
    message = ask(client, status=422, row={"0": 1})["error"]["message"]
    assert "no feature '0'; they are 1 to 12" in message
    model.preprocessing_ = {"whiten": True}
    with pytest.raises(ValueError, match="whiten=True, which the server cannot repeat"):
        create_app(model)


def test_named_numbers():
    model = number_model()
    client = client_of(model)
    about = checked(client.get("/model"), "Model")
    assert [column["name"] for column in about["columns"]] == ["width", "height", "weight"]
    assert all(column["required"] and column["kind"] == "number" for column in about["columns"])
    (result,) = ask(client, row={"height": 0, "width": 5, "weight": 0}, explain=True)["results"]
    assert best(result)[0] == "wide"
    assert result["explanation"]["features"][0]["feature"] == "width"
    assert ask(client, row=[5, 0, 0], explain=True)["results"] == [result]
    message = ask(client, status=422, row={"width": 5})["error"]["message"]
    assert message == "row has no number for 'height' and 1 more"
    bad = {"width": 1, "height": 1, "weight": 1, "age": 1}
    assert "no feature 'age'" in ask(client, status=422, row=bad)["error"]["message"]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"texts": ["a"]}, 'either "row"'),
        ({"row": "1, 2"}, "row must be an array of numbers, or an object"),
        ({"row": [1, 2]}, "row has 2 numbers; the model takes 12"),
        ({"row": [0] * 11 + ["x"]}, "row[11] must be a number: 'x'"),
        ({"row": [0] * 4 + [None] * 8}, "row[4] must be a number: null"),
        ({"row": [True] * 12}, "row[0] must be a number: true"),
        ({"rows": [[0] * 12, [0, [1]] + [0] * 10]}, "rows[1][1] must be a number: an array"),
        ({"row": {"3": "x"}}, "row: '3' must be a number: 'x'"),
        ({"row": {"12": 1}}, "no feature '12'; they are 0 to 11"),
        ({"row": {"03": 1}}, "no feature '03'"),
        ({"row": {"-1": 1}}, "no feature '-1'"),
        ({"row": [10**400] * 12}, "row[0] must be a number"),
        ({"row": ["inf"] * 12}, "row[0] must be a finite number"),
        ({"row": {"5": 1e308}}, "row 0, column 5: scores of this sample overflow"),
    ],
)
def test_bad_rows_of_numbers(question, says):
    X, y = number_rows()
    client = client_of(MulticlassSVC(random_state=0).fit(10 * X.astype(np.float32), y))
    message = ask(client, status=422, **question)["error"]["message"]
    assert says in message
    assert len(message) < 300


def test_number_of_rows():
    client = client_of(table_model(), limits=Limits(max_texts=2, max_chars=9, rate=0))
    error = ask(client, status=413, rows=[{}] * 3)["error"]
    assert (error["code"], error["field"]) == ("too_many_rows", "rows")
    error = ask(client, status=413, rows=[{"text": "é" * 10}])["error"]
    assert "rows[0]: column 'text' has 10 characters (Unicode code points)" in error["message"]


# ---------------------------------------------------------------- what is not known


def test_a_note_where_nothing_tells_the_classes_apart():
    model = small_model(sparse_coef=True)
    known, unknown = ask(client_of(model), texts=["a dog", "xyzzy"])["results"]
    assert "note" not in known
    assert unknown["note"].startswith("The model knows nothing of this text")
    # A word that was seen, but has no weight for any class, tells nothing either.
    dog = model.features_.get_feature_names_out().tolist().index("dog")
    model.coef_.data[model.coef_.indices == dog] = 0
    (result,) = ask(client_of(model), text="a dog")["results"]
    assert result["known_features"] == 0
    assert "note" in result
    (row,) = ask(client_of(table_model()), row={"kind": "robot"}, explain=True)["results"]
    assert "knows nothing of this row" in row["note"]
    assert row["explanation"]["unknown"] == ["kind=robot"]
    X, y = number_rows()
    zeros = client_of(MulticlassSVC().fit(X, y))
    assert "No number" in ask(zeros, row=[0] * 12)["results"][0]["note"]


@pytest.mark.parametrize(
    ("parameters", "text", "unknown"),
    [
        ({}, "The Zebra and a dog, zebra! a b", ["zebra", "and"]),
        ({"ngram_range": (1, 2)}, "dog cat zebra", ["zebra"]),
        ({"ngram_range": (2, 2)}, "dog cat zebra", []),
        ({"analyzer": "char_wb", "ngram_range": (2, 3)}, "dog zebra", []),
        ({"stop_words": ["and"]}, "dog and zebra", ["zebra"]),
        ({}, " ".join(f"word{n}" for n in range(30)), [f"word{n}" for n in range(20)]),
    ],
)
def test_unknown_words(parameters, text, unknown):
    (result,) = ask(client_of(small_model(**parameters)), text=text, explain=True)["results"]
    assert result["explanation"]["unknown"] == unknown


# ---------------------------------------------------------------- examples


def _models():
    X, y = number_rows()
    wide = np.zeros((len(X), 3000))
    wide[:, 100:112] = X
    return {
        "words": small_model(),
        "two classes": small_model(labels=["pet"] * 4 + ["thing"] * 8),
        "characters": small_model(analyzer="char_wb", ngram_range=(2, 4)),
        "phrases": small_model(ngram_range=(2, 2)),
        "columns": table_model(),
        "numbers": MulticlassSVC(random_state=0).fit(X, y),
        "names": number_model(),
        "many numbers": MulticlassSVC(random_state=0).fit(wide, y),
    }


@pytest.mark.parametrize("name", list(_models()))
def test_examples_are_made_of_the_weights(name):
    client = client_of(_models()[name])
    examples = checked(client.get("/model"), "Model")["examples"]
    assert len({example["label"] for example in examples}) == len(examples) >= 2
    for example in examples:
        label = example.pop("label")
        (result,) = ask(client, **example, explain=True)["results"]
        assert best(result)[0] == label
        assert result["known_features"] > 0
        assert result["explanation"]["unknown"] == []


def test_examples_name_few_of_many_features():
    (first, *_) = checked(client_of(_models()["many numbers"]).get("/model"), "Model")["examples"]
    assert 2 <= len(first["row"]) <= 10


def test_a_model_without_weights_has_no_examples():
    model = small_model()
    model.coef_ = np.zeros_like(model.coef_)
    assert checked(client_of(model).get("/model"), "Model")["examples"] == []


def test_given_examples():
    client = client_of(number_model(), examples=["[1, 2, 3]"])
    assert checked(client.get("/model"), "Model")["examples"] == [{"row": [1, 2, 3]}]
    for bad, says in (("[1, 2]", "row has 2 numbers"), ("1 2 3", "it is not JSON")):
        with pytest.raises(ValueError, match=f"no row for this model: {says}"):
            create_app(number_model(), examples=[bad])


@pytest.mark.parametrize("kind", ["embedding", "both"])
@pytest.mark.parametrize("columns", [False, True])
def test_models_with_an_encoder(kind, columns):
    texts, labels = labelled(30)
    options = {"encoder": encode, "features": kind, "random_state": 0}
    if columns:
        data = {"t": texts, "n": [1.0, 2.0, 3.0] * 10}
        model = TextClassifier(text="t", numeric="n", **options).fit(data, labels)
    else:
        model = TextClassifier(**options).fit(texts, labels)
    client = client_of(model)
    sample = {"row": {"t": "hen word1", "n": 2}} if columns else {"text": "hen word1"}
    (result,) = ask(client, **sample, explain=True)["results"]
    why = result["explanation"]
    assert best(result)[0] == "pet"
    assert "embedding" in [f["feature"] for f in why["features"]]
    parts = sum(f["contribution"] for f in why["features"]) + why["intercept"]
    lead = parts + why["other_features"]["contribution"]
    assert lead == pytest.approx(why["difference"], abs=1e-4)
