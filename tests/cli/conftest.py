"""A folder of LIBSVM text, and one with a model trained on it."""

import pytest

from multimargin.cli import main
from tests.cli.commands import samples


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text(samples(120, 1, [3, 5, 7, 9]))
    (tmp_path / "test.svm").write_text(samples(40, 2, [3, 5, 7, 9]))
    return tmp_path


@pytest.fixture
def trained(folder):
    assert main(["train", "train.svm", "m", "--quiet", "--threads", "1"]) == 0
    return folder
