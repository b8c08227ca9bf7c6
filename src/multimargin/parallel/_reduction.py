"""Sums of floating-point vectors over the ranks, the same for any number of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided


def sum_parts(
    comm: Communicator, parts: Mapping[int, NDArray[Any]], length: int, dtype: DTypeLike
) -> NDArray[Any]:
    """Sum of all ranks' vectors, added in the order of their numbers, on all ranks.

    Every rank adds up one stretch of the vectors: each number crosses the network once on its way
    there, and each sum once on its way back.

    Parameters
    ----------
    comm : Communicator
    parts : dict of int to ndarray of shape (length,)
        Those of this rank. No number is used twice over all ranks.
    length : int
    dtype : dtype
        Of the vectors and of the sum.
    """
    numbers = np.array(sorted(parts), dtype=np.int64)
    cut = divided(length, comm.size)
    outgoing = [
        [numbers, *(np.ascontiguousarray(parts[int(k)][a:b], dtype=dtype) for k in numbers)]
        for a, b in itertools.pairwise(cut)
    ]
    stretches = {
        int(number): piece
        for held, *pieces in comm.alltoall(outgoing)
        for number, piece in zip(held, pieces, strict=True)
    }
    total = np.zeros(cut[comm.rank + 1] - cut[comm.rank], dtype=dtype)
    for number in sorted(stretches):
        total += stretches[number]
    return np.concatenate([piece for (piece,) in comm.allgather([total])])
