"""The JSON endpoint: what it answers, what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
from sklearn.feature_extraction.text import CountVectorizer

from multimargin import MulticlassSVC, TextClassifier
from multimargin.serving import Limits, create_app
from multimargin.serving._errors import RequestError
from multimargin.serving._guard import Guard
from multimargin.serving._limits import RateLimit
from multimargin.serving._openapi import openapi_document
from multimargin.serving._question import read_question
from multimargin.serving._spans import Spans
from tests.support.json_schema import errors
from tests.support.served import LABELS, TEXTS, small_model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP client than httpx
    from starlette.testclient import TestClient

DOCUMENT = openapi_document()
TEXT = "a Small dog, and a cat that plays the violin"


def client_of(model, **options):
    app = create_app(model, limits=options.pop("limits", Limits(rate=0)), **options)
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def client(model):
    return client_of(model, name="things", examples=["a dog"])


def checked(response, name, status=200):
    """The body, if it is as openapi.json says."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    schema = {"$ref": f"#/components/schemas/{name}"}
    assert errors(response.json(), schema, DOCUMENT) == []
    return response.json()


def ask(client, status=200, **question):
    return checked(
        client.post("/predict", json=question), "Answer" if status == 200 else "Error", status
    )


# ---------------------------------------------------------------- answers


def test_best_classes(client, model):
    (result,) = ask(client, text=TEXT, k=3)["results"]
    labels, scores = model.predict_topk([TEXT], 3)
    assert [c["label"] for c in result["classes"]] == labels[0].tolist()
    np.testing.assert_allclose([c["score"] for c in result["classes"]], scores[0], atol=1e-6)
    assert result["known_features"] == 6  # small, dog, cat, that, the, violin
    assert "explanation" not in result


def test_many_texts_as_each_by_itself(client):
    texts = [f"{a} {b}" for a in TEXTS for b in TEXTS[:8]]  # enough for another way to score them
    together = ask(client, texts=texts, explain=True)["results"]
    assert len(together) == len(texts)
    for text, result in list(zip(texts, together, strict=True))[::7]:
        assert ask(client, text=text, explain=True)["results"] == [result]


def test_no_text_and_no_known_word(client):
    assert ask(client, texts=[]) == {"results": []}
    empty, unknown = ask(client, texts=["", "xyzzy ☃"], explain=True)["results"]
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
    assert (about["name"], about["classes"], about["formulation"]) == ("things", 6, "ww")
    assert about["examples"] == ["a dog"]
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


# ---------------------------------------------------------------- refusals

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "line 1 column 2"),
        (b'{"text": "a"} x', 400, "not JSON"),
        (b'{"text": "\xff"}', 400, "not UTF-8"),
        ('{"text": "a"}'.encode("utf-16"), 400, "not UTF-8"),
        (b'{"text": "a", "k": NaN}', 400, "NaN"),
        (b'{"text": "a", "k": -Infinity}', 400, "-Infinity"),
        (b'{"text": "a", "k": ' + b"9" * 5000 + b"}", 400, "too long"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b'{"text":' * 100_000, 400, "nested too deeply"),
        (b"null", 422, "JSON object"),
        (b"[]", 422, "JSON object"),
        (b'"text"', 422, "JSON object"),
        (b"{}", 422, '"text"'),
        (b'{"text": "a", "texts": ["a"]}', 422, "either"),
        (b'{"text": 3}', 422, "must be a string: 3"),
        (b'{"text": null}', 422, "must be a string: null"),
        (b'{"texts": "a"}', 422, "array of strings"),
        (b'{"texts": ["a", 3]}', 422, "texts[1] must be a string"),
        (b'{"texts": ["a", ["a"]]}', 422, "texts[1]"),
        (b'{"text": "a", "k": 0}', 422, "from 1 to 6: 0"),
        (b'{"text": "a", "k": 7}', 422, "from 1 to 6: 7"),
        (b'{"text": "a", "k": 1e400}', 422, "from 1 to 6"),
        (b'{"text": "a", "k": true}', 422, "from 1 to 6: true"),
        (b'{"text": "a", "k": 2.0}', 422, "from 1 to 6: 2.0"),
        (b'{"text": "a", "explain": "yes"}', 422, "true or false"),
        (b'{"text": "a", "against": "dog"}', 422, '"explain": true'),
        (b'{"text": "a", "explain": true, "against": ["dog"]}', 422, "label of a class"),
        (b'{"text": "a", "explain": true, "against": "horse"}', 422, "no class 'horse'"),
        (b'{"text": "a", "explain": true, "against": 1}', 422, "no class 1"),
        (b'{"text": ' + b"[" * 900 + b"]" * 900 + b"}", 422, "must be a string: an array"),
        (b'{"text": {"a": "b"}}', 422, "must be a string: an object"),
        (b'{"text": "a", "file": "/etc/passwd"}', 422, "'file' is not known"),
    ],
)
def test_malformed(client, body, status, says):
    response = client.post("/predict", content=body, headers=JSON)
    error = checked(response, "Error", status)["error"]
    assert says in error["message"]
    assert error["status"] == status
    assert len(error["message"]) < 300
    ask(client, text="a dog")  # and it is still there


@settings(deadline=None, max_examples=100)
@given(
    st.binary(max_size=60)
    | st.lists(
        st.sampled_from(['{"text":', '"a"', ',"k":', "1", "}", "[", "]", "é", "\\ud800"])
    ).map(lambda parts: "".join(parts).encode())
)
def test_any_bytes_get_an_answer_or_a_reason(body):
    try:
        read_question(body, Limits(), 6)
    except RequestError as error:
        assert error.status in (400, 413, 422)


