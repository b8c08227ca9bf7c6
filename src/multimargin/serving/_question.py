"""The body of a request to ``/predict``, read strictly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from multimargin.serving._errors import RequestError, shown
from multimargin.serving._limits import Limits

_MEMBERS = ("text", "texts", "k", "explain", "against")
_DEFAULT_K = 5


@dataclass(frozen=True)
class Question:
    """What is asked: the best `k` classes of each text, and why.

    ``against`` is the label of the class to compare the best one with; None is the runner-up.
    """

    texts: list[str]
    k: int
    explain: bool
    against: Any = None


def read_question(body: bytes, limits: Limits, n_classes: int) -> Question:
    """Read and check the body of a request.

    Raises
    ------
    RequestError
        400 for what is no JSON, 413 for too many or too long texts, 422 for the rest.
    """
    members = _json_object(body)
    for name in members:
        if name not in _MEMBERS:
            _wrong(name, f"{shown(name)} is not known; there are {', '.join(_MEMBERS)}")
    explain = members.get("explain", False)
    if not isinstance(explain, bool):
        _wrong("explain", f"explain must be true or false: {shown(explain)}")
    against = members.get("against")
    if against is not None and not explain:
        _wrong("against", 'against is for explanations: ask with "explain": true')
    if not isinstance(against, str | int | float | None):
        _wrong("against", f"against must be the label of a class: {shown(against)}")
    return Question(_texts(members, limits), _k(members, limits, n_classes), explain, against)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        # json.loads would take UTF-16 and UTF-32 as well; JSON on the web is UTF-8.
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RequestError(
            400, "invalid_utf8", f"the body is not UTF-8: byte {error.start} cannot be read"
        ) from None
    except RecursionError:
        raise RequestError(400, "invalid_json", "the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise RequestError(
            400,
            "invalid_json",
            f"the body is not JSON: {error.msg}, line {error.lineno} column {error.colno}",
        ) from None
    except ValueError:  # a whole number of thousands of digits
        raise RequestError(400, "invalid_json", "the body has a number that is too long") from None
    if not isinstance(found, dict):
        _wrong(None, 'the body must be a JSON object such as {"text": "a small dog"}')
    return found


def _no_constant(name: str) -> NoReturn:
    raise RequestError(400, "invalid_json", f"the body is not JSON: {name} is not a number in JSON")


def _texts(members: dict[str, Any], limits: Limits) -> list[str]:
    if ("text" in members) == ("texts" in members):
        _wrong(None, 'the body must have either "text", a string, or "texts", an array of strings')
    if "text" in members:
        return [_text(members["text"], "text", limits)]
    texts = members["texts"]
    if not isinstance(texts, list):
        _wrong("texts", f"texts must be an array of strings: {shown(texts)}")
    if len(texts) > limits.max_texts:
        raise RequestError(
            413,
            "too_many_texts",
            f"{len(texts):,} texts; at most {limits.max_texts:,} can be asked in one request",
            field="texts",
        )
    return [_text(text, f"texts[{number}]", limits) for number, text in enumerate(texts)]


def _text(text: Any, field: str, limits: Limits) -> str:
    if not isinstance(text, str):
        _wrong(field, f"{field} must be a string: {shown(text)}")
    if len(text) > limits.max_chars:
        raise RequestError(
            413,
            "text_too_long",
            f"{field} has {len(text):,} characters; at most {limits.max_chars:,} are read",
            field=field,
        )
    # JSON can hold halves of characters, which are no text to anything behind this.
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _k(members: dict[str, Any], limits: Limits, n_classes: int) -> int:
    most = min(limits.max_k, n_classes)
    k = members.get("k", min(_DEFAULT_K, most))
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= most:
        _wrong("k", f"k must be a whole number from 1 to {most}: {shown(k)}")
    return k


def _wrong(field: str | None, message: str) -> NoReturn:
    raise RequestError(422, "invalid_request", message, field=field)
