"""Small models, and servers for them in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multimargin import MulticlassSVC, TextClassifier
from multimargin.serving import Limits, Server
from multimargin.serving._server import bound

TEXTS = [
    "a small dog kept as a pet",
    "a dog that herds sheep",
    "a big cat with stripes",
    "a small cat that purrs",
    "bread baked in an oven",
    "a loaf of white bread",
    "a small violin played with a bow",
    "a stringed instrument",
    "a fast car with a roof",
    "a car that carries a family",
    "a river that flows to the sea",
    "a small river",
]
LABELS = [name for name in ("dog", "cat", "bread", "violin", "car", "river") for _ in range(2)]


def small_model(**parameters: Any) -> TextClassifier:
    """Six classes of two texts each."""
    labels = parameters.pop("labels", LABELS)
    return TextClassifier(random_state=0, **{"tol": 1e-4, **parameters}).fit(TEXTS, labels)


def table_model() -> TextClassifier:
    """The same classes by a text, a number and a category."""
    kinds = [kind for kind in ("pet", "pet", "food", "thing", "thing", "water") for _ in range(2)]
    columns = {"text": TEXTS, "length": [len(text) for text in TEXTS], "kind": kinds}
    model = TextClassifier(text="text", numeric="length", categorical="kind", random_state=0)
    return model.fit(columns, LABELS)


def number_rows() -> tuple[Any, Any]:
    """Sixty rows of twelve numbers in three classes, as embeddings are."""
    X = np.random.RandomState(0).randn(60, 12) + np.repeat(4 * np.eye(3, 12), 20, axis=0)
    return X, np.repeat(["red", "green", "blue"], 20)


def number_model() -> MulticlassSVC:
    """Three classes by three columns of a data frame."""
    pandas = pytest.importorskip("pandas")
    X = np.repeat(4 * np.eye(3), 5, axis=0) + np.random.RandomState(0).randn(15, 3) / 4
    frame = pandas.DataFrame(X, columns=["width", "height", "weight"])
    return MulticlassSVC(random_state=0).fit(frame, np.repeat(["wide", "high", "heavy"], 5))


def eventually(holds: Callable[[], Any], seconds: float = 60) -> bool:
    """Wait until something holds; errors of connections mean not yet."""
    import httpx

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, httpx.HTTPError):
            if holds():
                return True
        time.sleep(0.05)
    return False


class Process:
    """A running ``multimargin serve``."""

    def __init__(self, process: subprocess.Popen[str], url: str, notes: list[str]) -> None:
        self.process = process
        self.url = url
        self.notes = notes

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


def serving(model: Path, *options: str) -> AbstractContextManager[Process]:
    """Serve a model file at a free port until the block ends."""
    return _running(["-m", "multimargin", "serve", str(model), "--port", "0", *options])


def serving_within(model: Path, limits: Limits, **options: Any) -> AbstractContextManager[Process]:
    """The same with limits of which the command has no options."""
    program = f"""
import sys
from multimargin.serving import Limits, Server
server = Server({str(model)!r}, port=0, limits={limits!r}, **{options!r})
server.run(lambda url: print(url, file=sys.stderr, flush=True))
"""
    return _running(["-c", program])


@contextmanager
def _running(arguments: list[str]) -> Iterator[Process]:
    # A group of its own: Ctrl-C in a test reaches all its processes, as at a terminal.
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    assert process.stderr is not None
    notes: list[str] = []
    url = None
    try:
        for line in process.stderr:
            notes.append(line)
            match = re.search(r"http://\S+", line)
            if match:
                url = match[0]
                break
        assert url is not None, f"the server did not start: {''.join(notes)}"
        threading.Thread(target=lambda: notes.extend(process.stderr or ()), daemon=True).start()
        yield Process(process, url, notes)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def live(model: Path, limits: Limits, **options: Any) -> Iterator[tuple[str, int]]:
    """Serve a model file in a thread of this process until the block ends; the address."""
    import uvicorn

    server = Server(str(model), port=0, limits=limits, **options)
    with bound("127.0.0.1", 0) as listening:
        running = uvicorn.Server(server._config(server._app(), factory=False))
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            running.should_exit = True
            thread.join(20)
        assert not thread.is_alive()
