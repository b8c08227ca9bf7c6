"""A communicator over mpi4py: ranks are processes, on one host or many.

Nothing is pickled. A message is one envelope (types, shapes and the small arrays) and, for each
large array, its memory in pieces, so that MPI's 32-bit counts never overflow. Everything is sent
point to point: the count of bytes is exact, and only one algorithm has to be right on every MPI
library.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import struct
import sys
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from multimargin.parallel._communicator import (
    Communicator,
    Message,
    Sending,
    SerialCommunicator,
    check_reduction,
)
from multimargin.parallel._host_watch import watch_hosts
from multimargin.parallel._launch import end_all_when_uncaught, say, wait_for_rank_0
from multimargin.parallel._launcher import launched_size, under_mpi

if TYPE_CHECKING:
    from mpi4py import MPI

_CHUNK = 1 << 29  # bytes; half of the 1 GiB below which every MPI library is at ease
_INLINE = 1 << 16  # bytes of small arrays that travel within the envelope
_ENVELOPE, _PIECE = 1, 2  # tags
_PREFIX = struct.Struct("<qq")  # of an envelope: its kind, and the bytes of types and shapes
# Kinds: of `send`, of the calls that all ranks make, and the last message of a rank that ends.
_OWN, _SHARED, _BYE = 0, 1, 2
_COMBINE = {"max": np.maximum, "min": np.minimum, "sum": np.add}


@functools.cache
def world() -> Communicator:
    """Return the communicator of all ranks; a serial one if no MPI launcher started the process.

    Called by all ranks. From then on an uncaught exception ends all of them, and so does a host
    that no longer answers.
    """
    if not under_mpi():
        return SerialCommunicator()
    try:
        mpi = _import_mpi()
    except (ImportError, RuntimeError) as error:
        if launched_size() == 1:
            return SerialCommunicator()
        raise RuntimeError(
            "this process was started by an MPI launcher, but mpi4py cannot be used "
            f'({" ".join(str(error).split())}); install it: pip install "multimargin[mpi]", or '
            "pip install mpi4py to use the MPI library that this host already has"
        ) from None
    comm = MpiCommunicator(mpi.COMM_WORLD)
    started = launched_size()
    if started is not None and started != comm.size:
        library = " ".join(mpi.Get_library_version().split())[:60]
        raise RuntimeError(
            f"the launcher started {started} ranks, but mpi4py sees {comm.size}: it uses another "
            f"MPI library ({library}) than the launcher belongs to; start with the mpiexec of that "
            "library, or set MPI4PY_LIBMPI to the file libmpi.so of the launcher's"
        )
    end_all_when_uncaught(comm)
    watch_hosts(comm)
    # `sys.exit` on one rank passes by all hooks for exceptions.
    atexit.register(comm.leave)
    return comm


def _import_mpi() -> Any:
    # Ranks wait inside of MPI only while it starts and ends: let them yield the core.
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    from mpi4py import MPI

    return MPI


class MpiCommunicator(Communicator):
    """The ranks of an mpi4py communicator. All of them make it at the same time.

    A rank that waits, for whatever, receives the messages that arrive meanwhile. So no order of
    sends and receives that would work with unlimited buffers can deadlock. `comm` is duplicated,
    so that other messages over it cannot be confused with ours; MPI gets at most `chunk` bytes at
    once.
    """

    def __init__(self, comm: MPI.Comm, *, chunk: int = _CHUNK) -> None:
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {chunk}")
        self._comm = comm.Dup()
        self.rank, self.size, self.bytes_sent = self._comm.rank, self._comm.size, 0
        self._chunk = chunk
        self._inbox: dict[tuple[int, int], deque[_Incoming]] = defaultdict(deque)
        self._host: MpiCommunicator | None = None
        self._firsts: MpiCommunicator | None = None
        self._divided = False
        self._process = os.getpid()

    @property
    def host(self) -> MpiCommunicator:
        if self._host is None:
            mpi = _import_mpi()
            part = self._comm.Split_type(mpi.COMM_TYPE_SHARED, self.rank)
            self._host = MpiCommunicator(part, chunk=self._chunk)
            self._host._host = self._host
            part.Free()
        return self._host

    @property
    def first_of_hosts(self) -> MpiCommunicator | None:
        first = self.host.rank == 0
        if not self._divided:
            mpi = _import_mpi()
            part = self._comm.Split(0 if first else mpi.UNDEFINED, self.rank)
            self._divided = True
            if first:
                self._firsts = MpiCommunicator(part, chunk=self._chunk)
                part.Free()
        return self._firsts

    def send(self, message: Message, to: int, kind: int = _OWN) -> Sending:
        self._check_rank(to)
        arrays = [_plain(array) for array in message]
        if to == self.rank:
            self._inbox[to, kind].append(_Incoming([array.copy() for array in arrays], []))
            return _Outgoing(self, [], [])
        inline, apart = _divide([array.nbytes for array in arrays], min(_INLINE, self._chunk))
        head = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
        envelope = np.frombuffer(
            b"".join([_PREFIX.pack(kind, len(head)), head, *(arrays[i].tobytes() for i in inline)]),
            dtype=np.uint8,
        )
        requests = [self._comm.Isend(envelope, to, _ENVELOPE)]
        for i in apart:
            requests += [self._comm.Isend(piece, to, _PIECE) for piece in self._pieces(arrays[i])]
        self.bytes_sent += envelope.nbytes + sum(arrays[i].nbytes for i in apart)
        return _Outgoing(self, requests, [envelope, *arrays])

    def receive(self, source: int, kind: int = _OWN) -> list[NDArray[Any]]:
        self._check_rank(source)
        mail, patience = self._inbox[source, kind], _Patience()
        while not mail:
            if not self._take_in():
                if self._inbox[source, _BYE]:  # the last message of all: nothing follows
                    self._end_without(source)
                patience.wait()
        incoming = mail.popleft()
        self._finish(incoming.requests)
        return incoming.arrays

    def broadcast(self, message: Message | None, root: int = 0) -> list[NDArray[Any]]:
        self._check_rank(root)
        if self.rank == root:
            if message is None:
                raise ValueError("the root of a broadcast needs a message")
            result = list(message)
        else:
            result = self.receive(self._parent(root), _SHARED)
        _wait_for([self.send(result, to, _SHARED) for to in reversed(self._children(root))])
        return result

    def allgather(self, message: Message) -> list[list[NDArray[Any]]]:
        return self.alltoall([message] * self.size)

    def alltoall(self, messages: Sequence[Message]) -> list[list[NDArray[Any]]]:
        if len(messages) != self.size:
            raise ValueError(
                f"{self.size} ranks exchange {self.size} messages each, got {len(messages)}"
            )
        # Rank r starts with r + 1, or all would send to rank 0 first.
        ring = [(self.rank + step) % self.size for step in range(1, self.size)]
        sendings = [self.send(messages[to], to, _SHARED) for to in ring]
        received = {self.rank: list(messages[self.rank])}
        for source in reversed(ring):
            received[source] = self.receive(source, _SHARED)
        _wait_for(sendings)
        return [received[source] for source in range(self.size)]

    def allreduce(self, values: NDArray[Any], how: Literal["max", "min", "sum"]) -> NDArray[Any]:
        check_reduction(values, how)
        total = values.copy()
        for child in self._children(0):
            (part,) = self.receive(child, _SHARED)
            if part.shape != total.shape or part.dtype != total.dtype:
                raise ValueError(
                    f"all ranks reduce arrays of one type and shape; rank {self.rank} has "
                    f"{total.dtype}{total.shape}, a rank from {child} on {part.dtype}{part.shape}"
                )
            total = np.asarray(_COMBINE[how](total, part))
        if self.rank:
            self.send([total], self._parent(0), _SHARED).wait()
        return self.broadcast([total] if self.rank == 0 else None)[0]

    def barrier(self) -> None:
        self._finish([self._comm.Ibarrier()])

    def abort(self, status: int = 1) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        self._comm.Abort(status)
        os._exit(status)  # for libraries whose Abort returns

    def leave(self) -> None:
        """Tell the other ranks that this one sends no more, and wait until they all said so.

        A rank that still waits for a message from this one ends all ranks. Called at the exit of
        the process, where MPI itself would wait for the others, which wait for this one.
        """
        if os.getpid() != self._process or _import_mpi().Is_finalized():
            return  # a forked child, which takes no part in MPI; or MPI was finalized already
        comms = [comm for comm in (self, self._host, self._firsts) if comm is not None]
        for comm in comms:
            _wait_for([comm.send([], rank, _BYE) for rank in comm._others()])
        patience = _Patience()
        while not all(comm._inbox[rank, _BYE] for comm in comms for rank in comm._others()):
            if not any(comm._take_in() for comm in comms):
                patience.wait()

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _end_without(self, gone: int) -> NoReturn:
        everybody = _import_mpi().COMM_WORLD  # by whose numbers users know the ranks
        (name,) = self._comm.Get_group().Translate_ranks([gone], everybody.Get_group())
        wait_for_rank_0(everybody.rank)
        say(
            f"multimargin: rank {everybody.rank} of {everybody.size}: error: rank {name} has ended "
            "while this one waits for it; all ranks must make the same calls\n"
        )
        self.abort(1)

    # ------------------------------------------------------------ trees for broadcast and reduce

    def _parent(self, root: int) -> int:
        place = (self.rank - root) % self.size
        return ((place & (place - 1)) + root) % self.size

    def _children(self, root: int) -> list[int]:
        """Return the ranks one set bit below, smallest subtree first."""
        place = (self.rank - root) % self.size
        lowest = place & -place or 1 << self.size.bit_length()
        bits = (1 << i for i in range(self.size.bit_length()))
        return [
            (place + b + root) % self.size for b in bits if b < lowest and place + b < self.size
        ]

    # ------------------------------------------------------------ waiting

    def _pieces(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        flat = array.reshape(-1).view(np.uint8)
        return [flat[a : a + self._chunk] for a in range(0, flat.size, self._chunk)]

    def _take_in(self) -> bool:
        """Begin to receive one message that has arrived; return whether there was any."""
        mpi = _import_mpi()
        status = mpi.Status()
        found = self._comm.Improbe(mpi.ANY_SOURCE, _ENVELOPE, status)
        if found is None:
            return False
        source = status.Get_source()
        envelope = np.empty(status.Get_count(mpi.BYTE), dtype=np.uint8)
        found.Recv(envelope)
        kind, arrays, apart = _open(envelope.tobytes(), min(_INLINE, self._chunk))
        requests = [
            self._comm.Irecv(piece, source, _PIECE)
            for i in apart
            for piece in self._pieces(arrays[i])
        ]
        self._inbox[source, kind].append(_Incoming(arrays, requests))
        return True

    def _finish(self, requests: list[MPI.Request]) -> None:
        patience = _Patience()
        while requests and not _import_mpi().Request.Testall(requests):
            if not self._take_in():
                patience.wait()


def _wait_for(sendings: Sequence[Sending]) -> None:
    for sending in sendings:
        sending.wait()


class _Incoming(NamedTuple):
    """A message whose envelope has arrived; its large arrays may still be under way."""

    arrays: list[NDArray[Any]]
    requests: list[MPI.Request]


class _Outgoing:
    """A message under way, and the memory that MPI reads meanwhile."""

    def __init__(
        self, comm: MpiCommunicator, requests: list[MPI.Request], memory: list[NDArray[Any]]
    ) -> None:
        self._comm, self._requests, self._memory = comm, requests, memory

    def wait(self) -> None:
        self._comm._finish(self._requests)
        self._requests, self._memory = [], []


class _Patience:
    """A wait that reacts quickly at first and then leaves the core to others.

    There may be more ranks than cores, so a waiting rank must not keep a core from the rank it
    waits for: it yields, and after 0.2 ms sleeps for a tenth of the time waited, at most 1 ms;
    after 0.1 s for a hundredth of it, at most 10 ms.
    """

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def wait(self) -> None:
        waited = time.perf_counter() - self._since
        if waited < 2e-4 and hasattr(os, "sched_yield"):
            os.sched_yield()
        else:
            time.sleep(max(min(waited / 10, 1e-3), min(waited / 100, 1e-2)))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.hasobject or array.dtype.names is not None:
        raise TypeError(f"messages are arrays of numbers, booleans or strings, got {array.dtype}")
    # ascontiguousarray would give an array of no dimension one.
    return np.asarray(array, order="C")


def _divide(sizes: list[int], room: int) -> tuple[list[int], list[int]]:
    """Return which arrays go into the envelope (the first that fit), and which go separately."""
    inline, apart = [], []
    for i, size in enumerate(sizes):
        if size <= room:
            inline.append(i)
            room -= size
        else:
            apart.append(i)
    return inline, apart


def _open(envelope: bytes, room: int) -> tuple[int, list[NDArray[Any]], list[int]]:
    """Return the kind of a message, its arrays, and which of them arrive separately."""
    kind, length = _PREFIX.unpack_from(envelope)
    end = _PREFIX.size + length
    head = json.loads(envelope[_PREFIX.size : end])
    arrays = [np.empty(shape, dtype=np.dtype(name)) for name, shape in head]
    inline, apart = _divide([array.nbytes for array in arrays], room)
    for i in inline:
        flat = arrays[i].reshape(-1).view(np.uint8)
        flat[:] = np.frombuffer(envelope, dtype=np.uint8, count=flat.size, offset=end)
        end += flat.size
    return kind, arrays, apart
