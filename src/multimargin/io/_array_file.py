"""A memory-mappable file of named arrays and JSON metadata (layout: docs/model-format.md)."""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from multimargin.io._atomic import atomic_write
from multimargin.io._text_table import elided

# A byte above 127 and both line ends, so that a transfer as text is noticed at once.
MAGIC = b"\x89MMARG\r\n"
FORMAT_VERSION = 1
ALIGNMENT = 64
MAX_NDIM = 4
MAX_METADATA = 1 << 28
# Code that walks through metadata, repr included, may be recursive.
MAX_DEPTH = 64

# magic, version, arrays, file length, metadata length, data offset, reserved, crc
_HEADER = struct.Struct("<8sIIQQQ20sI")
# name, dtype, ndim, shape, offset, nbytes, crc, reserved
_ENTRY = struct.Struct("<32s4sI4QQQII")
_CRC_AT = _HEADER.size - 4
_CHUNK = 1 << 22
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,31}")
# Plain numbers only: nothing in such a file can refer to code.
_CODES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
_DTYPES = {code: np.dtype(code) for code in _CODES}

FilePath = str | os.PathLike[str]


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written to one."""


@dataclass(frozen=True)
class Entry:
    """An entry of the table: name, type, shape and place of an array."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    crc: int

    @property
    def end(self) -> int:
        return self.offset + self.nbytes

    def pack(self) -> bytes:
        name, dtype, ndim = self.name.encode(), self.dtype.str.encode(), len(self.shape)
        shape = self.shape + (0,) * (MAX_NDIM - ndim)
        return _ENTRY.pack(name, dtype, ndim, *shape, self.offset, self.nbytes, self.crc, 0)


def _refuse(path: FilePath, reason: str) -> NoReturn:
    raise ModelFileError(f"{os.fspath(path)}: {reason}")


def damaged(path: FilePath, reason: str) -> NoReturn:
    # The reason may quote content of any length.
    _refuse(path, f"damaged: {elided(reason, 300)}")


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


# ---------------------------------------------------------------- writing


def write_arrays(
    path: FilePath,
    meta: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    durable: bool = True,
) -> None:
    """Write metadata and arrays to one file, atomically.

    The bytes depend on the arguments alone: equal content gives equal files. `meta` has JSON
    values, no NaN and no infinity. Arrays have at most four dimensions and a boolean, integer or
    float dtype up to 64 bits; names are ASCII identifiers (dots allowed) of at most 32 characters.
    `durable` as in `atomic_write`. ModelFileError if the content cannot be kept in this format.
    """
    plain = {name: plain_array(path, name, array) for name, array in arrays.items()}
    layout = Layout(path, meta, {name: (a.dtype, a.shape) for name, a in plain.items()})
    with atomic_write(path, durable=durable) as file:
        # The checksums are known only after the arrays were written: a single pass over them,
        # then back to the start for the header.
        checksums = []
        for entry, array in zip(layout.entries, plain.values(), strict=True):
            file.seek(entry.offset)
            crc = 0
            for chunk in chunks(array):
                crc = zlib.crc32(chunk, crc)
                file.write(chunk)
            checksums.append(crc)
        # To the full length: gaps are read as zeros.
        file.truncate(layout.length)
        file.seek(0)
        file.write(layout.prefix(checksums))


class Layout:
    """The places of all parts of a file, computed before anything is written.

    `arrays` has dtypes and shapes, `path` is for messages.
    """

    def __init__(
        self,
        path: FilePath,
        meta: Mapping[str, Any],
        arrays: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]],
    ) -> None:
        self._metadata = _encode_metadata(path, meta)
        self._begin = _aligned(_HEADER.size + len(self._metadata) + _ENTRY.size * len(arrays))
        self.entries: list[Entry] = []  # without checksums
        self.length = self._begin  # of the file
        for name, (dtype, shape) in arrays.items():
            if (ndim := len(shape)) > MAX_NDIM:
                _refuse(path, f"array {name!r} has {ndim} dimensions, more than {MAX_NDIM}")
            nbytes = math.prod(shape) * dtype.itemsize
            self.entries.append(Entry(name, dtype, shape, self.length, nbytes, 0))
            self.length += _aligned(nbytes)

    def prefix(self, checksums: Sequence[int]) -> bytes:
        """Return header, metadata and table for the checksums of the arrays."""
        sizes = (len(self.entries), self.length, len(self._metadata), self._begin)
        header = _HEADER.pack(MAGIC, FORMAT_VERSION, *sizes, bytes(20), 0)
        entries = zip(self.entries, checksums, strict=True)
        table = b"".join(replace(entry, crc=crc).pack() for entry, crc in entries)
        body = (self._metadata + table).ljust(self._begin - len(header), b"\0")
        crc = zlib.crc32(body, zlib.crc32(header[:_CRC_AT]))
        return header[:_CRC_AT] + struct.pack("<I", crc) + body


