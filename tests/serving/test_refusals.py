"""Requests that are refused: malformed, too large, too many, to another host."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from multimargin.serving import Limits
from multimargin.serving._errors import RequestError
from multimargin.serving._guard import Guard
from multimargin.serving._limits import RateLimit
from multimargin.serving._question import read_question
from multimargin.serving.samples import kind_of
from tests.support.served import small_model
from tests.support.served_client import ask, checked, client_of

JSON = {"content-type": "application/json"}
KIND = kind_of(small_model())


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
        read_question(body, Limits(), KIND, 6)
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
