"""Products of dense rows with all classes next to BLAS, on one thread and one set of numbers.

Run as ``python -m benchmarks.bars.dense_scan [ROWS FEATURES CLASSES]``. The scan finds losses and
violators of the active-set solver after a few passes; scores are written to memory, as BLAS does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from multimargin import _core
from multimargin.solvers._layout import core_rows
from multimargin.solvers._problem import Problem

_REPEATS = 5
_PASSES = 3  # before the scan: at weights of zero every class violates


def compare(rows: int, features: int, classes: int) -> None:
    """Print the processor time of BLAS, of our scores and of a scan, and their speed."""
    rng = np.random.default_rng(0)
    y = (np.arange(rows) % classes).astype(np.int32)
    centres = rng.normal(size=(classes, features))
    X = (centres[y] + rng.normal(size=(rows, features))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = rng.normal(size=(classes, features)).astype(np.float32)
    out, isa = np.empty((rows, classes), dtype=np.float32), _core.best_isa()
    weights = _core.dense_weights(W, np.zeros(classes, dtype=np.float32))

    def scores() -> None:
        _core.scores(rows=core_rows(X), weights=weights, isa=isa, threads=1, out=out)

    print(f"{rows:,} x {features:,} rows, {classes:,} classes, {_core.isa_name(isa)}, one thread")
    with threadpool_limits(1):
        _report("BLAS (NumPy)", rows * features * classes, lambda: np.matmul(X, W.T, out=out))
        expected = out.copy()
        _report("scores", rows * features * classes, scores)
    if not np.allclose(out, expected, atol=1e-4):
        raise SystemExit("the products disagree")
    scan = _scan(Problem(X, y, np.ones(rows, dtype=np.float32), classes, 0.0, "ww"))
    _report("scan", rows * features * classes, scan)


def _scan(problem: Problem) -> Callable[[], Any]:
    engine = _core.engine(problem.samples, problem.formulation, 1, 0)
    engine.start_from_centroids(12, 1000)
    rule = _core.VisitRule(
        everything=True, leave_below=0.0, idle=-1.0, quiet_gap=0.0, quiet_violation=-1.0
    )
    for _ in range(_PASSES):
        engine.run_pass(rule)
    return lambda: engine.scan(64, 10**9, -1.0)


def _report(name: str, multiply_adds: int, work: Callable[[], Any]) -> None:
    times = []
    for _ in range(_REPEATS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    best = min(times)
    print(f"{name:14}{best:8.3f} s {multiply_adds / best / 1e9:8.1f} G multiply-adds/s")


def main() -> None:
    """Compare at the sizes of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = {"rows": 28_630, "features": 256, "classes": 1_000}
    for name, size in sizes.items():
        parser.add_argument(name, type=int, nargs="?", default=size)
    args = parser.parse_args()
    compare(args.rows, args.features, args.classes)


if __name__ == "__main__":
    main()
