"""One array file, written by all ranks at once: the same bytes as one rank would write."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import Layout, chunks, plain_array
from multimargin.io._atomic import Replacement
from multimargin.io._checksums import crc32_combine
from multimargin.parallel._collectives import allgather_value, broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator, Message


@dataclass(frozen=True)
class Piece:
    """The part of an array that one rank holds: a stretch of its elements in C order.

    Attributes
    ----------
    dtype : dtype
        Of the array.
    shape : tuple of int
        Of the whole array.
    begin : int
        Place of the first element of the stretch.
    data : ndarray
        The stretch; empty if the rank holds nothing.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    data: NDArray[Any]


def write_arrays_together(
    comm: Communicator,
    path: str | os.PathLike[str],
    meta: Mapping[str, Any],
    pieces: Mapping[str, Piece],
) -> None:
    """Write the file that `write_arrays` would write, atomically. Called by all ranks.

    Ranks that see the file of rank 0 write their stretches into it; the others send theirs to
    rank 0, a few MB at a time.

    Parameters
    ----------
    comm : Communicator
    path : path-like
        As rank 0 has it.
    meta : dict of JSON values
        As rank 0 has them.
    pieces : dict of str to Piece
        The same names in the same order on all ranks. The stretches of the ranks make up the
        whole array, in any order of ranks.

    Raises
    ------
    ValueError
        If the stretches leave a gap or overlap, or ranks do not mean the same arrays.
    ModelFileError
        If the content cannot be kept in this format.
    OSError
        If any rank cannot write. It is raised on all ranks; what was at `path` before is still
        there, and nothing else.
    """
    with raise_on_all(comm):
        own = [_Stretch.of(path, name, piece) for name, piece in pieces.items()]
    table = allgather_value(comm, [stretch.description for stretch in own])
    _check_complete(path, table)
    file = _SharedFile(comm, path)
    try:
        file.create(meta, own)
        crcs = allgather_value(comm, file.write(own))
        file.finish(_combined(crcs, table))
    except BaseException:
        file.discard()
        raise


@dataclass(frozen=True)
class _Stretch:
    name: str
    shape: tuple[int, ...]
    begin: int
    array: NDArray[Any]

    @classmethod
    def of(cls, path: str | os.PathLike[str], name: str, piece: Piece) -> _Stretch:
        array = plain_array(path, name, piece.data)
        if array.dtype != np.dtype(piece.dtype).newbyteorder("<"):
            raise ValueError(f"array {name!r} is of {piece.dtype}, a piece of it of {array.dtype}")
        end, total = piece.begin + array.size, math.prod(piece.shape)
        if piece.begin < 0 or end > total:
            raise ValueError(
                f"array {name!r} has {total} elements, a piece of it is said to be those from "
                f"{piece.begin} to {end}"
            )
        return cls(name, tuple(int(n) for n in piece.shape), int(piece.begin), array)

    @property
    def description(self) -> list[Any]:
        """Name, type and place, for the other ranks."""
        dtype = self.array.dtype
        return [self.name, dtype.str, list(self.shape), self.begin, self.array.size, dtype.itemsize]


def _check_complete(path: str | os.PathLike[str], table: list[list[list[Any]]]) -> None:
    """Check the ranks' descriptions: the same arrays everywhere, and each element once."""
    arrays = [stretch[:3] for stretch in table[0]]
    for rank, stretches in enumerate(table):
        if [stretch[:3] for stretch in stretches] != arrays:
            raise ValueError(
                f"{os.fspath(path)}: ranks 0 and {rank} do not write the same arrays: {arrays} "
                f"and {[stretch[:3] for stretch in stretches]} (name, type, shape)"
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
    checksums = []
    for number in range(len(table[0])):
        crc = 0
        stretches = (
            (begin, size * itemsize, crcs[rank][number])
            for rank, (_, _, _, begin, size, itemsize) in enumerate(s[number] for s in table)
            if size > 0
        )
        for _, nbytes, added in sorted(stretches):
            crc = crc32_combine(crc, added, nbytes)
        checksums.append(crc)
    return checksums


class _SharedFile:
    """A file of rank 0, into which all ranks write. All methods but `discard` are collective."""

    def __init__(self, comm: Communicator, path: str | os.PathLike[str]) -> None:
        self._comm, self._path = comm, path
        self._offsets: list[int] = []
        self._temporary = ""
        # Of rank 0 only:
        self._replacement: Replacement | None = None
        self._layout: Layout | None = None

    def create(self, meta: Mapping[str, Any], own: list[_Stretch]) -> None:
        """Make a temporary file of the full size, so that a full disk is noticed at once."""
        facts = None
        with raise_on_all(self._comm), self._named():
            if self._comm.rank == 0:
                kinds = {each.name: (each.array.dtype, each.shape) for each in own}
                self._layout = Layout(self._path, meta, kinds)
                self._replacement = Replacement(self._path)
                _allocate(self._replacement.fd, self._layout.length)
                offsets = [entry.offset for entry in self._layout.entries]
                facts = [offsets, str(self._replacement.temporary)]
        self._offsets, self._temporary = broadcast_value(self._comm, facts)

    def write(self, own: list[_Stretch]) -> list[int]:
        """Put the stretches of this rank into their places; return their checksums."""
        comm = self._comm
        fd = self._replacement.fd if self._replacement else _open(self._temporary)
        sees = allgather_value(comm, fd is not None)
        crcs: list[int] = []
        failed: OSError | None = None
        if fd is None:
            crcs = [self._send(each.array, at) for each, at in self._placed(own)]
            self._answer([])
        else:
            try:
                crcs = [_write_at(fd, each.array, at) for each, at in self._placed(own)]
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
        """Remove the temporary file."""
        if self._replacement is not None:
            self._replacement.discard()

    def _placed(self, own: list[_Stretch]) -> Iterator[tuple[_Stretch, int]]:
        for offset, each in zip(self._offsets, own, strict=True):
            yield each, offset + each.begin * each.array.itemsize

    def _send(self, array: NDArray[Any], position: int) -> int:
        crc = 0
        for chunk in chunks(array):
            where = np.array([position], dtype=np.int64)
            self._answer([where, np.frombuffer(chunk, dtype=np.uint8)])
            crc = zlib.crc32(chunk, crc)
            position += len(chunk)
        return crc

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
        """Give errors the name of the file that was asked for."""
        try:
            yield
        except OSError as error:
            if error.errno is None or error.filename == os.fspath(self._path):
                raise
            raise OSError(error.errno, error.strerror, os.fspath(self._path)) from error


def _open(temporary: str) -> int | None:
    """The file of rank 0, if this rank sees it and may write into it."""
    # Its name has 16 random digits, so a file of this name is that file.
    try:
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


def _write_at(fd: int, array: NDArray[Any], position: int) -> int:
    crc = 0
    for chunk in chunks(array):
        crc = zlib.crc32(chunk, crc)
        _pwrite(fd, chunk, position)
        position += len(chunk)
    return crc


def _pwrite(fd: int, data: memoryview, position: int) -> None:
    while data:  # a call may write less than it was given
        written = os.pwrite(fd, data, position)
        data, position = data[written:], position + written
