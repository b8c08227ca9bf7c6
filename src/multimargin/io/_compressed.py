"""Compressed data files: detection, decompression with a limit, and clear errors."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

# The first bytes of compressed files. Ten of bzip2, because "BZh9" alone could be a label.
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh\x001AY&SY", ".xz": b"\xfd7zXZ\x00"}
MAGIC_BYTES = max(len(magic) for magic in MAGIC.values())
# Text is compressed five to twenty times. A file of kilobytes that expands to gigabytes was made to
# fill the memory of its readers.
_MOST_TIMES, _ALWAYS = 100, 1 << 26
_EMPTY_BZIP2 = b"\x17rE8P\x90"  # in place of "1AY&SY" when there is no data at all


class DataFileError(ValueError):
    """A data file that cannot be read; the message names the file and, where known, the line."""


def compression(name: str, start: bytes) -> str | None:
    """Return the suffix of the compression by the first `MAGIC_BYTES`, None for plain text."""
    for suffix, magic in MAGIC.items():
        if _has_magic(start, magic):
            return suffix
    suffix = Path(name).suffix.lower()
    if suffix not in MAGIC:
        return None
    # Cut off inside the magic itself: only the name can tell.
    magic = MAGIC[suffix]
    cut_off = len(start) < len(magic) and _has_magic(start, magic[: len(start)])
    return suffix if cut_off else None


def _has_magic(start: bytes, magic: bytes) -> bool:
    if magic[:3] == b"BZh" and len(magic) > 3:  # the fourth byte is the level
        block = start[4 : len(magic)]
        marks = (magic[4:], _EMPTY_BZIP2[: len(magic) - 4])
        return start[:3] == b"BZh" and start[3:4].isdigit() and block in marks
    return start[: len(magic)] == magic


@contextmanager
def rewindable(name: str) -> Iterator[tuple[IO[bytes], str | None]]:
    """Open a file at its beginning, and tell its compression; a pipe is read into memory."""
    with Path(name).open("rb") as file:
        stream: IO[bytes] = file
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            stream = io.BytesIO(file.read())
        start = stream.read(MAGIC_BYTES)
        stream.seek(0)
        suffix = compression(name, start)
        if not start and suffix is None:
            raise DataFileError(f"{name}: the file is empty")
        yield stream, suffix


def packed(file: IO[bytes], suffix: str, mode: Literal["rb", "wb"]) -> IO[bytes]:
    if suffix == ".gz":
        # No name and no time inside: the same data gives the same bytes.
        return cast(IO[bytes], gzip.GzipFile("", mode, fileobj=file, mtime=0))
    if suffix == ".bz2":
        return cast(IO[bytes], bz2.BZ2File(file, mode))
    return cast(IO[bytes], lzma.LZMAFile(file, mode))


@contextmanager
def unpacked(
    name: str, file: IO[bytes], suffix: str, memory: int | None = None
) -> Iterator[IO[bytes]]:
    """Open the decompressed content of a file; errors while reading are `DataFileError`s.

    `name` is for messages; `memory` limits the bytes of the content.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size < len(MAGIC[suffix]):
        raise DataFileError(f"{name}: truncated: the file ends inside its first bytes")
    most = max(_ALWAYS, _MOST_TIMES * size)
    why = f"more than {_MOST_TIMES} times as much, which is unusual for text"
    if memory is not None and memory < most:
        most, why = memory, "more than there is room for in memory"
    refusal = (
        f"{name}: {size:,} bytes of {suffix[1:]} data stand for more than {most:,} bytes, {why}; "
        "if you trust the file, decompress it and read the plain one"
    )
    with _explained(name, suffix):
        yield io.BufferedReader(_Guarded(packed(file, suffix, "rb"), most, refusal), 1 << 18)


class _Guarded(io.RawIOBase):
    """A decompressed stream that must end before `most` bytes."""

    def __init__(self, inner: Any, most: int, refusal: str) -> None:
        self._inner, self._most, self._refusal = inner, most, refusal

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._inner.seek(offset, whence))

    def tell(self) -> int:
        return int(self._inner.tell())

    def readinto(self, buffer: Any) -> int:
        count = int(self._inner.readinto(buffer))
        if self.tell() > self._most:
            raise DataFileError(self._refusal)
        return count


@contextmanager
def _explained(name: str, suffix: str) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise DataFileError(
            f"{name}: truncated: the {suffix[1:]} data ends too early; copy or download it again"
        ) from None
    except (lzma.LZMAError, zlib.error, OSError) as error:
        # A disk that fails also raises OSError, but then with an errno.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataFileError(
            f"{name}: corrupt {suffix[1:]} data ({error}); copy or download it again"
        ) from None
