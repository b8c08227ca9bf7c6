"""``multimargin serve``: real processes, sockets and signals."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import os
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
from multimargin.serving import Server
from multimargin.serving._routes import _end_with
from multimargin.serving._server import _explained, bound
from tests.support.served import TEXTS, eventually, serving, small_model

needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")


def ask(url, text="a small dog", **more):
    response = httpx.post(f"{url}predict", json={"text": text, **more}, timeout=20)
    assert response.status_code == 200, response.text
    return response.json()["results"][0]


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


# ---------------------------------------------------------------- the command itself


def test_models_and_files_that_cannot_be_served(tmp_path, capsys):
    plain = tmp_path / "plain.model"
    numbers = MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    save_model(numbers, plain, preprocessing={"whiten": True})
    damaged = tmp_path / "damaged.model"
    save_model(small_model(), damaged)
    content = bytearray(damaged.read_bytes())
    content[-40] ^= 1
    damaged.write_bytes(content)
    for path, says in (
        (plain, "whiten=True, which the server cannot repeat"),
        (damaged, "damaged"),
        (tmp_path / "none.model", "No such file"),
    ):
        assert main(["serve", str(path), "--port", "0"]) == 1
        error = capsys.readouterr().err
        assert says in error
        assert str(path) in error
        assert len(error.splitlines()) == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_examples_that_the_model_does_not_take(tmp_path, capsys, processes):
    path = tmp_path / "numbers.model"
    save_model(MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2]), path)
    options = ["--port", "0", "--processes", processes, "--example", "[1, 2]"]
    assert main(["serve", str(path), *options]) == 1
    error = capsys.readouterr().err
    assert "the example '[1, 2]' is no row for this model: row has 2 numbers" in error
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
    local = ("127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9")
    assert all(Server("model", host=host).is_local for host in local)
    others = ("0.0.0.0", "::", "10.0.0.1", "example.org")
    assert not any(Server("model", host=host).is_local for host in others)
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
