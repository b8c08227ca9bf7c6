"""Requests that are refused: a status, a name for programs and a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multimargin.serving._schema import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response


@dataclass(eq=False)
class RequestError(Exception):
    """A request that is refused.

    ``code`` is for programs; ``message`` tells people what is wrong, what is allowed and what to
    do. ``field`` is the member of the request that is wrong, ``headers`` are more headers of the
    answer.
    """

    status: int
    code: str
    message: str
    field: str | None = None
    headers: Mapping[str, str] | None = None

    def response(self) -> Response:
        """Return the answer to the request."""
        from starlette.responses import Response

        error: Refusal = {"status": self.status, "code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        headers = {"cache-control": "no-store", **(self.headers or {})}
        return Response(json.dumps({"error": error}), self.status, headers, "application/json")


def shown(value: object, most: int = 60) -> str:
    """Return a value out of a request, short enough for a message."""
    if isinstance(value, list | dict):  # can be nested too deeply to be written
        return "an array" if isinstance(value, list) else "an object"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
