"""One array file, written by all ranks at once: the same bytes as one rank would write."""

from __future__ import annotations

import contextlib
import errno
import functools
import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import Layout, chunks, plain_array
from multimargin.io._atomic import Replacement, StrPath
from multimargin.io._checksums import crc32_combine
from multimargin.parallel._collectives import allgather_value, broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator, Message


@dataclass(frozen=True)
class Piece:
    """The part of an array that one rank holds: a stretch of its elements in C order."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]  # of the whole array
    begin: int  # place of the first element of the stretch
    data: NDArray[Any]  # the stretch; empty if the rank holds nothing


def write_arrays_together(
    comm: Communicator, path: StrPath, meta: Mapping[str, Any], pieces: Mapping[str, Piece]
) -> None:
    """Write the file that `write_arrays` would write, atomically. Called by all ranks.

    Ranks that see the file of rank 0 write their stretches into it; the others send theirs to
    rank 0, a few MB at a time. Path and metadata count on rank 0 alone. The names and their order
    are the same on all ranks, whose stretches make up the whole arrays, in any order of ranks. If
    a rank cannot write, all of them raise its OSError; what was at `path` before is still there.
    """
    with raise_on_all(comm):
        own = {name: _checked(path, name, piece) for name, piece in pieces.items()}
    table = allgather_value(comm, [_description(*item) for item in own.items()])
    _check_complete(path, table)
    file = _SharedFile(comm, path)
    try:
        file.create(meta, own)
        crcs = allgather_value(comm, file.write(list(own.values())))
        file.finish(_combined(crcs, table))
    except BaseException:
        file.discard()
        raise


def _checked(path: StrPath, name: str, piece: Piece) -> Piece:
    array = plain_array(path, name, piece.data)
    if array.dtype != np.dtype(piece.dtype).newbyteorder("<"):
        raise ValueError(f"array {name!r} is of {piece.dtype}, a piece of it of {array.dtype}")
    end, total = piece.begin + array.size, math.prod(piece.shape)
    if piece.begin < 0 or end > total:
        raise ValueError(
            f"array {name!r} has {total} elements, a piece of it is said to be those from "
            f"{piece.begin} to {end}"
        )
    return Piece(array.dtype, tuple(map(int, piece.shape)), int(piece.begin), array)


def _description(name: str, piece: Piece) -> list[Any]:
    kind, size = piece.dtype, piece.data.size
    return [name, kind.str, list(piece.shape), piece.begin, size, kind.itemsize]


def _check_complete(path: StrPath, table: list[list[list[Any]]]) -> None:
    """Check the ranks' descriptions: the same arrays everywhere, and each element once."""
    arrays = [stretch[:3] for stretch in table[0]]
    for rank, stretches in enumerate(table):
        if (others := [stretch[:3] for stretch in stretches]) != arrays:
            raise ValueError(
                f"{os.fspath(path)}: ranks 0 and {rank} do not write the same arrays: {arrays} "
                f"and {others} (name, type, shape)"
            )
    for number, (name, _, shape) in enumerate(arrays):
        position = 0
        for begin, size in sorted(s[number][3:5] for s in table if s[number][4] > 0):
            if begin != position:
                what = "is missing" if begin > position else "is given twice"
                raise ValueError(
                    f"{os.fspath(path)}: element {min(begin, position)} of array {name!r} {what}"
                )
            position = begin + size
        if position != math.prod(shape):
            raise ValueError(f"{os.fspath(path)}: element {position} of array {name!r} is missing")


def _combined(crcs: list[list[int]], table: list[list[list[Any]]]) -> list[int]:
    """The checksum of each array, combined from its stretches on all ranks."""
    checksums = [0] * len(table[0])
    for number in range(len(checksums)):
        ranks = zip(table, crcs, strict=True)
        held = [(*stretches[number][3:], crc[number]) for stretches, crc in ranks]
        for _, size, itemsize, added in sorted(held):
            if size > 0:
                checksums[number] = crc32_combine(checksums[number], added, size * itemsize)
    return checksums


