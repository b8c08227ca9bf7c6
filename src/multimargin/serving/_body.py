"""The body of a request, within bytes and seconds."""

from __future__ import annotations

import asyncio
from typing import Any

from multimargin.serving._errors import RequestError
from multimargin.serving._limits import Limits

# What is left of the body is not read, so nothing can follow it.
_CLOSE = {"connection": "close"}


async def read_body(request: Any, limits: Limits) -> bytes:
    """Read the body of a Starlette request.

    Its length is counted as it arrives: what a client announces may be missing or wrong.

    Raises
    ------
    RequestError
        408, 413 or 415.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # Also what keeps other sites' pages from asking: they can send forms, but not JSON.
        raise RequestError(
            415, "not_json", "the body must be JSON: send 'Content-Type: application/json'"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(415, "compressed", "send the body as it is, without Content-Encoding")
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > limits.max_bytes:
        raise _too_large(limits)
    from starlette.requests import ClientDisconnect

    body = bytearray()  # in one piece: a body can come in as many parts as it has bytes
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                body += part
                if len(body) > limits.max_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise RequestError(
            408,
            "too_slow",
            f"the body did not arrive within {limits.body_seconds:g} s",
            headers=_CLOSE,
        ) from None
    except ClientDisconnect:
        raise RequestError(400, "gone", "the client went away") from None  # nobody reads this
    return bytes(body)


def _too_large(limits: Limits) -> RequestError:
    return RequestError(
        413,
        "body_too_large",
        f"the body is larger than {limits.max_bytes:,} bytes, the most that is read; "
        "ask in several requests",
        headers=_CLOSE,
    )
