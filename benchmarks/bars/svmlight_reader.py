"""Speed of the data reader next to scikit-learn's, on one file in one run.

Run as ``python -m benchmarks.bars.svmlight_reader [FILE]``. Without FILE, a seeded
file of about 50 MB is made in a temporary folder.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks.common.timing import best_of
from multimargin.io._svmlight import dump_svmlight, load_svmlight


def make_file(path: Path, megabytes: int = 50, seed: int = 0) -> None:
    """Write unit rows of 60 of 50,000 features with 1,000 integer labels."""
    rng = np.random.default_rng(seed)
    per_row, n_features = 60, 50_000
    bytes_per_row = 1_000  # 60 values of about 16 characters and a label
    n = megabytes * 1_000_000 // bytes_per_row
    # Distinct indices without a permutation per row: sorted draws plus their rank.
    drawn = np.sort(rng.integers(0, n_features - per_row, size=(n, per_row)), axis=1)
    indices = (drawn + np.arange(per_row)).astype(np.int32).ravel()
    values = rng.random((n, per_row))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(n + 1, dtype=np.int32) * per_row
    X = sp.csr_matrix((values.astype(np.float32).ravel(), indices, indptr), shape=(n, n_features))
    dump_svmlight(path, X, rng.integers(1, 1001, size=n))


def compare(path: Path, repeats: int) -> None:
    """Print one line per reader, after checking that all read the same."""
    megabytes = path.stat().st_size / 1e6
    print(f"{path.name}: {megabytes:.1f} MB, best of {repeats}")

    def peer() -> Any:
        return load_svmlight_file(str(path), dtype=np.float32, zero_based=False)

    peer_time, (peer_X, _) = best_of(repeats, peer)
    print(f"scikit-learn            {peer_time:8.3f} s {megabytes / peer_time:9.1f} MB/s")
    for n_threads in (1, 2):
        seconds, (X, _) = best_of(repeats, partial(load_svmlight, path, n_threads=n_threads))
        # scikit-learn rounds twice (decimal, float64, float32), hence the tolerance.
        same = np.array_equal(X.indices, peer_X.indices) and np.allclose(
            X.data, peer_X.data, rtol=1e-6, atol=0
        )
        if not same:
            raise SystemExit(f"the readers disagree about {path}")
        print(
            f"multimargin, {n_threads} thread{'s' * (n_threads > 1):1} "
            f"{seconds:11.3f} s {megabytes / seconds:9.1f} MB/s "
            f"{peer_time / seconds:7.1f} times scikit-learn"
        )


def main() -> None:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="plain LIBSVM file")
    parser.add_argument("--repeats", type=int, default=3, help="runs per reader (default 3)")
    args = parser.parse_args()
    if args.file is not None:
        compare(args.file, args.repeats)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.svm"
        make_file(path)
        compare(path, args.repeats)


if __name__ == "__main__":
    main()
