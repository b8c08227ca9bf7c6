"""Checksums: fingerprints of arrays, and the CRC-32 of a file from the CRC-32 of its pieces.

Ranks compute the CRC-32 of pieces in parallel. It is the remainder of a polynomial over GF(2).
Appending n bytes multiplies it by x^(8n), so the checksum of ``a`` followed by ``b`` is
``crc(a) x^(8 |b|) + crc(b)`` modulo the generator. The constants that zlib adds at both ends cancel
out of this sum. Polynomials are numbers with the coefficient of x^0 in bit 31, as in zlib.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_GENERATOR = 0xEDB88320
_ONE = 1 << 31
_X8 = _ONE >> 8


def crc32_combine(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two pieces, the second of `length` bytes, from the CRC-32 of each."""
    return _product(first, _power_of_x8(length)) ^ second


def _product(a: int, b: int) -> int:
    total = 0
    while a:
        if a & _ONE:
            total ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_GENERATOR if b & 1 else 0)  # times x
    return total


def _power_of_x8(exponent: int) -> int:
    power, square = _ONE, _X8
    while exponent:
        if exponent & 1:
            power = _product(power, square)
        square = _product(square, square)
        exponent >>= 1
    return power


def csr_arrays(X: sp.csr_matrix) -> list[NDArray[Any]]:
    """Return the arrays of a CSR matrix, without unused space behind its last entry."""
    entries = int(X.indptr[-1])
    return [X.data[:entries], X.indices[:entries], X.indptr]


def array_fingerprint(arrays: Iterable[NDArray[Any]], facts: object = None) -> str:
    """Hash arrays (types, shapes, content) and a few plain values. About 1 GB per second."""
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        if array.nbytes:  # an empty array has no flat memory view
            flat = np.ascontiguousarray(array).reshape(-1)
            digest.update(flat.view(np.uint8).data)
    return digest.hexdigest()
