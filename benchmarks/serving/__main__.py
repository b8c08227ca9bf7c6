"""How many requests a second ``multimargin serve`` answers: ``python -m benchmarks.serving``.

The server has one core and the clients the others. On a machine that does other things as well,
what counts is the last column: requests for each second that the server's process computed.

``--unread 64`` measures instead what clients that ask for large answers and never read them do to
the others.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.command_line import positive, print_columns, print_machine, run_command
from benchmarks.common.cores import cores
from benchmarks.serving.unread import Unread
from multimargin import TextClassifier, save_model
from multimargin.datasets import load_wordnet_texts
from multimargin.serving import Limits

_BATCH = 64


class Load(NamedTuple):
    """Measurements of one kind of request."""

    name: str
    texts: int
    seconds: float
    cpu_seconds: float
    latencies: list[float]

    def row(self) -> tuple[str, ...]:
        """A line of the table."""
        done = len(self.latencies)
        ordered = sorted(self.latencies)

        def percentile(share: float) -> str:
            return f"{1000 * ordered[min(done - 1, int(share * done))]:.1f}"

        per_core = done / self.cpu_seconds if self.cpu_seconds else float("nan")
        return (
            self.name,
            f"{done:,}",
            f"{done / self.seconds:,.0f}",
            *(percentile(share) for share in (0.5, 0.95, 0.99)),
            f"{per_core:,.0f}",
            f"{per_core * self.texts:,.0f}",
        )


def main() -> int:
    """Serve, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument(
        "--model", type=Path, help="a text model (default: that of 'multimargin demo', trained now)"
    )
    parser.add_argument("--connections", type=positive, default=8, help="default: %(default)s")
    parser.add_argument(
        "--seconds", type=positive, default=5, help="for each kind of request (default: 5)"
    )
    parser.add_argument(
        "--unread", type=positive, metavar="N", help="clients that read nothing; nothing else then"
    )
    parser.add_argument(
        "--processes", type=positive, default=1, help="of the server, with --unread (default: 1)"
    )
    args = parser.parse_args()
    print_machine()
    texts = load_wordnet_texts().texts_test[:2000]
    with tempfile.TemporaryDirectory() as folder:
        model = args.model or _demo_model(Path(folder) / "demo.model")
        if args.unread:
            with _served(model, args.processes) as (_, host, port):
                _print_unread((host, port), texts, args.unread)
            return 0
        with _served(model) as (pid, host, port):
            loads = [
                asyncio.run(_drive(name, requests, size, pid, (host, port), args))
                for name, requests, size in _kinds(texts)
            ]
        head = ("request", "answered", "per s", "p50 ms", "p95 ms", "p99 ms")
        lines = [(*head, "per core s", "texts per core s"), *(load.row() for load in loads)]
        print_columns(lines, frozenset(range(1, len(lines[0]))))
        print()
        _print_parts(model, texts[:500], loads)
    return 0


def _demo_model(path: Path) -> Path:
    print("training the model of 'multimargin demo' ...", flush=True)
    data = load_wordnet_texts()
    model = TextClassifier("ww", C=1.0, min_df=2, fit_intercept=False, n_jobs=-1, random_state=0)
    save_model(model.fit(data.texts_train, data.y_train), path)
    return path


