"""Names of classes and features in a model file: numbers, or texts as UTF-8."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import ModelFileError, damaged
from multimargin.models.file._strings import (
    Arrays,
    decoded_strings,
    encoded_strings,
    pack_strings,
    packed_bytes,
    split_bytes,
    unpack_strings,
)

_TEXT_DTYPE = re.compile(r"([US])(\d{1,9})|object")


def pack_labels(
    path: str | os.PathLike[str], name: str, labels: NDArray[Any], arrays: Arrays
) -> dict[str, Any]:
    """Add labels to the arrays of a file, and return their metadata."""
    if labels.dtype.kind in "biuf":
        arrays[name] = labels
        return {"kind": "number"}
    items = labels.tolist()
    if labels.dtype.kind == "S":
        packed = packed_bytes(items)
    elif labels.dtype.kind in "UO" and all(isinstance(item, str) for item in items):
        packed = encoded_strings(items)
    else:
        raise ModelFileError(
            f"{os.fspath(path)}: {name} of dtype {labels.dtype} cannot be saved; "
            "numbers and strings can: convert them before training"
        )
    pack_strings(name, packed, arrays)
    # Without the byte order: a reader uses its own.
    return {"kind": "text", "dtype": labels.dtype.str[1:] if labels.dtype.kind != "O" else "object"}


def unpack_labels(
    path: str | os.PathLike[str], name: str, about: dict[str, Any], arrays: Arrays
) -> NDArray[Any]:
    """The labels that `pack_labels` added."""
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
    items = split_bytes(packed) if kind == "S" else decoded_strings(packed)
    if kind is None:
        return np.array(items, dtype=object)
    return np.array(items, dtype=_wide_enough(path, name, kind, int(match[2]), items))


def _wide_enough(path: str | os.PathLike[str], name: str, kind: str, width: int, items: Any) -> str:
    """Return the string dtype, unless it would cut an item or take memory without end."""
    longest = max((len(item) for item in items), default=0)
    if width < longest or width > max(longest, 1 << 16):
        damaged(path, f"{name} of {longest} characters as {kind}{width}")
    return f"{kind}{width}"
