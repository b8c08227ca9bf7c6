"""A short name for the data of a fit: equal data, equal name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin._problem import Problem


def fingerprint(problem: Problem) -> str:
    """The name of a problem's data: samples, labels, box and constant feature.

    The box holds C: of two problems that differ in C alone the names differ, too.

    Returns
    -------
    name : str
        32 hexadecimal digits.
    """
    arrays = [*csr_arrays(problem.X), problem.y, problem.box]
    rows, columns = problem.X.shape
    return array_fingerprint(
        arrays, [int(rows), int(columns), int(problem.n_classes), float(problem.bias)]
    )


def csr_arrays(X: sp.csr_matrix) -> list[NDArray[Any]]:
    """What makes up a CSR matrix, without what lies behind its last entry."""
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
