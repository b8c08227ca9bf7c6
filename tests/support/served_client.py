"""Ask an application in this process, and check its answers against openapi.json."""

from __future__ import annotations

import warnings
from typing import Any

from multimargin.serving import Limits, create_app
from multimargin.serving._openapi import openapi_document
from tests.support.json_schema import errors

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP client than httpx
    from starlette.testclient import TestClient

DOCUMENT = openapi_document()


def client_of(model: Any, **options: Any) -> TestClient:
    """Return a client of an application for a model; no limit of its rate by default."""
    app = create_app(model, limits=options.pop("limits", Limits(rate=0)), **options)
    return TestClient(app, raise_server_exceptions=False)


def checked(response: Any, name: str, status: int = 200) -> Any:
    """Return the body, if it is as openapi.json says."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    schema = {"$ref": f"#/components/schemas/{name}"}
    assert errors(response.json(), schema, DOCUMENT) == []
    return response.json()


def ask(client: TestClient, status: int = 200, **question: Any) -> Any:
    """Post a question and return the checked answer."""
    name = "Answer" if status == 200 else "Error"
    return checked(client.post("/predict", json=question), name, status)
