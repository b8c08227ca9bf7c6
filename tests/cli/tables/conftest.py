"""A folder of tables, and one with a model trained on them."""

import pytest

from multimargin.cli import main
from tests.cli.tables.table_files import TRAIN, rows, write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", rows(60, 1))
    write(tmp_path / "test.csv", rows(30, 2))
    return tmp_path


@pytest.fixture
def trained(folder):
    assert main(TRAIN) == 0
    return folder