class _SharedFile:
    """A file of rank 0, into which all ranks write. All methods but `discard` are collective."""

    def __init__(self, comm: Communicator, path: StrPath) -> None:
        self._comm, self._path = comm, path
        self._offsets: list[int] = []
        self._temporary = ""
        # Of rank 0 only:
        self._replacement: Replacement | None = None
        self._layout: Layout | None = None

    def create(self, meta: Mapping[str, Any], own: Mapping[str, Piece]) -> None:
        """Make a temporary file of the full size, so that a full disk is noticed at once."""
        facts = None
        with raise_on_all(self._comm), self._named():
            if self._comm.rank == 0:
                kinds = {name: (piece.dtype, piece.shape) for name, piece in own.items()}
                self._layout = Layout(self._path, meta, kinds)
                self._replacement = Replacement(self._path)
                _allocate(self._replacement.fd, self._layout.length)
                offsets = [entry.offset for entry in self._layout.entries]
                facts = [offsets, str(self._replacement.temporary)]
        self._offsets, self._temporary = broadcast_value(self._comm, facts)

    def write(self, own: list[Piece]) -> list[int]:
        """Put the stretches of this rank into their places; return their checksums."""
        comm = self._comm
        starts = zip(own, self._offsets, strict=True)
        placed = [(each.data, start + each.begin * each.data.itemsize) for each, start in starts]
        fd = self._replacement.fd if self._replacement else _open(self._temporary)
        sees = allgather_value(comm, fd is not None)
        crcs: list[int] = []
        failed: OSError | None = None
        if fd is None:
            crcs = [_put(self._send, *each) for each in placed]
            self._answer([])
        else:
            try:
                crcs = [_put(functools.partial(_pwrite, fd), *each) for each in placed]
                os.fsync(fd)
            except OSError as error:
                failed = error
        if self._replacement is not None:
            for rank in range(comm.size):
                if not sees[rank]:
                    failed = self._receive(rank, self._replacement.fd, failed)
        elif fd is not None:
            os.close(fd)
        with raise_on_all(comm), self._named():
            if failed is not None:
                raise failed
        return crcs

    def finish(self, checksums: list[int]) -> None:
        """Write the header, and put the file in its place."""
        with raise_on_all(self._comm), self._named():
            if self._replacement is not None and self._layout is not None:
                _pwrite(self._replacement.fd, memoryview(self._layout.prefix(checksums)), 0)
                self._replacement.commit()

    def discard(self) -> None:
        if self._replacement is not None:
            self._replacement.discard()

    def _send(self, chunk: memoryview, position: int) -> None:
        where = np.array([position], dtype=np.int64)
        self._answer([where, np.frombuffer(chunk, dtype=np.uint8)])

    def _answer(self, message: Message) -> None:
        # Only when asked: unasked messages would all lie in rank 0's memory.
        self._comm.receive(0)
        self._comm.send(message, 0).wait()

    def _receive(self, rank: int, fd: int, failed: OSError | None) -> OSError | None:
        """Write the chunks that a rank sends; after a failure, only receive them."""
        self._comm.send([], rank).wait()
        while message := self._comm.receive(rank):
            self._comm.send([], rank).wait()  # the next one travels while this one is written
            where, chunk = message
            if failed is None:
                try:
                    _pwrite(fd, chunk.data, int(where[0]))
                except OSError as error:
                    failed = error
        return failed

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno is None or error.filename == os.fspath(self._path):
                raise
            raise OSError(error.errno, error.strerror, os.fspath(self._path)) from error


def _open(temporary: str) -> int | None:
    """The file of rank 0, if this rank sees it and may write into it."""
    try:  # its name has 16 random digits, so a file of this name is that file
        return os.open(temporary, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _allocate(fd: int, length: int) -> None:
    # Not everywhere there (macOS), and not on every file system.
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(fd, 0, length)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENODEV):
                raise
    os.ftruncate(fd, length)


def _put(to: Callable[[memoryview, int], None], array: NDArray[Any], position: int) -> int:
    crc = 0
    for chunk in chunks(array):
        crc = zlib.crc32(chunk, crc)
        to(chunk, position)
        position += len(chunk)
    return crc


def _pwrite(fd: int, data: memoryview, position: int) -> None:
    while data:  # a call may write less than it was given
        written = os.pwrite(fd, data, position)
        data, position = data[written:], position + written
