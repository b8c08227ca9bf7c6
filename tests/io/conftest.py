"""Files of given bytes."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def data_file(tmp_path):
    """Write bytes to a file and return its path."""

    def write(content: bytes, name: str = "data.svm") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write
