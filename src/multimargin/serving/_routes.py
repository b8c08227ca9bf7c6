"""The paths of the server: the page, the JSON endpoints and their description.

Imports Starlette, so `_build` and `_server` import this late.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Collection
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from multimargin.serving import _schema as schema
from multimargin.serving._answers import Answers
from multimargin.serving._errors import RequestError
from multimargin.serving._guard import HEADERS, Guard
from multimargin.serving._limits import Limits
from multimargin.serving._openapi import openapi_document
from multimargin.serving._question import Question, read_body, read_question

_JSON = "application/json"
# Files of the package by path: nothing else is sent.
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("page", "answer", "elements", "marks", "samples")
    },
}
# Questions up to this size take some milliseconds and are answered between others; larger ones in
# threads beside them.
_FEW_SAMPLES = 4
_FEW_BYTES = 5_000
_BIG_REQUESTS = 2
_PATHS = "/, /predict, /model, /health, /openapi.json"
_NO_STORE = {"cache-control": "no-store"}
# Asked for again each time, so that the page never meets the script of another version.
_NO_CACHE = {"cache-control": "no-cache"}


class _Predict:
    def __init__(self, answers: Answers, limits: Limits) -> None:
        self._answers = answers
        self._limits = limits
        # A text has ten times as many features of characters as of words.
        by_characters = answers.kind.analyzer not in (None, "word")
        self._few_bytes = _FEW_BYTES // 10 if by_characters else _FEW_BYTES
        self._pool = ThreadPoolExecutor(_BIG_REQUESTS, "multimargin-serve")

    async def answer(self, request: Any) -> Response:
        body = await read_body(request, self._limits)
        kind = self._answers.kind
        question = read_question(body, self._limits, kind, self._answers.n_classes)
        if len(question.samples) <= _FEW_SAMPLES and len(body) <= self._few_bytes:
            return self._response(question)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._response, question)

    def _response(self, question: Question) -> Response:
        answer = self._answers.answer(question)
        body = json.dumps(answer, separators=(",", ":"), allow_nan=False)
        return Response(body, headers=_NO_STORE, media_type=_JSON)


def build(
    answers: Answers,
    about: schema.Model,
    limits: Limits,
    hosts: Collection[str] | None,
    parent: int | None = None,
) -> Starlette:
    """Return the ASGI application.

    ``about`` is the answer of ``/model``, ``hosts`` are for the `Guard`, and this process ends with
    the process ``parent``.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        watch = None if parent is None else asyncio.create_task(_end_with(parent))
        yield
        if watch is not None:
            watch.cancel()

    described = json.dumps(openapi_document(), indent=2)
    fixed = {
        "/model": Response(json.dumps(about, allow_nan=False), 200, _NO_STORE, _JSON),
        "/health": Response(b'{"status": "ok"}', 200, _NO_STORE, _JSON),
        "/openapi.json": Response(described, 200, _NO_CACHE, _JSON),
    }
    page = files("multimargin.serving") / "page"
    for path, (name, media_type) in _FILES.items():
        fixed[path] = Response((page / name).read_bytes(), 200, _NO_CACHE, media_type)
    predict = _Predict(answers, limits)
    app = Starlette(
        routes=[
            Route("/predict", predict.answer, methods=["POST"]),
            *(Route(path, response, methods=["GET"]) for path, response in fixed.items()),
        ],
        middleware=[Middleware(Guard, limits=limits, hosts=hosts)],
        exception_handlers={
            RequestError: _refused,
            HTTPException: _no_such_thing,
            Exception: _failed,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # "/model/" is not found, rather than sent to "/model"
    return app


async def _refused(_request: Any, error: Any) -> Any:
    return error.response()


async def _no_such_thing(request: Any, error: Any) -> Response:
    """Answer for what Starlette refuses: unknown paths and methods."""
    status = int(error.status_code)
    if status == 405:
        allowed = (error.headers or {}).get("Allow", "")
        text = f"{request.method} is not possible here; {allowed or 'another method'} is"
        code = "method_not_allowed"
    elif status == 404:
        code, text = "not_found", f"there is nothing here; there are {_PATHS}"
    else:
        code, text = "refused", str(error.detail)
    return RequestError(status, code, text, headers=error.headers).response()


async def _failed(_request: Any, error: Exception) -> Response:
    logging.getLogger("uvicorn.error").debug("request failed", exc_info=error)
    text = "the server could not answer this; its log says why"
    # Starlette answers these outside of the guard, which adds its headers to all others.
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    return RequestError(500, "internal_error", text, headers=headers).response()


async def _end_with(parent: int) -> None:
    """End this process when its parent is gone; nobody else would."""
    while os.getppid() == parent:
        await asyncio.sleep(1)
    signal.raise_signal(signal.SIGTERM)
