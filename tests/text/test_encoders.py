"""TextClassifier with an encoder: embeddings, alone and beside tf-idf."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from multimargin import (
    ModelFileError,
    TextClassifier,
    distributed,
    load_model,
    prune,
    save_model,
    tune,
)
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.tables import Table
from multimargin.text import TextFeatures, _encoder
from tests.text.encoders import LABELS, SIZE, Encoder, encode, labelled

TEXTS, Y = labelled(60)


def fitted(encoder=encode, **options):
    return TextClassifier(encoder=encoder, random_state=0, **options).fit(TEXTS, Y)


@pytest.mark.parametrize("source", [encode, Encoder()])
@pytest.mark.parametrize("kind", ["embedding", "both"])
def test_an_encoder_knows_words_that_training_lacked(source, kind):
    model = fitted(source, features=kind)
    unseen = ["hen", "lane", "petal"]
    assert model.predict([f"{word} sees nothing known" for word in unseen]).tolist() == [
        "pet",
        "traffic",
        "flower",
    ]


def test_embeddings_alone_are_dense_and_of_unit_length():
    features = TextFeatures(encoder=encode, features="embedding")
    X = features.fit_transform(TEXTS)
    assert isinstance(X, np.ndarray)
    assert X.dtype == np.float32
    assert X.shape == (len(TEXTS), SIZE)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert np.array_equal(X, features.transform(TEXTS))
    unit = encode(TEXTS) / np.linalg.norm(encode(TEXTS), axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected, atol=1e-5)


def test_both_kinds_stand_side_by_side():
    features = TextFeatures(encoder=encode)
    X = features.fit_transform(TEXTS, Y)
    tfidf = TextFeatures().fit_transform(TEXTS)
    alone = TextFeatures(encoder=encode, features="embedding").fit_transform(TEXTS)
    (text,), (embedding,) = features._texts, features._embeddings
    n = tfidf.shape[1]
    assert sp.issparse(X)
    np.testing.assert_allclose(X[:, :n].toarray(), text.length * tfidf.toarray(), rtol=1e-6)
    np.testing.assert_allclose(X[:, n:].toarray(), embedding.length * alone, atol=1e-6)
    assert features.get_feature_names_out()[n:].tolist() == [f"embedding {i}" for i in range(SIZE)]
    assert (features.transform(TEXTS) != X).nnz == 0


def test_the_better_kind_is_longer():
    def noise(texts):
        return [np.random.default_rng(len(text)).normal(size=SIZE) for text in texts]

    def lengths(encoder, y):
        features = TextFeatures(encoder=encoder)
        features.fit_transform(TEXTS, y)
        return features._texts[0].length, features._embeddings[0].length

    assert lengths(encode, Y)[0] < lengths(encode, Y)[1] == 1
    assert lengths(noise, Y)[1] < 0.2 < lengths(noise, Y)[0] == 1
    assert lengths(noise, None) == lengths(encode, None) == (1, 0.7)


def test_columns_have_embeddings_of_their_own():
    table = {"title": TEXTS, "body": TEXTS[::-1], "price": list(range(60)), "kind": list("ab") * 30}
    model = TextClassifier(
        encoder=encode, text=["title", "body"], numeric="price", categorical="kind", random_state=0
    ).fit(table, Y)
    names = model.features_.get_feature_names_out().tolist()
    assert names[-2 * SIZE - 4 : -2 * SIZE] == ["body:word4", "price", "kind=a", "kind=b"]
    assert names[-SIZE] == "body:embedding 0"
    assert model.score(table, Y) == 1
    X = model.features_.transform(table)
    assert X.shape == (60, len(names))
    assert model.score(X, Y) == 1


def test_equal_texts_are_embedded_once():
    encoder = Encoder()
    fitted(encoder, features="embedding")
    encoder.calls.clear()
    texts = ["a dog", "a cat"] * 700
    model = TextClassifier(encoder=encoder, features="embedding")
    model.fit(texts, ["x", "y"] * 700)
    assert encoder.calls == [2]
    assert model.predict(["a cat", "a dog", "a cat"]).tolist() == ["y", "x", "y"]


def test_texts_come_in_batches():
    encoder = Encoder()
    texts, y = labelled(1100)
    TextClassifier(encoder=encoder, features="embedding", random_state=0).fit(texts, y)
    assert encoder.calls == [512, 512, 76]


def test_both_kinds_are_tuned():
    found = tune(TEXTS, Y, estimator=TextClassifier(encoder=encode), formulations="cs", folds=3)
    assert found.best().mean("error") == 0


def test_explanations_have_one_part_for_the_embedding():
    model = fitted(tol=1e-6)
    text = f"dog {TEXTS[0].split()[2]} unknown"
    why = model.explain(text, k=10)
    assert why.label == "pet"
    features = {c.feature: c for c in why.contributions}
    assert set(features) == {"embedding", "dog", text.split()[1]}
    assert features["embedding"].contribution > 0
    total = sum(c.contribution for c in why.contributions) + why.intercept + why.rest
    assert total == pytest.approx(why.difference)
    scores = dict(zip(model.classes_, model.decision_function([text])[0], strict=True))
    assert why.score == pytest.approx(scores["pet"], rel=1e-5)


# ---------------------------------------------------------------- model files


@pytest.mark.parametrize("kind", ["embedding", "both"])
def test_a_model_file_needs_the_encoder_again(tmp_path, kind):
    model = fitted(features=kind)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m", verify=True, encoder=encode)
    assert np.array_equal(loaded.decision_function(TEXTS), model.decision_function(TEXTS))
    bare = load_model(tmp_path / "m")
    with pytest.raises(ValueError, match=r"no name, tests\.text\.encoders\.encode: pass it again"):
        bare.predict(["a dog"])
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert prune(loaded, keep=0.5).predict(TEXTS[:3]).tolist() == Y[:3]


def test_only_models_with_an_encoder_take_one(tmp_path):
    save_model(TextClassifier().fit(TEXTS, Y), tmp_path / "words")
    with pytest.raises(ValueError, match="trained without an encoder"):
        load_model(tmp_path / "words", encoder=encode)


@pytest.mark.parametrize(
    "damage",
    [
        {"length": -1.0},
        {"length": "1"},
        {"dimension": 7},
        {"dimension": True},
        {"name": 3},
        {"described": None},
        {"column": "title"},
        "no object",
    ],
)
def test_damaged_metadata(tmp_path, damage):
    save_model(fitted(), tmp_path / "m")
    meta, arrays = read_arrays(tmp_path / "m")
    (about,) = meta["features"]["embedding"]
    changed = damage if isinstance(damage, str) else about | damage
    meta["features"]["embedding"] = [changed]
    write_arrays(tmp_path / "m", meta, arrays)
    if damage == {"column": "title"}:  # a name like any other
        assert load_model(tmp_path / "m", encoder=encode).n_features_in_
        return
    with pytest.raises(ModelFileError, match="damaged: features: "):
        load_model(tmp_path / "m")


# ---------------------------------------------------------------- bad input


def with_nan(texts):
    vectors = encode(texts)
    vectors[[text.startswith("bad") for text in texts]] = np.nan
    return vectors


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: encode(texts)[:-1], "returned 59 rows for 60 texts"),
        (lambda texts: encode(texts)[:, 0], "an array of shape (60,): it must have a row"),
        (lambda texts: [["a"]] * len(texts), "returned no array of numbers"),
        (lambda texts: None, "returned an array of shape ()"),
        (lambda texts: np.full((len(texts), 2), 1e300), "NaN or infinity for this text"),
    ],
)
def test_an_encoder_that_returns_something_else(function, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        fitted(function)
    assert "\n" not in str(raised.value)


def test_nan_is_told_with_its_place():
    model = fitted(with_nan)
    with pytest.raises(ValueError, match=r"X\[1\]: the encoder .*with_nan returned NaN"):
        model.predict(["a dog", "bad dog"])
    table = Table({"t": ["a dog", "bad dog"]}, path="x.csv", lines=np.array([2, 3]))
    model = TextClassifier(encoder=with_nan, text="t").fit({"t": TEXTS}, Y)
    with pytest.raises(ValueError, match=r"x\.csv:3: column 't': the encoder .* returned NaN"):
        model.predict(table)


def test_another_dimension(tmp_path):
    save_model(fitted(), tmp_path / "m")
    with pytest.raises(ValueError, match=f"vectors of 3 numbers, .* have {SIZE}"):
        load_model(tmp_path / "m", encoder=lambda texts: encode(texts)[:, :3]).predict(["a dog"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": 3}, "encoder must be the name of"),
        ({"features": "both"}, "features='both' needs an encoder"),
        ({"encoder": encode, "features": "words"}, "features must be None or 'tfidf' or"),
        ({"encoder": encode, "numeric": "price"}, "encoder must be None where there is no column"),
        ({"encoder": "./nowhere"}, "encoder './nowhere': there is no such folder"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TextClassifier(**options).fit({"price": [1, 2]}, LABELS[:2])


def test_a_missing_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"'multimargin\[embeddings\]'"):
        fitted("all-MiniLM-L6-v2")


# ---------------------------------------------------------------- beside the rest of the package


def test_copies_and_ranks():
    model = fitted(features="embedding")
    again = clone(model).fit(TEXTS, Y)
    assert np.array_equal(again.coef_, model.coef_)
    unpickled = pickle.loads(pickle.dumps(model))
    assert np.array_equal(unpickled.decision_function(TEXTS), model.decision_function(TEXTS))
    divided = distributed.fit(clone(model), TEXTS, Y)
    assert divided.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert divided.predict(model.features_.transform(TEXTS)).tolist() == Y


def test_a_progress_bar_shows_long_work(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(_encoder, "progress_bar", lambda **options: shown.append(options) or Bar())
    fitted(verbose=1).predict(["a dog"])
    fitted().predict(["a dog"])
    assert [(bar["total"], bar["disable"]) for bar in shown] == [
        (60, False),
        (1, False),
        (60, True),
        (1, True),
    ]


class Bar:
    """A bar that shows nothing."""

    def update(self, count):
        assert count > 0

    def close(self):
        pass
