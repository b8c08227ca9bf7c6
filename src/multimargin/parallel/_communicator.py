"""Ranks that work on one problem together, and how they talk. Solvers know nothing else of it.

A message is a list of arrays: any number, any shapes, any plain types. What the ranks compute must
not depend on how many they are, so floating-point sums are never left to the network: they are
added in the order of their parts (`multimargin.parallel._reduction`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

Message = Sequence[NDArray[Any]]


class Sending(Protocol):
    """A message on its way."""

    def wait(self) -> None:
        """Return when its arrays may be changed again."""


class Communicator(ABC):
    """The ranks of a run. All methods but `send`, `receive` and `abort` are called by all ranks.

    Attributes
    ----------
    rank, size : int
        Which one this is, and of how many.
    bytes_sent : int
        To other ranks, point to point and in collective calls, so far.
    """

    rank: int
    size: int
    bytes_sent: int

    @property
    @abstractmethod
    def host(self) -> Communicator:
        """The ranks that run on this host."""

    @abstractmethod
    def send(self, message: Message, to: int) -> Sending:
        """Begin to send; the arrays must stay as they are until `Sending.wait` has returned.

        Messages between two ranks arrive in the order in which they were sent.
        """

    @abstractmethod
    def receive(self, source: int) -> list[NDArray[Any]]:
        """Wait for the next message of a rank."""

    @abstractmethod
    def broadcast(self, message: Message | None, root: int = 0) -> list[NDArray[Any]]:
        """The message of ``root``, on all ranks."""

    @abstractmethod
    def allgather(self, message: Message) -> list[list[NDArray[Any]]]:
        """The messages of all ranks, on all ranks."""

    @abstractmethod
    def alltoall(self, messages: Sequence[Message]) -> list[list[NDArray[Any]]]:
        """Give every rank the message meant for it, and return those of all ranks for this one."""

    @abstractmethod
    def allreduce(self, values: NDArray[Any], how: Literal["max", "min", "sum"]) -> NDArray[Any]:
        """Elementwise, on all ranks. Sums are for integers only, whose order does not matter."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until all ranks are here."""

    @abstractmethod
    def abort(self, status: int = 1) -> NoReturn:
        """End all ranks at once."""


class _Sent:
    def wait(self) -> None:
        pass


class SerialCommunicator(Communicator):
    """One rank by itself: what it says, it hears."""

    def __init__(self) -> None:
        self.rank, self.size, self.bytes_sent = 0, 1, 0
        self._on_the_way: list[list[NDArray[Any]]] = []

    @property
    def host(self) -> Communicator:
        return self

    def send(self, message: Message, to: int) -> Sending:
        _check_rank(self, to)
        self._on_the_way.append([array.copy() for array in message])
        return _Sent()

    def receive(self, source: int) -> list[NDArray[Any]]:
        _check_rank(self, source)
        if not self._on_the_way:
            raise RuntimeError("nothing was sent, and nobody else is there to send it")
        return self._on_the_way.pop(0)

    def broadcast(self, message: Message | None, root: int = 0) -> list[NDArray[Any]]:
        _check_rank(self, root)
        if message is None:
            raise ValueError("the root of a broadcast needs a message")
        return list(message)

    def allgather(self, message: Message) -> list[list[NDArray[Any]]]:
        return [list(message)]

    def alltoall(self, messages: Sequence[Message]) -> list[list[NDArray[Any]]]:
        if len(messages) != 1:
            raise ValueError(f"one rank exchanges one message, got {len(messages)}")
        return [list(messages[0])]

    def allreduce(self, values: NDArray[Any], how: Literal["max", "min", "sum"]) -> NDArray[Any]:
        check_reduction(values, how)
        return values.copy()

    def barrier(self) -> None:
        pass

    def abort(self, status: int = 1) -> NoReturn:
        os._exit(status)


def _check_rank(comm: Communicator, rank: int) -> None:
    if not 0 <= rank < comm.size:
        raise ValueError(f"there is no rank {rank} among {comm.size}")


def check_reduction(values: NDArray[Any], how: str) -> None:
    """Refuse what would depend on the number of ranks."""
    if how not in ("max", "min", "sum"):
        raise ValueError(f"how must be 'max', 'min' or 'sum', got {how!r}")
    if how == "sum" and not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"a sum of {values.dtype} depends on the order; use sum_parts")
