"""LIBLINEAR's Crammer-Singer machine, ``-s 4`` with its defaults and no bias."""

from __future__ import annotations

import re
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import PeerUnavailableError

try:
    from liblinear import liblinear as binding
    from liblinear import liblinearutil as util
except ImportError as error:
    raise PeerUnavailableError(
        f"LIBLINEAR cannot be imported ({error}): pip install liblinear-official"
    ) from error


def train(X: sp.csr_matrix, y: np.ndarray, C: float, threads: int) -> tuple[Any, dict[str, Any]]:
    """Train; see `benchmarks.peers` for what is returned."""
    if threads != 1:
        raise PeerUnavailableError(f"LIBLINEAR -s 4 trains with one thread, not {threads}")
    problem = util.problem(y.astype(np.float64), sp.csr_matrix(X, dtype=np.float64))
    parameter = util.parameter(f"-s 4 -c {C:.17g}")
    # What it prints holds its dual objective; this reference keeps the callback alive.
    said: list[bytes] = []
    parameter.print_func = binding.PRINT_STRING_FUN(said.append)
    began, cpu_began = time.perf_counter(), time.process_time()
    model = util.train(problem, parameter)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    n_classes, n_features = model.get_nr_class(), model.get_nr_feature()
    # Stored by feature; a transposed view, since a copy of 12,582 classes would be 3.8 GB.
    by_feature = np.ctypeslib.as_array(model.w, (n_features, n_classes))
    text = b"".join(said).decode()
    return by_feature.T, {
        "owner": model,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "classes": np.array(model.get_labels()),
        "loss": "crammer-singer",
        "dual": -float(_found(r"Objective value = (\S+)", text)),
        "version": version("liblinear-official"),
        "passes": int(_found(r"#iter = (\d+)", text)),
        "details": {"options": "-s 4", "support_vectors": int(_found(r"nSV = (\d+)", text))},
    }


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"LIBLINEAR's output has no '{pattern}': {text[-300:]!r}")
    return match.group(1)