def _encode_metadata(path: FilePath, meta: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(
            dict(meta), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except (TypeError, ValueError, RecursionError) as error:
        _refuse(path, f"the metadata is not plain JSON: {error}")
    if len(text) > MAX_METADATA:
        _refuse(path, f"the metadata takes {len(text)} bytes, at most {MAX_METADATA} are allowed")
    if _too_deep(meta):
        _refuse(path, f"the metadata is nested more than {MAX_DEPTH} deep")
    return text.encode("ascii")


def _too_deep(meta: Any) -> bool:
    """Return whether lists and objects are nested more than `MAX_DEPTH` deep."""
    level = [meta]
    for _ in range(MAX_DEPTH):
        parts = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for part in parts for each in part if isinstance(each, dict | list | tuple)]
    return bool(level)


def plain_array(path: FilePath, name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` itself or a C-contiguous little-endian copy of it."""
    if _NAME.fullmatch(name) is None:
        _refuse(path, f"{name!r} is no array name: use at most 32 ASCII letters, digits, '_', '.'")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES or dtype.fields is not None:
        _refuse(path, f"array {name!r} has dtype {array.dtype}; allowed are {', '.join(_DTYPES)}")
    return np.asarray(array, dtype=dtype, order="C")


def chunks(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of a contiguous array, 4 MB at a time."""
    if array.size == 0:  # has no flat memory view
        return
    view = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(view), _CHUNK):
        yield view[start : start + _CHUNK]


# ---------------------------------------------------------------- reading


def read_arrays(
    path: FilePath, *, verify: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Open a file written by `write_arrays`; return metadata and arrays.

    The arrays are read-only views of one memory map: nothing is read before it is used, so that
    opening takes the same few milliseconds for every size. With `verify`, also read all arrays and
    compare their checksums; header, metadata and table are always checked. ModelFileError if this
    is no such file, a newer one, a truncated one or a damaged one.
    """
    # Before opening: to open a pipe would block.
    if not stat.S_ISREG(Path(path).stat().st_mode):
        _refuse(path, "not a multimargin model: not a regular file")
    with Path(path).open("rb") as file:
        metadata, entries, length = _read_prefix(path, file, os.fstat(file.fileno()).st_size)
        try:
            memory = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
        except ValueError:
            _refuse(path, "truncated: the file became shorter while it was read")
    # Not np.memmap, which is slow to slice, and whose file joblib's workers would open again: by
    # then it may be another file, or gone.
    flat: NDArray[np.uint8] = np.frombuffer(memoryview(memory), dtype=np.uint8)
    if verify:
        _verify(path, flat, entries)
    return metadata, {
        entry.name: flat[entry.offset : entry.end].view(entry.dtype).reshape(entry.shape)
        for entry in entries
    }


def _read_prefix(
    path: FilePath, file: BinaryIO, size: int
) -> tuple[dict[str, Any], list[Entry], int]:
    header = file.read(_HEADER.size)
    if header[: len(MAGIC)] != MAGIC[: len(header)]:
        _refuse(path, "not a multimargin model")
    if len(header) < _HEADER.size:
        _refuse(path, f"truncated: {len(header)} bytes are there, a header has {_HEADER.size}")
    _, version, count, length, n_meta, data_offset, reserved, crc = _HEADER.unpack(header)
    if version > FORMAT_VERSION:
        _refuse(
            path,
            f"written by a newer multimargin: format {version}, this one reads up to "
            f"{FORMAT_VERSION}",
        )
    if version < 1:
        _refuse(path, f"damaged: there is no format {version}")
    if size != length:
        what = "truncated" if size < length else "damaged"
        _refuse(path, f"{what}: the file has {size} bytes, its header says {length}")
    table_at = _HEADER.size + n_meta
    table_end = table_at + _ENTRY.size * count
    if n_meta > MAX_METADATA or data_offset != _aligned(table_end) or data_offset > length:
        _refuse(path, "damaged: the sizes in the header do not fit together")
    body = file.read(data_offset - _HEADER.size)
    if len(body) != data_offset - _HEADER.size:
        _refuse(path, "truncated: the file became shorter while it was read")
    if zlib.crc32(body, zlib.crc32(header[:_CRC_AT])) != crc:
        _refuse(path, "damaged: the checksum of the header and the metadata is wrong")
    if any(reserved) or any(body[table_end - _HEADER.size :]):
        _refuse(path, "damaged: bytes that must be zero are not")
    metadata = _decode_metadata(path, body[:n_meta])
    table = body[n_meta : n_meta + _ENTRY.size * count]
    return metadata, _decode_table(path, table, data_offset, length), length


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _decode_metadata(path: FilePath, raw: bytes) -> dict[str, Any]:
    try:
        metadata = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"damaged: bad metadata: {error}")
    if not isinstance(metadata, dict):
        _refuse(path, "damaged: the metadata is not a JSON object")
    if _too_deep(metadata):
        _refuse(path, f"damaged: the metadata is nested more than {MAX_DEPTH} deep")
    return metadata


def _decode_table(path: FilePath, table: bytes, data_offset: int, length: int) -> list[Entry]:
    """Decode and check the table: each array lies exactly where the one before it ends."""
    entries: dict[str, Entry] = {}
    expected = data_offset
    for i, fields in enumerate(_ENTRY.iter_unpack(table)):
        entry = _decode_entry(path, i, fields)
        if entry.name in entries:
            _refuse(path, f"damaged: two arrays are named {entry.name!r}")
        if entry.offset != expected or entry.end > length:
            _refuse(
                path,
                f"damaged: array {entry.name!r} is said to lie at bytes {entry.offset} to "
                f"{entry.end}, but belongs at {expected} in a file of {length} bytes",
            )
        expected = _aligned(entry.end)
        entries[entry.name] = entry
    if expected != length:
        _refuse(path, f"damaged: the arrays end at byte {expected}, the file at {length}")
    return list(entries.values())


def _decode_entry(path: FilePath, i: int, fields: tuple[Any, ...]) -> Entry:
    raw_name, raw_dtype, ndim, *numbers = fields
    shape, (offset, nbytes, crc, reserved) = numbers[:MAX_NDIM], numbers[MAX_NDIM:]
    name = raw_name.rstrip(b"\0").decode("latin-1")
    if _NAME.fullmatch(name) is None:
        _refuse(path, f"damaged: array {i} has the bad name {name!r}")
    dtype = _DTYPES.get(raw_dtype.rstrip(b"\0").decode("latin-1"))
    if dtype is None:
        _refuse(path, f"damaged: array {name!r} has the unknown dtype {raw_dtype!r}")
    if ndim > MAX_NDIM or any(shape[ndim:]) or reserved:
        _refuse(path, f"damaged: array {name!r} has {ndim} dimensions, shape {shape}")
    shape = shape[:ndim]
    # The second test is for shapes such as (0, 2**63), which have no element and yet no array.
    if (
        math.prod(shape) * dtype.itemsize != nbytes
        or math.prod(max(n, 1) for n in shape) * dtype.itemsize >= 1 << 62
    ):
        _refuse(path, f"damaged: array {name!r} of shape {shape} cannot have {nbytes} bytes")
    return Entry(name, dtype, tuple(shape), offset, nbytes, crc)


def _verify(path: FilePath, flat: NDArray[np.uint8], entries: list[Entry]) -> None:
    for entry in entries:
        crc = 0
        for chunk in chunks(flat[entry.offset : entry.end]):
            crc = zlib.crc32(chunk, crc)
        if crc != entry.crc:
            _refuse(path, f"damaged: the checksum of array {entry.name!r} is wrong")
        if flat[entry.end : _aligned(entry.end)].any():
            _refuse(path, f"damaged: the padding after array {entry.name!r} is not zero")
