"""Strings in a model file: their bytes, one after the other, and where each begins."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import damaged

Arrays = dict[str, NDArray[Any]]
Packed = tuple[NDArray[np.uint8], NDArray[np.int64]]


def encoded_strings(strings: list[str]) -> Packed:
    """The bytes of some strings as UTF-8, and their offsets."""
    return packed_bytes([each.encode("utf-8", "surrogatepass") for each in strings])


def packed_bytes(items: list[bytes]) -> Packed:
    """The bytes of all items, and the offset of each item and of the end."""
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return np.frombuffer(b"".join(items), dtype=np.uint8), offsets


def pack_strings(name: str, packed: Packed, arrays: Arrays) -> None:
    """Add packed strings to the arrays of a file."""
    arrays[f"{name}.utf8"], arrays[f"{name}.offsets"] = packed


def unpack_strings(path: str | os.PathLike[str], name: str, arrays: Arrays) -> Packed:
    """The packed strings of a file, or a ModelFileError where they cannot be taken apart."""
    utf8, offsets = arrays[f"{name}.utf8"], arrays[f"{name}.offsets"]
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or offsets.dtype != np.int64 or offsets.ndim != 1:
        damaged(path, f"{name}: strings of type {utf8.dtype} with offsets of type {offsets.dtype}")
    complete = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(utf8)
    if not complete or (offsets[1:] < offsets[:-1]).any():
        damaged(path, f"the offsets of {name} are out of order")
    return utf8, offsets


def split_bytes(packed: Packed) -> list[bytes]:
    """The items that `packed_bytes` was given."""
    joined = packed[0].tobytes()
    return [joined[a:b] for a, b in itertools.pairwise(packed[1].tolist())]


def decoded_strings(packed: Packed) -> list[str]:
    """The strings that `encoded_strings` was given, or a UnicodeDecodeError."""
    return [item.decode("utf-8", "surrogatepass") for item in split_bytes(packed)]
