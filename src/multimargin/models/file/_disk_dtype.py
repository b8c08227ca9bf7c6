"""The type that weights have on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STORED = ("float16", "float32")


def keeps_digits(weights: str | None) -> bool:
    """Whether weights on disk are the certified ones, but for the last bits of float32."""
    return weights != "float16"


def check_disk_dtype(weights: str | None) -> None:
    """Refuse types that a model file does not offer."""
    if weights is not None and weights not in STORED:
        allowed = " or ".join(repr(name) for name in STORED)
        raise ValueError(f"weights must be {allowed}, or None for as trained, got {weights!r}")


def to_disk(values: NDArray[Any], weights: str | None) -> NDArray[Any]:
    """Weights in the type that they have on disk, if it has room and digits for them."""
    if weights is None or (kind := np.dtype(weights)).itemsize >= values.dtype.itemsize:
        return values
    largest = float(np.max(np.abs(values), initial=0.0))
    limits = np.finfo(kind)
    remedy = "scale the features, or keep them in float32"
    if largest > float(limits.max):
        raise ValueError(
            f"the weights reach {largest:.3g}, more than {weights} can hold "
            f"({float(limits.max):.6g}): {remedy}"
        )
    if 0 < largest < float(limits.tiny):
        raise ValueError(
            f"the weights reach only {largest:.3g}, where {weights} has few digits left (below "
            f"{float(limits.tiny):.3g}): {remedy}"
        )
    with np.errstate(under="ignore"):
        return values.astype(kind)


def from_disk(values: NDArray[Any]) -> NDArray[Any]:
    """Weights of a file in the type of predictions: float16 as a read-only copy in float32."""
    if values.dtype.itemsize != 2:
        return values
    wide = values.astype(np.float32)
    wide.flags.writeable = False  # as mapped ones are
    return wide
