"""``multimargin serve``: real processes, sockets and signals."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http.client
import json
import logging
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
import httpx

from multimargin import MulticlassSVC, save_model
from multimargin.cli import main
from multimargin.serving import Limits, Server
from multimargin.serving._routes import _end_with
from multimargin.serving._server import _explained, bound, is_local
from tests.support.served import TEXTS, live, serving, serving_within, small_model

needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "things.model"
    save_model(small_model(sparse_coef=True), path)
    return path


def ask(url, text="a small dog", **more):
    response = httpx.post(f"{url}predict", json={"text": text, **more}, timeout=20)
    assert response.status_code == 200, response.text
    return response.json()["results"][0]


def eventually(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, httpx.HTTPError):
            if holds():
                return True
        time.sleep(0.05)
    return False


# ---------------------------------------------------------------- one process


def test_simultaneous_requests_and_sigterm(model_file, tmp_path):
    path = tmp_path / "changing.model"
    shutil.copy(model_file, path)
    expected = small_model().predict(TEXTS).tolist()
    with serving(path, "--rate", "0", "--allow-host", "Model.Example") as server:
        assert str(path) in "".join(server.notes)
        address = httpx.URL(server.url)

        def client(number):
            with httpx.Client(base_url=server.url, timeout=20) as session:
                for round_ in range(10):
                    place = (number + round_) % len(TEXTS)
                    if round_ % 5 == 4:  # between good ones, a bad one and a large one
                        assert session.post("predict", content=b"{").status_code == 415
                        large = session.post("predict", json={"texts": TEXTS * 15}).json()
                        got = [result["classes"][0]["label"] for result in large["results"]]
                        assert got == expected * 15
                    answer = session.post("predict", json={"text": TEXTS[place]}).json()
                    assert answer["results"][0]["classes"][0]["label"] == expected[place]

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(client, range(8)))

        # The parts of a request one by one, and what is no HTTP at all.
        with socket.create_connection((address.host, address.port)) as raw:
            raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert b"400" in raw.recv(1000)
        for target in ("/../../etc/passwd", "http://evil.example/", "/style.css/../page.js"):
            connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
            connection.putrequest("GET", target)
            connection.endheaders()
            assert connection.getresponse().status in (400, 404)
            connection.close()
        rebound = httpx.get(f"{server.url}health", headers={"host": "evil.example"})
        assert rebound.status_code == 400
        named = httpx.get(f"{server.url}health", headers={"host": "model.example"})
        assert named.status_code == 200
        # A model file that is replaced is not that of this server.
        before = ask(server.url, explain=True)
        save_model(small_model(labels=["other"] * 6 + ["classes"] * 6), path)
        assert ask(server.url, explain=True) == before
        assert server.end(signal.SIGTERM) == 0
        assert "Traceback" not in "".join(server.notes)


def test_ctrl_c(model_file, capsys, monkeypatch):
    run = Server.run

    def run_and_interrupt(server, started):
        def interrupt(url):
            started(url)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

        run(server, interrupt)

    monkeypatch.setattr(Server, "run", run_and_interrupt)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["serve", str(model_file), "--port", "0"]) == 130
    assert signal.getsignal(signal.SIGTERM) is before
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "multimargin: interrupted"
    assert len(lines) == 2


def test_port_in_use(model_file, capsys):
    with bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(model_file), "--port", str(port)]) == 1
    captured = capsys.readouterr().err
    assert f"127.0.0.1:{port} is in use" in captured
    assert "--port" in captured


# ---------------------------------------------------------------- several processes


def _children(pid):
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@needs_proc
def test_processes_share_the_model(model_file, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving(model_file, "--processes", "2", "--rate", "0") as server:
        assert eventually(lambda: ask(server.url)["classes"][0]["label"] == "dog")

        def all_mapped():
            maps = [Path(f"/proc/{pid}/maps").read_text() for pid in workers()]
            return len(maps) == 2 and all(
                str(model_file) in text and str(tmp_path / "multimargin-serve-") in text
                for text in maps
            )

        def workers():
            return _children(server.process.pid)

        assert eventually(all_mapped)
        before = workers()
        os.kill(before[0], signal.SIGKILL)
        assert eventually(lambda: before[0] not in workers() and all_mapped())
        assert ask(server.url, explain=True)["classes"][0]["label"] == "dog"
        os.killpg(server.process.pid, signal.SIGINT)  # as a terminal does
        assert server.process.wait(30) == 130
        assert "Traceback" not in "".join(server.notes)
    assert list(tmp_path.iterdir()) == []


@needs_proc
def test_a_worker_that_dies_while_it_starts_is_replaced(model_file):
    with serving(model_file, "--processes", "2", "--rate", "0") as server:

        def workers():
            return _children(server.process.pid)

        assert eventually(lambda: len(workers()) == 2)
        before = workers()
        time.sleep(0.8)  # until it is asked whether it is well, and cannot answer yet
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: len(workers()) == 2 and not {*before} & {*workers()})
        assert server.end() == 0


def test_workers_do_not_outlive_their_parent(monkeypatch):
    raised = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    asyncio.run(_end_with(os.getppid() + 1))
    assert raised == [signal.SIGTERM]
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(_end_with(os.getppid()), 0.05))


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


# ---------------------------------------------------------------- the command itself


def test_models_and_files_that_cannot_be_served(tmp_path, capsys):
    plain = tmp_path / "plain.model"
    save_model(MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2]), plain)
    damaged = tmp_path / "damaged.model"
    save_model(small_model(), damaged)
    content = bytearray(damaged.read_bytes())
    content[-40] ^= 1
    damaged.write_bytes(content)
    for path, says in (
        (plain, "no text features"),
        (damaged, "damaged"),
        (tmp_path / "none.model", "No such file"),
    ):
        assert main(["serve", str(path), "--port", "0"]) == 1
        error = capsys.readouterr().err
        assert says in error
        assert str(path) in error
        assert len(error.splitlines()) == 1


def test_missing_libraries_are_named(model_file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", str(model_file)]) == 1
    assert 'pip install "multimargin[serve]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--port", "65536"],
        ["--port", "x"],
        ["--rate", "-1"],
        ["--rate", "nan"],
        ["--processes", "0"],
    ],
)
def test_wrong_usage(model_file, options, capsys):
    assert main(["serve", str(model_file), *options]) == 2
    assert options[1] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "below 1024"),
        (errno.EADDRNOTAVAIL, "not an address of this machine"),
        (errno.ENOBUFS, "cannot listen"),
    ],
)
def test_sockets_that_cannot_be_had(number, says):
    assert says in str(_explained(OSError(number, os.strerror(number)), "10.0.0.1", 80))


def test_unknown_hosts():
    with pytest.raises(ValueError, match="not an address of this machine"):
        bound("256.256.256.256.", 0)


def test_who_can_connect(model_file, monkeypatch, capsys):
    assert [is_local(h) for h in ("127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9")] == [
        True
    ] * 5
    assert [is_local(h) for h in ("0.0.0.0", "::", "10.0.0.1", "example.org")] == [False] * 4
    monkeypatch.setattr(Server, "run", lambda self, started: started("http://0.0.0.0:80/"))
    assert main(["serve", str(model_file), "--host", "0.0.0.0"]) == 0
    assert "other machines can connect" in capsys.readouterr().err
    assert main(["serve", str(model_file)]) == 0
    assert "other machines" not in capsys.readouterr().err
    local, everywhere = Server("m"), Server("m", host="0.0.0.0")
    assert "localhost" in (local._hosts() or ())
    assert everywhere._hosts() is None
    assert Server("m", host="0.0.0.0", allow_hosts=["Me"])._hosts() == {"me"}


def test_names_are_checked(model_file, capsys):
    assert main(["serve", str(model_file), "--allow-host", "example.org:80"]) == 1
    assert "without a port" in capsys.readouterr().err


def test_limits_reach_the_server(model_file, monkeypatch):
    seen = []
    monkeypatch.setattr(Server, "run", lambda self, started: seen.append(self))
    options = ["--max-bytes", "77", "--rate", "0.5", "--threads", "2", "--proxy", "10.0.0.9"]
    assert main(["serve", str(model_file), *options]) == 0
    (server,) = seen
    assert (server.limits.max_bytes, server.limits.rate, server.threads) == (77, 0.5, 2)
    config = server._config(None, factory=False)
    assert config.proxy_headers
    assert config.forwarded_allow_ips == "10.0.0.9"
    assert json.dumps(server.limits.__dict__)
