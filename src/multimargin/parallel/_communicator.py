"""Communicator: the messages between ranks, under MPI's names. Solvers see nothing else of MPI.

A message is a list of arrays: any number, any shapes, any plain types. Results must not depend on
the number of ranks, so the network never adds floating-point numbers: `sum_parts` adds them in the
order of their parts.
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
    """A message that is being sent."""

    def wait(self) -> None:
        """Return once its arrays may be changed again."""


class Communicator(ABC):
    """The ranks of a run. All methods but `send`, `receive` and `abort` are called by all ranks."""

    rank: int  # the number of this one
    size: int  # p below
    bytes_sent: int  # to other ranks so far, collective calls included

    @property
    @abstractmethod
    def host(self) -> Communicator:
        """The ranks that run on this host."""

    @property
    @abstractmethod
    def first_of_hosts(self) -> Communicator | None:
        """The ranks that are the first of their hosts; None on the others."""

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
        """Return the message of ``root`` on all ranks. A binary tree: log2(p) steps."""

    @abstractmethod
    def allgather(self, message: Message) -> list[list[NDArray[Any]]]:
        """Return the messages of all ranks, on all ranks. Each rank sends p - 1 messages."""

    @abstractmethod
    def alltoall(self, messages: Sequence[Message]) -> list[list[NDArray[Any]]]:
        """Send ``messages[r]`` to rank r; return the messages to this one. p - 1 messages each."""

    @abstractmethod
    def allreduce(self, values: NDArray[Any], how: Literal["max", "min", "sum"]) -> NDArray[Any]:
        """Reduce elementwise on all ranks; sums of integers only. Two trees: 2 log2(p) steps."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until all ranks are here."""

    @abstractmethod
    def abort(self, status: int = 1) -> NoReturn:
        """End all ranks at once."""

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise ValueError(f"there is no rank {rank} among {self.size}")


class _Sent:
    def wait(self) -> None:
        pass


class SerialCommunicator(Communicator):
    """A single rank, which receives its own messages."""

    def __init__(self) -> None:
        self.rank, self.size, self.bytes_sent = 0, 1, 0
        self._sent: list[list[NDArray[Any]]] = []

    @property
    def host(self) -> Communicator:
        return self

    @property
    def first_of_hosts(self) -> Communicator:
        return self

    def send(self, message: Message, to: int) -> Sending:
        self._check_rank(to)
        self._sent.append([array.copy() for array in message])
        return _Sent()

    def receive(self, source: int) -> list[NDArray[Any]]:
        self._check_rank(source)
        if not self._sent:
            raise RuntimeError("receive was called before send, and there is no other rank")
        return self._sent.pop(0)

    def broadcast(self, message: Message | None, root: int = 0) -> list[NDArray[Any]]:
        self._check_rank(root)
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


def check_reduction(values: NDArray[Any], how: str) -> None:
    """Refuse reductions whose result would depend on the number of ranks."""
    if how not in ("max", "min", "sum"):
        raise ValueError(f"how must be 'max', 'min' or 'sum', got {how!r}")
    if how == "sum" and not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"a sum of {values.dtype} depends on the order; use sum_parts")
