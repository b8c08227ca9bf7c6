"""Names of classes and features in a model file: numbers, or texts as UTF-8."""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import ModelFileError, damaged
from multimargin.models.file._coef import Arrays

_TEXT_DTYPE = re.compile(r"([US])(\d{1,9})|object")


def pack_labels(
    path: str | os.PathLike[str], name: str, labels: NDArray[Any], arrays: Arrays
) -> dict[str, Any]:
    """Numbers as an array; strings as their UTF-8 bytes, one after the other, and offsets."""
    if labels.dtype.kind in "biuf":
        arrays[name] = labels
        return {"kind": "number"}
    items = labels.tolist()
    if labels.dtype.kind == "S":
        encoded = list(items)
    elif labels.dtype.kind in "UO" and all(isinstance(item, str) for item in items):
        encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    else:
        raise ModelFileError(
            f"{os.fspath(path)}: {name} of dtype {labels.dtype} cannot be saved; "
            "numbers and strings can: convert them before training"
        )
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    arrays[f"{name}.utf8"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    arrays[f"{name}.offsets"] = offsets
    # Without the byte order, which is the reading machine's own.
    return {"kind": "text", "dtype": labels.dtype.str[1:] if labels.dtype.kind != "O" else "object"}


def unpack_labels(
    path: str | os.PathLike[str], name: str, about: dict[str, Any], arrays: Arrays
) -> NDArray[Any]:
    if about["kind"] == "number":
        # A copy in native order: small, and free to be written to.
        numbers = arrays[name]
        if numbers.ndim != 1:
            damaged(path, f"{name} have {numbers.ndim} dimensions")
        return np.array(numbers, dtype=numbers.dtype.newbyteorder("="))
    match = _TEXT_DTYPE.fullmatch(about["dtype"])
    if about["kind"] != "text" or match is None:
        damaged(path, f"{name} of the unknown kind {about['kind']!r}, {about.get('dtype')!r}")
    text, offsets = arrays[f"{name}.utf8"].tobytes(), arrays[f"{name}.offsets"]
    ends = offsets.tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
        damaged(path, f"the offsets of the {name} are out of order")
    pieces = [text[a:b] for a, b in itertools.pairwise(ends)]
    if match[1] == "S":
        return np.array(pieces, dtype=_wide_enough(path, name, "S", int(match[2]), pieces))
    strings = [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    if match[1] is None:
        return np.array(strings, dtype=object)
    return np.array(strings, dtype=_wide_enough(path, name, "U", int(match[2]), strings))


def _wide_enough(
    path: str | os.PathLike[str], name: str, kind: str, width: int, items: list[Any]
) -> str:
    """Return the string dtype, unless it would cut an item or take memory without end."""
    longest = max((len(item) for item in items), default=0)
    if width < longest or width > max(longest, 1 << 16):
        damaged(path, f"{name} of {longest} characters as {kind}{width}")
    return f"{kind}{width}"
