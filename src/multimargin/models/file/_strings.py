"""Strings and labels in a model file: their bytes, one after the other, and where each begins."""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import ModelFileError, damaged
from multimargin.io._atomic import StrPath

Arrays = dict[str, NDArray[Any]]
Packed = tuple[NDArray[np.uint8], NDArray[np.int64]]

_TEXT_DTYPE = re.compile(r"([US])(\d{1,9})|object")


def encoded_strings(strings: list[str]) -> Packed:
    return _packed_bytes([each.encode("utf-8", "surrogatepass") for each in strings])


def _packed_bytes(items: list[bytes]) -> Packed:
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return np.frombuffer(b"".join(items), dtype=np.uint8), offsets


def decoded_strings(packed: Packed) -> list[str]:
    """The strings that `encoded_strings` was given, or a UnicodeDecodeError."""
    return [item.decode("utf-8", "surrogatepass") for item in _split_bytes(packed)]


def _split_bytes(packed: Packed) -> list[bytes]:
    joined = packed[0].tobytes()
    return [joined[a:b] for a, b in itertools.pairwise(packed[1].tolist())]


def pack_strings(name: str, packed: Packed, arrays: Arrays) -> None:
    arrays[f"{name}.utf8"], arrays[f"{name}.offsets"] = packed


def unpack_strings(path: StrPath, name: str, arrays: Arrays) -> Packed:
    """The packed strings of a file, or a ModelFileError where they cannot be taken apart."""
    utf8, offsets = arrays[f"{name}.utf8"], arrays[f"{name}.offsets"]
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or offsets.dtype != np.int64 or offsets.ndim != 1:
        damaged(path, f"{name}: strings of type {utf8.dtype} with offsets of type {offsets.dtype}")
    complete = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(utf8)
    if not complete or (offsets[1:] < offsets[:-1]).any():
        damaged(path, f"the offsets of {name} are out of order")
    return utf8, offsets


def pack_labels(path: StrPath, name: str, labels: NDArray[Any], arrays: Arrays) -> dict[str, Any]:
    """Add the names of classes or features to the arrays of a file, and return their metadata."""
    kind = labels.dtype.kind
    if kind in "biuf":
        arrays[name] = labels
        return {"kind": "number"}
    items = labels.tolist()
    if kind != "S" and not (kind in "UO" and all(isinstance(item, str) for item in items)):
        raise ModelFileError(
            f"{os.fspath(path)}: {name} of dtype {labels.dtype} cannot be saved; "
            "numbers and strings can: convert them before training"
        )
    pack_strings(name, _packed_bytes(items) if kind == "S" else encoded_strings(items), arrays)
    # Without the byte order: a reader uses its own.
    return {"kind": "text", "dtype": labels.dtype.str[1:] if kind != "O" else "object"}


def unpack_labels(path: StrPath, name: str, about: dict[str, Any], arrays: Arrays) -> NDArray[Any]:
    if about["kind"] == "number":
        # A copy in native order: small, and free to be written to.
        numbers = arrays[name]
        if numbers.ndim != 1:
            damaged(path, f"{name} have {numbers.ndim} dimensions")
        return np.array(numbers, dtype=numbers.dtype.newbyteorder("="))
    match = _TEXT_DTYPE.fullmatch(about["dtype"])
    if about["kind"] != "text" or match is None:
        damaged(path, f"{name} of the unknown kind {about['kind']!r}, {about.get('dtype')!r}")
    packed, kind = unpack_strings(path, name, arrays), match[1]
    items: list[Any] = _split_bytes(packed) if kind == "S" else decoded_strings(packed)
    if kind is None:
        return np.array(items, dtype=object)
    width, longest = int(match[2]), max(map(len, items), default=0)
    if width < longest or width > max(longest, 1 << 16):  # cuts an item, or takes all memory
        damaged(path, f"{name} of {longest} characters as {kind}{width}")
    return np.array(items, dtype=f"{kind}{width}")
