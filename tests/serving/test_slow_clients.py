"""Clients that send slowly, claim to be others or do not read their answers."""

from __future__ import annotations

import contextlib
import json
import logging
import select
import socket
import time

import pytest

pytest.importorskip("uvicorn")
import httpx

from multimargin.serving import Limits
from tests.support.served import TEXTS, eventually, live, serving_within

# ---------------------------------------------------------------- slow clients


@pytest.fixture(scope="module")
def hasty(model_file):
    """A server that waits for a third of a second."""
    limits = Limits(body_seconds=0.3, head_seconds=0.3, max_bytes=2000, rate=0)
    with live(model_file, limits) as address:
        yield address


def test_rates_are_those_of_the_connection(model_file):
    with live(model_file, Limits(rate=3)) as (host, port):
        # Whom a client claims to be does not matter, unless a proxy was named.
        claims = [{"x-forwarded-for": f"10.0.0.{number}"} for number in range(12)]
        with httpx.Client(base_url=f"http://{host}:{port}") as session:
            statuses = [session.get("health", headers=claim).status_code for claim in claims]
        assert statuses[:6] == [200] * 6
        assert 429 in statuses


HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def _received(raw):
    raw.settimeout(10)
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := raw.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def _until(raw, end):
    """What is received up to some bytes."""
    raw.settimeout(10)
    parts = b""
    while not parts.endswith(end):
        part = raw.recv(1)
        assert part, parts
        parts += part
    return parts


@pytest.mark.parametrize("head", [b"", b"GET /health HT", HEAD], ids=["none", "part", "most"])
def test_slow_heads_are_cut_off(hasty, head):
    with socket.create_connection(hasty) as raw:
        raw.sendall(head)
        assert _received(raw) == b""


def test_slow_second_head_is_cut_off(hasty):
    with socket.create_connection(hasty) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _until(raw, b'"ok"}')
        raw.sendall(b"GET /hea")
        assert _received(raw) == b""


@pytest.mark.parametrize("how", [b"Content-Length: 100\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_slow_bodies_are_refused(hasty, how):
    with socket.create_connection(hasty) as raw:
        raw.sendall(HEAD + how + b"\r\n" + (b"5\r\n{    \r\n" if b"chunked" in how else b"{"))
        answer = _received(raw)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"too_slow" in answer


def test_endless_body_is_refused(hasty):
    with socket.create_connection(hasty) as raw:
        raw.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(50):
                raw.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
        assert _received(raw).startswith(b"HTTP/1.1 413")


def test_slow_but_steady_clients_are_served(hasty):
    body = b'{"text": "a small dog", "k": 1}'
    with socket.create_connection(hasty) as raw:
        for _ in range(2):  # the deadline of the first request does not hit the second
            raw.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body[:5])
            time.sleep(0.2)
            raw.sendall(body[5:])
            assert b'"dog"' in _until(raw, b"}]}")


def test_clients_that_go_away(hasty, monkeypatch):
    complaints = []
    logger = logging.getLogger("uvicorn.error")
    monkeypatch.setattr(logger, "handle", lambda record: complaints.append(record.getMessage()))
    for _ in range(3):
        with socket.create_connection(hasty) as raw:
            raw.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
            time.sleep(0.05)
    assert httpx.get(f"http://{hasty[0]}:{hasty[1]}/health").status_code == 200
    assert complaints == []


def test_requests_in_one_piece_are_all_answered(hasty):
    with socket.create_connection(hasty) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        for _ in range(3):
            assert _until(raw, b'"ok"}').startswith(b"HTTP/1.1 200")


# ---------------------------------------------------------------- clients that do not read


QUESTION = json.dumps({"texts": [" ".join(TEXTS)] * 80, "k": 6, "explain": True}).encode()
# Answered with 270 kB, of which the sockets of a client that does not read hold some 100 kB.
LARGE = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUESTION) + QUESTION


def not_reading(address):
    """A client of small buffers, which reads nothing by itself."""
    raw = socket.socket()
    # Segments as of a network: on one machine they are large, and so is what the server's side of
    # the connection holds.
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(address)
    return raw


def cut(raw):
    """Whether the other side has ended the connection, whatever is unread here."""
    poll = select.poll()
    poll.register(raw, 0)  # how connections end is told without being asked for
    return bool(poll.poll(0))


def status_of(address):
    return httpx.get(f"http://{address[0]}:{address[1]}/model", timeout=5).status_code


def test_answers_that_nobody_reads_are_dropped(model_file):
    limits = Limits(rate=0, connections=31, answer_seconds=1.0)
    with live(model_file, limits) as address, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(not_reading(address)) for _ in range(30)]
        assert eventually(lambda: status_of(address) == 503)
        for raw in clients:
            raw.sendall(LARGE)
        assert eventually(lambda: status_of(address) == 200)
        assert eventually(lambda: all(map(cut, clients)))
        assert all(len(_received(raw)) < 200_000 for raw in clients)


def test_answers_behind_unread_ones_are_dropped(model_file):
    # The second answer waits for the first one to be read, and counts as being given.
    limits = Limits(rate=0, concurrency=8, answer_seconds=3.0)
    with live(model_file, limits) as address, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(not_reading(address)) for _ in range(8)]
        for raw in clients:
            raw.sendall(LARGE * 2)
        assert eventually(lambda: status_of(address) == 503)
        assert eventually(lambda: status_of(address) == 200)
        assert eventually(lambda: all(map(cut, clients)))


def test_answers_that_nobody_reads_are_dropped_by_all_processes(model_file):
    limits = Limits(rate=0, answer_seconds=1.0)
    with serving_within(model_file, limits, processes=2) as server, contextlib.ExitStack() as stack:
        url = httpx.URL(server.url)
        address = (url.host, url.port)
        assert eventually(lambda: status_of(address) == 200)
        clients = [stack.enter_context(not_reading(address)) for _ in range(30)]
        for raw in clients:
            raw.sendall(LARGE)
        assert eventually(lambda: all(map(cut, clients)))
        assert {status_of(address) for _ in range(10)} == {200}
        assert server.end() == 0
        assert "Traceback" not in "".join(server.notes)


def test_who_reads_a_byte_now_and_then_is_cut_off(model_file):
    with live(model_file, Limits(answer_seconds=0.5)) as address, not_reading(address) as raw:
        raw.sendall(LARGE)
        assert eventually(lambda: raw.recv(1) and cut(raw))


def test_slow_but_steady_readers_get_all(model_file):
    limits = Limits(rate=0, answer_seconds=1.0)
    with live(model_file, limits) as address, not_reading(address) as raw:
        raw.sendall(LARGE * 2)
        raw.settimeout(10)
        received = bytearray()
        begin = time.monotonic()
        while received.count(b"}]}") < 2:
            part = raw.recv(16384)
            assert part
            received += part
            time.sleep(0.03)
        assert received.count(b"HTTP/1.1 200") == 2
        assert time.monotonic() - begin > limits.answer_seconds
        assert json.loads(received.rpartition(b"\r\n\r\n")[2])["results"]