def _kinds(texts: list[str]) -> Iterator[tuple[str, list[bytes], int]]:
    yield "GET /health", [b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"], 0
    yield "five best classes", [_request({"text": text}) for text in texts], 1
    yield "... and why", [_request({"text": text, "explain": True}) for text in texts], 1
    batches = [texts[start : start + _BATCH] for start in range(0, len(texts) - _BATCH, _BATCH)]
    yield f"{_BATCH} texts at once", [_request({"texts": batch}) for batch in batches], _BATCH


def _request(question: dict[str, Any]) -> bytes:
    body = json.dumps(question).encode()
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


# ---------------------------------------------------------------- the server


@contextmanager
def _served(model: Path, processes: int = 1) -> Iterator[tuple[int, str, int]]:
    """A server on cores of its own; its process and its address."""
    everything = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    own = cores(processes)
    command = [sys.executable, "-m", "multimargin", "serve", str(model)]
    if everything and own:
        os.sched_setaffinity(0, own)  # the child inherits it
    process = subprocess.Popen(
        [*command, "--port", "0", "--rate", "0", "--threads", "1", "--processes", str(processes)],
        stderr=subprocess.PIPE,
        text=True,
    )
    if everything and own:
        os.sched_setaffinity(0, (everything - own) or everything)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://(.+):(\d+)/", line)
        if found is None:
            raise RuntimeError(f"the server did not start: {line}")
        yield process.pid, found[1], int(found[2])
    finally:
        process.terminate()
        process.wait()
        if everything:
            os.sched_setaffinity(0, everything)


def _cpu_seconds(pid: int) -> float:
    """Return the processor seconds of a process; NaN where they are not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- the clients


async def _drive(
    name: str,
    requests: list[bytes],
    texts: int,
    pid: int,
    address: tuple[str, int],
    args: argparse.Namespace,
) -> Load:
    """Ask over several connections, each one request after the other."""
    turns = itertools.cycle(requests)
    latencies: list[float] = []
    connections = [await asyncio.open_connection(*address) for _ in range(args.connections)]

    async def all_clients(seconds: float, kept: list[float]) -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(_client(*both, turns, until, kept) for both in connections))

    await all_clients(0.5, [])  # warm
    cpu, begin = _cpu_seconds(pid), time.perf_counter()
    await all_clients(args.seconds, latencies)
    seconds, cpu = time.perf_counter() - begin, _cpu_seconds(pid) - cpu
    for _, writer in connections:
        writer.close()
    return Load(name, texts, seconds, cpu, latencies)


async def _client(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    turns: Iterator[bytes],
    until: float,
    kept: list[float],
) -> None:
    while (begin := time.perf_counter()) < until:
        await _ask(reader, writer, next(turns))
        kept.append(time.perf_counter() - begin)


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    body = await reader.readexactly(int(length[1])) if length else b""
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"refused: {body!r}")
    return body


def _print_unread(address: tuple[str, int], texts: list[str], clients: int) -> None:
    """Print what others notice of clients that read nothing."""
    limits = Limits()
    large = _request({"texts": texts[: limits.max_texts], "k": 50, "explain": True})
    small = _request({"text": texts[0]}).replace(b"Host:", b"Connection: close\r\nHost:")
    size = asyncio.run(_size_of_answer(address, large))
    unread = Unread(address, large, clients)
    asyncio.run(unread.run(small, 6 * limits.answer_seconds))
    about = [("what", "measured"), ("large answer", f"{size / 1e6:.1f} MB")]
    print_columns([*about, *unread.rows(limits.answer_seconds)])


async def _size_of_answer(address: tuple[str, int], request: bytes) -> int:
    reader, writer = await asyncio.open_connection(*address)
    size = len(await _ask(reader, writer, request))
    writer.close()
    return size


# ---------------------------------------------------------------- where time goes


def _print_parts(model_path: Path, texts: list[str], loads: list[Load]) -> None:
    """Print the parts of one request, measured by themselves in this process."""
    from multimargin.serving._answers import Answers
    from multimargin.serving._build import served
    from multimargin.serving._question import Question, read_question

    kind = served(model_path)
    answers = Answers(kind)
    bodies = [json.dumps({"text": text, "explain": True}).encode() for text in texts]
    rows = [kind.features([text]) for text in texts]
    asked = [Question([text], "text", 5, False) for text in texts]
    asked_why = [Question([text], "text", 5, True) for text in texts]
    why = [answers.answer(question) for question in asked_why]

    def milliseconds(step: Callable[[Any], Any], items: list[Any]) -> float:
        begin = time.process_time()
        for item in items:
            step(item)
        return 1000 * (time.process_time() - begin) / len(items)

    read = milliseconds(lambda body: read_question(body, Limits(), kind, answers.n_classes), bodies)
    features = milliseconds(lambda text: kind.features([text]), texts)
    best = milliseconds(lambda row: answers._scores.top(row, 5), rows)
    plain = milliseconds(answers.answer, asked)
    explained = milliseconds(answers.answer, asked_why)
    encoded = milliseconds(json.dumps, why)
    parts = {
        "reading the question": read,
        "features of the text": features,
        "best of all classes": best,
        "labels": max(0.0, plain - features - best),
        "explanation": max(0.0, explained - plain),
        "JSON of the answer": encoded,
    }
    whole = 1000 * loads[2].cpu_seconds / len(loads[2].latencies)
    parts["HTTP and the event loop"] = whole - sum(parts.values())
    lines = [("where time goes", "ms"), *((name, f"{ms:.3f}") for name, ms in parts.items())]
    print_columns([*lines, ("all, one text with its explanation", f"{whole:.3f}")], frozenset({1}))


if __name__ == "__main__":
    run_command(main)
