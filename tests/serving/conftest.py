"""A small text model, in memory, in a file and behind a client; and a browser."""

from __future__ import annotations

import pytest

from multimargin import save_model
from tests.support.served import small_model


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "things.model"
    save_model(small_model(sparse_coef=True), path)
    return path


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def client(model):
    from tests.support.served_client import client_of

    return client_of(model, name="things", examples=["a dog"])


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    from tests.support.chromium import chromium, why_not

    found = chromium()
    if found is None:
        pytest.skip(why_not())
    with sync_playwright() as library:
        launched = library.chromium.launch(**found)
        yield launched
        launched.close()
