"""All ranks of a run must have been given the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multimargin.parallel._agreement import allgather_value
from multimargin.parallel._communicator import Communicator

# How a run is carried out may differ between ranks; rank 0 draws the seed for all.
_OWN = ("n_jobs", "verbose", "random_state")


def parameters(estimator: Any) -> dict[str, str]:
    """The parameters of an estimator that have to be the same on all ranks, as text."""
    given = estimator.get_params(deep=False)
    return {name: repr(value) for name, value in sorted(given.items()) if name not in _OWN}


def require_same(comm: Communicator, values: Mapping[str, str]) -> None:
    """Raise ValueError, on all ranks, at the first value that a rank has otherwise than rank 0.

    Parameters
    ----------
    comm : Communicator
    values : dict of str to str
        By names that are shown to users; the same names on all ranks.
    """
    if comm.size == 1:
        return
    given = allgather_value(comm, dict(values))
    for rank, theirs in enumerate(given):
        for name, value in given[0].items():
            if theirs.get(name) != value:
                raise ValueError(
                    f"rank {rank} was given {name} {theirs.get(name)}, and rank 0 {value}: give "
                    "all ranks the same data and parameters"
                )
