"""LIBSVM text and comparisons of what was read."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import Any

import numpy as np
import scipy.sparse as sp

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


TEXT = b"3 1:0.5 4:-2\n1 2:1e-3\n3\n"


def random_rows(seed: int, n: int = 200, d: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.2, format="csr", random_state=rng, dtype=np.float64)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-30, 30, X.nnz)
    return X, rng.integers(-5, 5, n)


def assert_same(a: Any, b: Any) -> None:
    """Same matrix and labels, to the bit and the type."""
    for part in ("data", "indices", "indptr"):
        left, right = getattr(a[0], part), getattr(b[0], part)
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes()
    assert a[0].shape == b[0].shape
    assert a[1].dtype == b[1].dtype
    assert a[1].tolist() == b[1].tolist()
