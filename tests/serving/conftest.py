"""A small text model, in memory, in a file and behind a client."""

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
