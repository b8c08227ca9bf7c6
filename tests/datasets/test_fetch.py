"""Downloads of data sets, from a server on this machine that misbehaves as it is told."""

from __future__ import annotations

import bz2
import errno
import hashlib
import json
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from multimargin.cli import main
from multimargin.datasets import FetchError, _download, _fetch, fetch_set
from multimargin.datasets._catalog import CATALOG, CatalogEntry, RemoteFile
from multimargin.datasets._fetch import verify_set

TRAIN = bz2.compress("".join(f"{k % 3} 1:{k} 4:{k / 7}\n" for k in range(600)).encode())
TEST = b"0 1:1\n2 3:0.5\n"


class Server(ThreadingHTTPServer):
    """Serves `files`; `stop_after` bytes of an answer it hangs up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave()

    def behave(self) -> None:
        self.files = {"/train.bz2": TRAIN, "/any/odd%2Fname?x=1": TEST}
        self.stop_after: int | None = None
        self.length = True
        self.asked: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(dict(self.headers))
        moved = {"/moved": "file:///etc/hostname", "/round": "/round", "/here": "/train.bz2"}
        if self.path in moved:
            self.send_response(302)
            self.send_header("Location", moved[self.path])
            self.end_headers()
            return
        if self.path == "/stalls":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"1 1:1\n")
            self.wfile.flush()
            time.sleep(1)
            return
        if self.path not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[self.path]
        self.send_response(200)
        if self.server.length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.stop_after])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.behave()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    entry = CatalogEntry(
        "toy",
        "a toy",
        600,
        2,
        3,
        4,
        "none",
        "the test server",
        {
            "train": RemoteFile(f"{running.url}/train.bz2", "train.libsvm.bz2"),
            "test": RemoteFile(f"{running.url}/any/odd%2Fname?x=1", "test.libsvm"),
        },
    )
    monkeypatch.setitem(CATALOG, "toy", entry)
    return running


def change(part: str = "train", **fields: object) -> None:
    """Change what the catalogue says about a file."""
    entry = CATALOG["toy"]
    changed = replace(entry.files[part], **fields)
    CATALOG["toy"] = replace(entry, files={**entry.files, part: changed})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "toy").iterdir())


def test_fetch_and_record_sums(server, tmp_path):
    lines: list[str] = []
    files = fetch_set("toy", tmp_path / "new" / "folder", report=lines.append)
    assert [file.read_bytes() for file in files] == [TRAIN, TEST]
    folder = tmp_path / "new" / "folder"
    assert names(folder) == ["SHA256SUMS", "test.libsvm", "train.libsvm.bz2"]
    assert (folder / "toy" / "SHA256SUMS").read_text() == (
        f"{hashlib.sha256(TEST).hexdigest()}  test.libsvm\n"
        f"{hashlib.sha256(TRAIN).hexdigest()}  train.libsvm.bz2\n"
    )
    assert verify_set("toy", folder) == {"train.libsvm.bz2": True, "test.libsvm": True}
    assert any("no published sum" in line for line in lines)
    n_asked = len(server.asked)
    fetch_set("toy", folder, report=lines.append)
    assert len(server.asked) == n_asked
    assert lines[-1].endswith("is there already")


def test_a_download_that_breaks_leaves_nothing_behind(server, tmp_path):
    server.stop_after = 100
    with pytest.raises(FetchError, match=r"broke .*100 bytes.* run the same command again"):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()
    server.stop_after = None
    fetch_set("toy", tmp_path)
    assert names(tmp_path) == ["SHA256SUMS", "test.libsvm", "train.libsvm.bz2"]


def test_interrupt_leaves_nothing_behind(server, tmp_path, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_fetch, "_check_content", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


def test_without_a_length_and_by_a_redirection(server, tmp_path):
    server.length = False
    change(url=f"{server.url}/here", sha256=hashlib.sha256(TRAIN).hexdigest(), bytes=len(TRAIN))
    assert fetch_set("toy", tmp_path)[0].read_bytes() == TRAIN


def test_files_are_readable_by_others(server, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    assert fetch_set("toy", tmp_path)[0].stat().st_mode == plain.stat().st_mode


def test_without_pooch(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'multimargin\[fetch\]'"):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()
    assert main(["data", "fetch", "toy", "--data", str(tmp_path)]) == 1
    assert "error: downloads need pooch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sha256": "0" * 64}, "sha256 sum is .* instead of the published 0000"),
        ({"md5": "0" * 32}, "md5 sum is .* instead of the published 0000"),
        ({"bytes": 7}, f"{len(TRAIN):,} bytes instead of the 7"),
    ],
)
@pytest.mark.parametrize("length", [True, False])
def test_wrong_sums(server, tmp_path, fields, message, length):
    server.length = length
    change(**fields)
    with pytest.raises(FetchError, match=message):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


def test_right_sums(server, tmp_path):
    change(sha256=hashlib.sha256(TRAIN).hexdigest(), md5=hashlib.md5(TRAIN).hexdigest())
    lines: list[str] = []
    fetch_set("toy", tmp_path, report=lines.append)
    assert any("the published sum" in line for line in lines)


def test_recorded_sums_are_compared(server, tmp_path):
    fetch_set("toy", tmp_path)
    file = tmp_path / "toy" / "test.libsvm"
    file.write_bytes(b"0 1:1\n2 3:0.6\n")
    assert verify_set("toy", tmp_path)["test.libsvm"] is False
    with pytest.raises(FetchError, match="is not what was fetched"):
        fetch_set("toy", tmp_path)
    file.unlink()
    assert verify_set("toy", tmp_path)["test.libsvm"] is False
    server.files = dict.fromkeys(server.files, b"0 1:1\n2 3:0.6\n")
    with pytest.raises(FetchError, match="when it was first fetched"):
        fetch_set("toy", tmp_path)
    assert names(tmp_path) == ["SHA256SUMS", "train.libsvm.bz2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Please log in</html>\n", "cannot be read and is removed"),
        (b"", "the server sent an empty file"),
        (TRAIN[:-9], "truncated"),
        (b"0 1:1\n1 2:1\n2 3:1\n", "3 samples instead of 600"),
        (b"0 1:1\n1 2:1\n" * 300, "2 classes instead of 3"),
        (b"0 1:1\n1 2:1\n2 5:1\n" * 200, "feature 5 is beyond"),
    ],
)
def test_wrong_content(server, tmp_path, content, message):
    server.files["/train.bz2"] = content
    with pytest.raises(FetchError, match=message):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("/none", "404"),
        ("/moved", "redirects to file:///etc/hostname, which is not https or http"),
        ("/round", "^[^\n]*Exceeded 30 redirects[^\n]*$"),
        (
            "http://127.0.0.1:9/x",
            r"cannot reach 127.0.0.1 \(Connection refused\).*run the same command again",
        ),
        ("file:///etc/hostname", "only http and https"),
    ],
)
def test_what_cannot_be_had(server, tmp_path, url, message):
    change(url=server.url + url if url.startswith("/") else url)
    with pytest.raises(FetchError, match=message):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


def test_a_stalled_download_ends(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_SECONDS", 0.2)
    change(url=f"{server.url}/stalls")
    with pytest.raises(FetchError, match=r"the connection broke \(timed out\)"):
        fetch_set("toy", tmp_path)


@pytest.mark.parametrize(
    ("url", "to", "allowed"),
    [("https://a/b", "http://a/b", False), ("https://a/b", "/c", True), ("http://a", "/b", True)],
)
def test_no_way_from_https_to_http(url, to, allowed):
    response = SimpleNamespace(is_redirect=True, url=url, headers={"Location": to})
    if allowed:
        _download._check_redirection(response)
    else:
        with pytest.raises(FetchError, match="not https"):
            _download._check_redirection(response)


def test_too_little_room(server, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10))
    with pytest.raises(FetchError, match=r"needs .* bytes, but the disk has only 10"):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


def test_full_disk(server, tmp_path, monkeypatch):
    def fill(self: Any, url: str, file: Any, _: object) -> None:
        file.write(b"x" * 100)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", fill)
    with pytest.raises(
        FetchError, match=r"the disk is full; what had been received of .* is removed"
    ):
        fetch_set("toy", tmp_path)
    assert not (tmp_path / "toy").exists()


def test_sets_without_files():
    with pytest.raises(FetchError, match=r"lshtc-2011 cannot be downloaded .*register at"):
        fetch_set("lshtc-2011")
    with pytest.raises(FetchError, match="part of multimargin"):
        fetch_set("wordnet-hypernym")
    with pytest.raises(ValueError, match="no data set is called 'x'"):
        fetch_set("x")


# ---- The command -------------------------------------------------------------------------------


def test_command_fetches_and_lists(server, tmp_path, capsys):
    data = ["--data", str(tmp_path)]
    assert main(["data", "fetch", "lshtc-large", "toy", *data]) == 1
    assert "register at" in capsys.readouterr().err
    assert main(["data", "fetch", "toy", "toy", *data]) == 0
    assert capsys.readouterr().err.count("is there already") == 2

    assert main(["data", "list", "--json", *data]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["folder"] == str(tmp_path)
    toy = next(each for each in listed["sets"] if each["name"] == "toy")
    assert (toy["n_train"], toy["on_disk"]) == (600, ["train", "test"])
    assert len(listed["sets"]) == len(CATALOG)

    assert main(["data", "list", "--verify", *data]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^toy +600 +2 +3 +4 +train\+test: verified$", out, re.MULTILINE)
    assert re.search(r"^rcv1 +15,564 +518,571 +51 +47,236 +-$", out, re.MULTILINE)
    assert re.search(r"^wordnet-hypernym .* in package$", out, re.MULTILINE)
    assert "    a toy. Licence: none. Where: the test server; 'data fetch' gets it" in out

    (tmp_path / "toy" / "test.libsvm").write_bytes(b"0 1:1\n")
    assert main(["data", "list", *data]) == 0
    assert main(["data", "list", "--verify", *data]) == 1
    captured = capsys.readouterr()
    assert "train+test: DIFFERS" in captured.out
    assert captured.err.startswith("multimargin: error: files of toy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch"], "the following arguments are required: NAME"),
        (["fetch", "toys"], "no data set is called 'toys'; see 'multimargin data list'"),
        (["lost"], "invalid choice: 'lost'"),
    ],
)
def test_wrong_usage(capsys, arguments, message):
    assert main(["data", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[0]


def test_listing_of_no_folder(tmp_path, capsys):
    assert main(["data", "list", "--data", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"multimargin: error: {tmp_path / 'none'} is not a folder\n"
