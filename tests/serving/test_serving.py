"""The JSON endpoint and the page: answers, and the models that can be served."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
from sklearn.feature_extraction.text import CountVectorizer

from multimargin import Calibration, TextClassifier
from multimargin.serving import Limits, create_app
from multimargin.serving.samples._spans import Spans
from tests.support.json_schema import errors
from tests.support.served import LABELS, TEXTS, small_model
from tests.support.served_client import DOCUMENT, ask, checked, client_of

TEXT = "a Small dog, and a cat that plays the violin"


# ---------------------------------------------------------------- answers


def test_best_classes(client, model):
    (result,) = ask(client, text=TEXT, k=3)["results"]
    labels, scores = model.predict_topk([TEXT], 3)
    assert [c["label"] for c in result["classes"]] == labels[0].tolist()
    np.testing.assert_allclose([c["score"] for c in result["classes"]], scores[0], atol=1e-6)
    assert result["known_features"] == 6  # small, dog, cat, that, the, violin
    assert "explanation" not in result


def test_probabilities_of_a_calibrated_model():
    model = small_model(sparse_coef=True)
    model.calibration_ = Calibration(0.2, curvature=0.3, floor=0.01)
    client = client_of(model)
    assert client.get("/model").json()["calibrated"]
    (result,) = ask(client, text=TEXT, k=3, explain=True)["results"]
    labels, scores, p = model.predict_topk([TEXT], 3, proba=True)
    assert [c["label"] for c in result["classes"]] == labels[0].tolist()
    np.testing.assert_allclose([c["score"] for c in result["classes"]], scores[0], atol=1e-6)
    np.testing.assert_allclose([c["probability"] for c in result["classes"]], p[0], atol=2e-6)
    several = ask(client, texts=[TEXT, "a cat"], k=1)["results"]
    assert several[0]["classes"] == result["classes"][:1]


def test_many_texts_as_each_by_itself(client):
    texts = [f"{a} {b}" for a in TEXTS for b in TEXTS[:8]]  # enough for another way to score them
    together = ask(client, texts=texts, explain=True)["results"]
    assert len(together) == len(texts)
    for text, result in list(zip(texts, together, strict=True))[::7]:
        assert ask(client, text=text, explain=True)["results"] == [result]


def test_no_text_and_no_known_word(client):
    assert ask(client, texts=[]) == {"results": []}
    empty, unknown = ask(client, texts=["", "xyzzy ☃"], explain=True)["results"]
    assert empty["explanation"].pop("unknown") == []
    assert unknown["explanation"].pop("unknown") == ["xyzzy"]
    assert empty == unknown
    assert empty["known_features"] == 0
    assert empty["explanation"]["features"] == []


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fit_intercept": False, "sparse_coef": True},
        {"formulation": "ovr"},
        {"formulation": "llw", "analyzer": "char_wb", "ngram_range": (2, 4)},
        {"labels": ["pet"] * 4 + ["thing"] * 8},
        {"labels": ["pet"] * 4 + ["thing"] * 8, "formulation": "ovr"},
        {"labels": [7] * 4 + [-3] * 4 + [12] * 4, "ngram_range": (1, 2)},
        {"labels": [True] * 4 + [False] * 8},
    ],
    ids=str,
)
def test_explanations_add_up(parameters):
    model = small_model(**parameters)
    with client_of(model) as client:
        for label in model.classes_.tolist():
            (result,) = ask(client, text=TEXT, explain=True, against=label)["results"]
            why = result["explanation"]
            best, runner_up = (entry["label"] for entry in result["classes"][:2])
            assert why["label"] == best == model.predict([TEXT]).tolist()[0]
            assert why["against"] == (runner_up if label == best else label)
            score = {entry["label"]: entry["score"] for entry in result["classes"]}
            if why["against"] in score:
                apart = score[best] - score[why["against"]]
                assert why["difference"] == pytest.approx(apart, abs=1e-5)
            parts = [feature["contribution"] for feature in why["features"]]
            total = sum(parts) + why["intercept"] + why["other_features"]["contribution"]
            assert total == pytest.approx(why["difference"], abs=1e-4)
            assert [abs(part) for part in parts] == sorted(map(abs, parts), reverse=True)


def test_explanation_is_that_of_the_library(client, model):
    (result,) = ask(client, text=TEXT, explain=True)["results"]
    why = model.explain(TEXT, k=50)
    assert (result["explanation"]["label"], result["explanation"]["against"]) == (
        why.label,
        why.runner_up,
    )
    ours = {f["feature"]: f["contribution"] for f in result["explanation"]["features"]}
    theirs = {c.feature: c.contribution for c in why.contributions if c.contribution}
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_long_text_lists_the_largest_features(model):
    words = [f"word{number:03}" for number in range(120)]
    long = TextClassifier(random_state=0).fit([*words, *TEXTS], [*(["x"] * 120), *LABELS])
    (result,) = ask(client_of(long), text=" ".join(words), explain=True)["results"]
    why = result["explanation"]
    assert len(why["features"]) == 50
    assert why["other_features"]["count"] == 70
    assert why["other_features"]["contribution"] > 0


def test_spans_are_where_the_words_are(client):
    (result,) = ask(client, text="😀 DOG dog; hotdog\ncat", explain=True)["results"]
    spans = {f["feature"]: f["spans"] for f in result["explanation"]["features"]}
    assert spans["dog"] == [[2, 5], [6, 9]]
    assert spans["cat"] == [[18, 21]]


def test_halves_of_characters(client):
    body = rb'{"text": "dog \ud83d cat", "explain": true}'
    response = client.post("/predict", content=body, headers={"content-type": "application/json"})
    (result,) = checked(response, "Answer")["results"]
    spans = {f["feature"]: f["spans"] for f in result["explanation"]["features"]}
    assert spans == {"dog": [[0, 3]], "cat": [[6, 9]]}


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("options", [{}, {"strip_accents": "unicode"}, {"stop_words": ["the"]}])
@settings(deadline=None, max_examples=25)
@given(
    text=st.text(st.sampled_from("aBé \n\t the.İßΣe\u0301😀1-"), max_size=30),
    high=st.integers(1, 4),
)
@example(text="The  the\n\nthe quick", high=2)
def test_spans_count_as_the_vectorizer(analyzer, options, text, high):
    if analyzer != "word" and "stop_words" in options:
        return  # the vectorizer warns that it does not use them
    counter = CountVectorizer(analyzer=analyzer, ngram_range=(1, high), **options)
    spans = Spans(counter)
    clean, origin = spans._aligned(text)
    assert len(origin) == len(clean)
    assert Counter(piece for piece, _, _ in spans._pieces(clean)) == Counter(
        counter.build_analyzer()(text)
    )
    features = set(counter.build_analyzer()(text))
    for feature, places in spans.find(text, features).items():
        for begin, end in places:
            assert 0 <= begin < end <= len(text)
            if analyzer == "word" and high == 1 and text.isascii():
                assert text[begin:end].lower() == feature


# ---------------------------------------------------------------- what describes it


def test_model_health_and_document(client):
    about = checked(client.get("/model"), "Model")
    assert (about["name"], about["classes"], about["formulation"]) == ("things", 6, "cs")
    assert about["examples"] == [{"text": "a dog"}]
    assert about["limits"]["max_k"] == 6
    assert about["gap"] <= 1e-4
    checked(client.get("/health"), "Health")
    assert client.get("/openapi.json").json() == DOCUMENT
    assert client.head("/health").status_code == 200


def test_document_describes_questions(client):
    question = {"$ref": "#/components/schemas/Question"}
    for good in ({"text": "a"}, {"texts": ["a"], "k": 2, "explain": True, "against": "dog"}):
        assert errors(good, question, DOCUMENT) == []
        ask(client, **good)
    for bad in ({}, {"text": "a", "texts": []}, {"text": 1}, {"text": "a", "k": 0}, {"x": 1}):
        assert errors(bad, question, DOCUMENT) != []
        ask(client, status=422, **bad)


def test_infinite_penalty_is_null():
    model = small_model()
    model.C = np.inf
    assert checked(client_of(model).get("/model"), "Model")["C"] is None


def test_page_and_its_parts(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for path in ("/style.css", "/page.js", "/icon.svg"):
        assert path[1:] in page.text
        assert client.get(path).status_code == 200
    script = client.get("/page.js").text
    assert "innerHTML" not in script
    assert "http:" not in script + page.text + client.get("/style.css").text
    assert " style=" not in page.text
    assert not re.search(r"<[^>]*\son\w+\s*=", page.text)


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/page/index.html",
        "/../pyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/style.css%00",
        "/predict/",
    ],
)
def test_there_are_no_other_files(client, path):
    response = client.get(path, follow_redirects=False)
    assert response.status_code == 404
    assert checked(response, "Error", 404)["error"]["code"] == "not_found"


def test_headers_of_every_answer(client):
    for response in (client.get("/"), client.get("/nope"), client.post("/predict", content=b"")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in response.headers


# ---------------------------------------------------------------- models that cannot be served


def test_model_with_bad_numbers():
    model = small_model(sparse_coef=True)
    model.coef_.data[3] = np.nan
    with pytest.raises(ValueError, match="not numbers"):
        create_app(model)


@pytest.mark.parametrize(
    "bad",
    [{"max_bytes": 0}, {"max_k": True}, {"rate": -1}, {"rate": np.inf}, {"answer_seconds": 0}],
)
def test_limits_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Limits(**bad)
