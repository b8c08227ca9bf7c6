"""Read a question: the body of a request within bytes and seconds, its members strictly."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect

from multimargin.serving import _schema as schema
from multimargin.serving._errors import RequestError, shown
from multimargin.serving._limits import Limits
from multimargin.serving.samples import SampleKind
from multimargin.serving.samples._kind import wrong

_MEMBERS = tuple(schema.Question.__annotations__)
# The rest of the body is not read, so nothing can follow it.
_CLOSE = {"connection": "close"}


@dataclass(frozen=True)
class Question:
    """A checked `schema.Question`: the best `k` classes of each sample, and why.

    ``member`` is where the samples stood in it. ``against`` is the label of the class to compare
    the best one with; None is the runner-up.
    """

    samples: list[Any]
    member: str
    k: int
    explain: bool
    against: Any = None

    def field(self, place: int) -> str:
        """Return what messages call a sample."""
        return f"{self.member}[{place}]" if self.member.endswith("s") else self.member


async def read_body(request: Any, limits: Limits) -> bytes:
    """Read the body of a Starlette request.

    Its bytes are counted as they arrive: the announced length may be missing or wrong.
    Raises a RequestError of status 408, 413 or 415.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # Keeps pages of other sites from asking, too: they can send forms, but not JSON.
        raise RequestError(
            415, "not_json", "the body must be JSON: send 'Content-Type: application/json'"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(415, "compressed", "send the body as it is, without Content-Encoding")
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > limits.max_bytes:
        raise _too_large(limits)
    body = bytearray()  # not a list: a body can come in as many parts as it has bytes
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                body += part
                if len(body) > limits.max_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        text = f"the body did not arrive within {limits.body_seconds:g} s"
        raise RequestError(408, "too_slow", text, headers=_CLOSE) from None
    except ClientDisconnect:
        raise RequestError(400, "gone", "the client went away") from None  # nobody reads this
    return bytes(body)


def read_question(body: bytes, limits: Limits, kind: SampleKind, n_classes: int) -> Question:
    """Read and check the members of a question.

    Raises a RequestError: 400 if the body is not JSON, 413 for too many samples or too long texts,
    or 422.
    """
    members = _json_object(body)
    for name in members:
        if name not in _MEMBERS:
            wrong(name, f"{shown(name)} is not known; there are {', '.join(_MEMBERS)}")
    explain = members.get("explain", False)
    if not isinstance(explain, bool):
        wrong("explain", f"explain must be true or false: {shown(explain)}")
    against = members.get("against")
    if against is not None and not explain:
        wrong("against", 'against is for explanations: ask with "explain": true')
    if not isinstance(against, str | int | float | None):
        wrong("against", f"against must be the label of a class: {shown(against)}")
    member = _member(members, kind)
    samples = _samples(members[member], member, kind, limits)
    return Question(samples, member, _k(members, limits, n_classes), explain, against)


def _too_large(limits: Limits) -> RequestError:
    text = f"the body is larger than {limits.max_bytes:,} bytes, the most that is read; "
    text += "ask in several requests"
    return RequestError(413, "body_too_large", text, headers=_CLOSE)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        # json.loads would take UTF-16 and UTF-32 as well; JSON on the web is UTF-8.
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        text = f"the body is not UTF-8: byte {error.start} cannot be read"
        raise RequestError(400, "invalid_utf8", text) from None
    except RecursionError:
        raise _invalid("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise _invalid(f"the body is not JSON: {error.msg}, {where}") from None
    except ValueError:  # a whole number of thousands of digits
        raise _invalid("the body has a number that is too long") from None
    if not isinstance(found, dict):
        wrong(None, 'the body must be a JSON object: {"text": "a small dog"} or {"row": [0.5, 2]}')
    return found


def _no_constant(name: str) -> NoReturn:
    raise _invalid(f"the body is not JSON: {name} is not a number in JSON")


def _invalid(message: str) -> RequestError:
    return RequestError(400, "invalid_json", message)


def _member(members: dict[str, Any], kind: SampleKind) -> str:
    there = [name for name in ("text", "texts", "row", "rows") if name in members]
    if len(there) != 1 or there[0] not in (kind.takes, kind.many):
        what, several = ("a string", "strings") if kind.takes == "text" else ("a row", "rows")
        wrong(
            there[0] if len(there) == 1 else None,
            f'the body must have either "{kind.takes}", {what}, or "{kind.many}", an array of '
            f"{several}; GET /model describes what this model takes",
        )
    return there[0]


def _samples(given: Any, member: str, kind: SampleKind, limits: Limits) -> list[Any]:
    if member == kind.takes:
        return [kind.checked(given, member, limits)]
    if not isinstance(given, list):
        several = "strings" if kind.takes == "text" else "rows"
        wrong(member, f"{member} must be an array of {several}: {shown(given)}")
    if len(given) > limits.max_texts:
        text = f"{len(given):,} {member}; at most {limits.max_texts:,} can be asked in one request"
        raise RequestError(413, f"too_many_{member}", text, member)
    return [kind.checked(one, f"{member}[{n}]", limits) for n, one in enumerate(given)]


def _k(members: dict[str, Any], limits: Limits, n_classes: int) -> int:
    most = min(limits.max_k, n_classes)
    k = members.get("k", min(schema.DEFAULT_K, most))
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= most:
        wrong("k", f"k must be a whole number from 1 to {most}: {shown(k)}")
    return k
