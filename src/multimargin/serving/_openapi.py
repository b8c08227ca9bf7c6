"""``/openapi.json``: the endpoints, and the schemas of `_schema`, as OpenAPI 3.1."""

from __future__ import annotations

import typing
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from multimargin.serving import _schema as schema

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_REFUSALS = {
    400: "The body is not JSON in UTF-8, or the server is called by a name it does not know.",
    408: "The body did not arrive in time.",
    413: "The body, a text or the number of samples is too large.",
    415: "The body is not announced as application/json.",
    422: "JSON, but not a question: the message says what is wrong, and field where.",
    429: "Too many requests of one client; Retry-After says when to come back.",
    500: "The server could not answer; its log says why.",
    503: "Too many requests at the same time; Retry-After says when to come back.",
}
_EXAMPLE = {"text": "a stringed instrument that is played with a bow", "k": 2, "explain": True}


def openapi_document() -> dict[str, Any]:
    kinds = filter(typing.is_typeddict, vars(schema).values())
    schemas = {kind.__name__: _object(kind) for kind in kinds}
    schemas["Question"]["oneOf"] = [
        {"required": [member]} for member in ("text", "texts", "row", "rows")
    ]
    question = {"application/json": {"schema": _ref(schema.Question), "example": _EXAMPLE}}
    predict = _operation(
        "The best classes of texts or rows",
        schema.Answer,
        requestBody={"required": True, "content": question},
    )
    for status, text in _REFUSALS.items():
        predict["responses"][str(status)] = _response(text, schema.Error)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "multimargin serve",
            "version": "1",
            "description": "Classes of texts or rows, and why. The server's options set the "
            "limits; GET /model names them. Numbers are rounded to six digits after the point.",
        },
        "paths": {
            "/predict": {"post": predict},
            "/model": {"get": _operation("The model that is served", schema.Model)},
            "/health": {"get": _operation("Whether the server is up", schema.Health)},
        },
        "components": {"schemas": schemas},
    }


def _operation(summary: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"summary": summary, **more, "responses": {"200": _response(kind.__doc__, kind)}}


def _response(description: str, kind: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ref(kind)}}}


def _ref(kind: Any) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _object(kind: Any) -> dict[str, Any]:
    members = typing.get_type_hints(kind, include_extras=True)
    required = [name for name in members if name in kind.__required_keys__]
    return {
        "type": "object",
        "description": kind.__doc__,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        "properties": {name: _schema(member) for name, member in members.items()},
    }


def _schema(kind: Any) -> dict[str, Any]:
    if typing.is_typeddict(kind):
        return _ref(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        found = _schema(arguments[0])
        for note in kind.__metadata__:
            found.update({"description": note} if isinstance(note, str) else note)
        return found
    if origin is typing.NotRequired:
        return _schema(arguments[0])
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:  # of members of one type
        count = {"minItems": len(arguments), "maxItems": len(arguments)}
        return {"type": "array", **count, "items": _schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if origin in (typing.Union, UnionType):
        if all(part in _TYPES for part in arguments):
            return {"type": [_TYPES[part] for part in arguments]}
        return {"oneOf": [_schema(part) for part in arguments]}
    return {"type": _TYPES[kind]}
