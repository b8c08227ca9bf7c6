"""What all ranks must know alike: small facts, and whether something failed on any of them."""

from __future__ import annotations

import builtins
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._communicator import Communicator


def plain(value: object) -> Any:
    """For ``json.dumps(default=plain)``: NumPy's numbers are numbers, its arrays lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _encode(value: Any) -> list[NDArray[Any]]:
    return [np.frombuffer(json.dumps(value, default=plain).encode(), dtype=np.uint8)]


def _decode(message: list[NDArray[Any]]) -> Any:
    return json.loads(message[0].tobytes())


def broadcast_value(comm: Communicator, value: Any, root: int = 0) -> Any:
    """The JSON value of ``root``, on all ranks. What other ranks give is not looked at."""
    return _decode(comm.broadcast(_encode(value) if comm.rank == root else None, root))


def allgather_value(comm: Communicator, value: Any) -> list[Any]:
    """The JSON values of all ranks in their order, on all ranks."""
    return [_decode(message) for message in comm.allgather(_encode(value))]


@contextlib.contextmanager
def raise_on_all(comm: Communicator) -> Iterator[None]:
    """Do the block on every rank; if it failed on any, raise that error on all of them.

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
    """The same exception, or the nearest one that can be made from a message alone."""
    if "os" in failure:
        number, text, filename = failure["os"]
        return OSError(number, text) if filename is None else OSError(number, text, filename)
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
