"""Collective calls on values: made by all ranks, with results that do not depend on their number.

Costs are for p ranks; `Communicator` has the steps of each call.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided


def plain(value: object) -> Any:
    """For ``json.dumps(default=plain)``: NumPy's numbers are numbers, its arrays lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _encode(value: Any) -> list[NDArray[Any]]:
    return [np.frombuffer(json.dumps(value, default=plain).encode(), dtype=np.uint8)]


def _decode(message: list[NDArray[Any]]) -> Any:
    return json.loads(message[0].tobytes())


def broadcast_value(comm: Communicator, value: Any, root: int = 0) -> Any:
    """Return the JSON value of ``root``; other ranks' values are ignored. Cost: one broadcast."""
    return _decode(comm.broadcast(_encode(value) if comm.rank == root else None, root))


def allgather_value(comm: Communicator, value: Any) -> list[Any]:
    """Return the JSON values of all ranks in their order. Cost: one allgather."""
    return [_decode(message) for message in comm.allgather(_encode(value))]


@contextlib.contextmanager
def raise_on_all(comm: Communicator) -> Iterator[None]:
    """Do the block on every rank; if it failed on any, raise that error on all. One allgather.

    Without it one rank would leave with its exception while the others wait for it for ever.
    The block must not talk to other ranks: those that failed would not be there to answer.
    """
    error: Exception | None = None
    try:
        yield
    except Exception as caught:  # every kind must reach the other ranks
        error = caught
    failures = allgather_value(comm, None if error is None else _describe(error))
    for rank, failure in enumerate(failures):
        if failure is None:
            continue
        if rank == comm.rank and error is not None:
            raise error
        raised = _rebuild(failure)
        raised.add_note(f"(raised on rank {rank} of {comm.size})")
        raise raised from None


def _describe(error: Exception) -> dict[str, Any]:
    described: dict[str, Any] = {
        "module": type(error).__module__,
        "name": type(error).__qualname__,
        "base": next((b.__name__ for b in (OSError, ValueError) if isinstance(error, b)), None),
        "message": str(error),
    }
    if isinstance(error, OSError) and error.errno is not None:
        filename = error.filename
        described["os"] = [error.errno, error.strerror, None if filename is None else str(filename)]
    return described


def _rebuild(failure: dict[str, Any]) -> Exception:
    """Return the same exception, or the nearest one that can be made from a message alone."""
    if "os" in failure:
        return OSError(*failure["os"])
    # All ranks run the same program, so the class is here too if it has been imported.
    known = getattr(sys.modules.get(failure["module"]), failure["name"], None)
    # Some, such as UnicodeDecodeError, want more than a message.
    if isinstance(known, type) and issubclass(known, Exception):
        with contextlib.suppress(Exception):
            rebuilt = known(failure["message"])
            if str(rebuilt) == failure["message"]:
                return rebuilt
    if failure["base"] is not None:
        base: type[Exception] = getattr(builtins, failure["base"])
        return base(failure["message"])
    return RuntimeError(f"{failure['name']}: {failure['message']}")


def require_same(comm: Communicator, values: Mapping[str, str]) -> None:
    """Raise ValueError at the first value that a rank has otherwise than rank 0. One allgather.

    The names are shown to users, and are the same on all ranks.
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


def sum_parts(
    comm: Communicator, parts: Mapping[int, NDArray[Any]], length: int, dtype: DTypeLike
) -> NDArray[Any]:
    """Add up the vectors of all ranks in the order of their numbers, which are all different.

    Every rank adds one stretch of the vectors: an alltoall brings each number there once, and an
    allgather each sum back once.
    """
    numbers = np.array(sorted(parts), dtype=np.int64)
    cut = divided(length, comm.size)
    outgoing = [
        [numbers, *(np.ascontiguousarray(parts[int(k)][a:b], dtype=dtype) for k in numbers)]
        for a, b in itertools.pairwise(cut)
    ]
    stretches = {
        int(number): piece
        for held, *pieces in comm.alltoall(outgoing)
        for number, piece in zip(held, pieces, strict=True)
    }
    total = np.zeros(cut[comm.rank + 1] - cut[comm.rank], dtype=dtype)
    for number in sorted(stretches):
        total += stretches[number]
    return np.concatenate([piece for (piece,) in comm.allgather([total])])