def test_other_types_methods_and_encodings(client):
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/jsonx"}):
        response = client.post("/predict", content=b'{"text": "a"}', headers=headers)
        checked(response, "Error", 415)
    response = client.post("/predict", content=b"...", headers={**JSON, "content-encoding": "gzip"})
    assert checked(response, "Error", 415)["error"]["code"] == "compressed"
    typed = {"content-type": "Application/JSON; charset=utf-8"}
    checked(client.post("/predict", content=b'{"text": "a"}', headers=typed), "Answer")
    for method in ("GET", "PUT", "DELETE", "OPTIONS"):
        refused = client.request(method, "/predict")
        assert "POST" in checked(refused, "Error", 405)["error"]["message"]
        assert refused.headers["allow"] == "POST"
    checked(client.post("/"), "Error", 405)


def test_sizes(model):
    client = client_of(model, limits=Limits(max_bytes=1000, max_texts=3, max_chars=100, rate=0))
    ask(client, texts=["a"] * 3)
    assert ask(client, status=413, texts=["a"] * 4)["error"]["code"] == "too_many_texts"
    ask(client, text="é" * 100)
    assert ask(client, status=413, text="é" * 101)["error"]["code"] == "text_too_long"
    large = json.dumps({"text": "a" * 1000}).encode()
    announced = client.post("/predict", content=large, headers=JSON)
    assert checked(announced, "Error", 413)["error"]["code"] == "body_too_large"

    def parts():
        for start in range(0, len(large), 100):
            yield large[start : start + 100]

    chunked = client.post("/predict", content=parts(), headers=JSON)
    assert "content-length" not in chunked.request.headers
    assert checked(chunked, "Error", 413)["error"]["code"] == "body_too_large"


def test_unexpected_errors_are_answered(model, monkeypatch):
    client = client_of(model)
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_checked", lambda *_: 1 / 0)
        response = client.post("/predict", json={"text": "a dog"})
        error = checked(response, "Error", 500)["error"]
    assert "division" not in error["message"]
    assert "default-src 'none'" in response.headers["content-security-policy"]
    ask(client, text="a dog")


# ---------------------------------------------------------------- rate, host, how many at once


def test_rate_of_a_client(model):
    client = client_of(model, limits=Limits(rate=2))
    assert [client.get("/health").status_code for _ in range(4)] == [200] * 4
    refused = client.get("/health")
    assert checked(refused, "Error", 429)["error"]["code"] == "too_many_requests"
    assert int(refused.headers["retry-after"]) >= 1


def test_token_buckets():
    now = [0.0]
    limit = RateLimit(10, clock=lambda: now[0], most_clients=3)
    assert [limit.wait("a") for _ in range(20)] == [0.0] * 20
    assert limit.wait("a") == pytest.approx(0.1)
    assert limit.wait("b") == 0
    now[0] += 0.1
    assert limit.wait("a") == 0
    assert limit.wait("a") > 0
    now[0] += 1000  # no more than the reserve is saved up
    assert sum(limit.wait("a") == 0 for _ in range(100)) == 20
    for client in range(100):
        limit.wait(f"10.0.0.{client}")
    assert len(limit) == 3


def test_one_household_of_ipv6_is_one_client():
    limit = RateLimit(1, clock=lambda: 0.0)
    assert limit.wait("2001:db8::1") == 0
    assert limit.wait("2001:db8::2") == 0
    assert limit.wait("2001:db8::3") > 0
    assert limit.wait("2001:db8:0:1::3") == 0
    assert [limit.wait(f"::ffff:10.0.0.{n}") for n in range(5)] == [0.0] * 5
    assert [limit.wait("fe80::1%eth0"), limit.wait("no address: at all")] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("evil.example", 400),
        ("evil.example:8000", 400),
        ("localhost.evil.example", 400),
        ("localhost:80@evil.example", 400),
        ("", 400),
    ],
)
def test_names_of_the_server(model, host, status):
    client = client_of(model, hosts=["localhost", "[::1]"])
    response = client.get("/health", headers={"host": host})
    assert response.status_code == status
    if status != 200:
        assert "--allow-host" in checked(response, "Error", 400)["error"]["message"]


def test_too_many_at_once():
    async def run():
        inside, go_on, sent = asyncio.Event(), asyncio.Event(), []

        async def app(scope, receive, send):
            inside.set()
            await go_on.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message):
            sent.append(message)

        guard = Guard(app, Limits(concurrency=1, rate=0))
        scope = {"type": "http", "path": "/predict", "headers": [], "client": ("a", 1)}
        first = asyncio.create_task(guard(scope, None, send))
        await inside.wait()
        await guard(scope, None, send)
        assert sent[0]["status"] == 503
        assert (b"retry-after", b"1") in sent[0]["headers"]
        assert json.loads(sent[1]["body"])["error"]["code"] == "busy"
        go_on.set()
        await first
        await guard(scope, None, send)
        assert sent[-1]["status"] == 200

    asyncio.run(run())


# ---------------------------------------------------------------- models that cannot be served


def test_models_without_texts():
    plain = MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(ValueError, match=r"no text features.*multimargin train .* --text"):
        create_app(plain)
    columns = {"text": TEXTS, "length": [len(text) for text in TEXTS]}
    mixed = TextClassifier(text="text", numeric="length").fit(columns, LABELS)
    with pytest.raises(ValueError, match="needs the columns text, length"):
        create_app(mixed)
    one = TextClassifier(text="text").fit(columns, LABELS)
    ask(client_of(one), text="a dog")


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
