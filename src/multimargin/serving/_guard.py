"""Checks that every request passes first: host, rate, how many at once. Adds security headers."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multimargin.serving._errors import RequestError
from multimargin.serving._limits import HOST_NAME, Limits, RateLimit

# The page needs its own style, script and icon, and asks this server alone.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]

_HOST = re.compile(rf"({HOST_NAME.pattern})(?::\d+)?")


class Guard:
    """ASGI middleware around the whole application.

    ``hosts`` are the names by which the server may be called, lower case and without port; None is
    any. A page from elsewhere can let its own name point to this machine, and so reach a server
    that only this machine can reach; its requests carry that name.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Collection[str] | None = None) -> None:
        self._app = app
        self._limits = limits
        self._hosts = None if hosts is None else frozenset(hosts)
        self._rate = RateLimit(limits.rate)
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._admit(scope)
        except RequestError as error:
            await error.response()(scope, receive, send_with_headers)
            return
        self._active += 1
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._active -= 1

    def _admit(self, scope: Scope) -> None:
        if self._hosts is not None:
            self._check_host(scope)
        seconds = self._rate.wait(scope["client"][0] if scope.get("client") else "")
        if seconds > 0:
            wait = str(math.ceil(seconds))
            text = f"more than {self._limits.rate:g} requests a second; ask again in {wait} s"
            raise RequestError(429, "too_many_requests", text, headers={"retry-after": wait})
        # A busy server is when its health matters most.
        if self._active >= self._limits.concurrency and scope["path"] != "/health":
            text = f"{self._active} requests are being answered, which is the most; ask again soon"
            raise RequestError(503, "busy", text, headers={"retry-after": "1"})

    def _check_host(self, scope: Scope) -> None:
        values = [value for name, value in scope["headers"] if name == b"host"]
        match = _HOST.fullmatch(values[0].decode("latin-1").lower()) if len(values) == 1 else None
        if match is None or match[1] not in (self._hosts or ()):
            text = "this server is not called by that name; "
            text += "'multimargin serve --allow-host NAME' adds one"
            raise RequestError(400, "unknown_host", text)
