"""An error on one rank is raised on all."""

from __future__ import annotations

import errno
import json

import pytest

from multimargin.parallel._collectives import raise_on_all
from tests.support.rank_threads import run_ranks


class OddError(ValueError):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad"), ValueError),
        (FileNotFoundError(errno.ENOENT, "not there", "x"), FileNotFoundError),
        (OSError("no number"), OSError),
        (json.JSONDecodeError("odd", "{", 1), ValueError),
        (OddError(1, 2), ValueError),
        (KeyError("name"), RuntimeError),
    ],
)
def test_one_error_is_everyones(error, kind):
    def work(comm):
        with pytest.raises(Exception) as caught, raise_on_all(comm):
            if comm.rank == 1:
                raise error
        return caught.value

    raised = run_ranks(3, work)
    assert raised[1] is error
    for other in (raised[0], raised[2]):
        assert isinstance(other, kind)
        assert str(error) in str(other)
        assert other.__notes__ == ["(raised on rank 1 of 3)"]
