"""As much of JSON Schema as ``openapi.json`` uses; an unknown keyword is an error."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_KNOWN = {
    *("$ref", "type", "enum", "minimum", "items", "minItems", "maxItems"),
    *("properties", "required", "additionalProperties", "oneOf", "description", "default"),
}


def errors(
    value: Any, schema: dict[str, Any], document: dict[str, Any], at: str = "$"
) -> list[str]:
    """What is wrong with a value, one line each."""
    unknown = set(schema) - _KNOWN
    assert not unknown, f"{at}: this check does not know {unknown}"
    if "$ref" in schema:
        place: Any = document
        for name in schema["$ref"].removeprefix("#/").split("/"):
            place = place[name]
        return errors(value, place, document, at)
    found = []
    kinds = schema.get("type", list(_TYPES))
    if not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{at}: {value!r} is not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{at}: {value!r} is below {schema['minimum']}")
    if isinstance(value, list):
        found += _array(value, schema, document, at)
    if isinstance(value, dict):
        found += _object(value, schema, document, at)
    if "oneOf" in schema:
        fitting = [part for part in schema["oneOf"] if not errors(value, part, document, at)]
        found += [] if len(fitting) == 1 else [f"{at}: fits {len(fitting)} of oneOf"]
    return found


def _is(value: Any, kind: str) -> bool:
    # True is an int in Python, and no number in JSON.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _array(
    value: list[Any], schema: dict[str, Any], document: dict[str, Any], at: str
) -> list[str]:
    found = []
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        found.append(f"{at}: {len(value)} items")
    for place, item in enumerate(value):
        found += errors(item, schema.get("items", {}), document, f"{at}[{place}]")
    return found


def _object(
    value: dict[str, Any], schema: dict[str, Any], document: dict[str, Any], at: str
) -> list[str]:
    found = [f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value]
    members = schema.get("properties", {})
    for name, member in value.items():
        if name in members:
            found += errors(member, members[name], document, f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            found.append(f"{at}: {name} is not known")
        elif isinstance(schema.get("additionalProperties"), dict):
            found += errors(member, schema["additionalProperties"], document, f"{at}.{name}")
    return found
