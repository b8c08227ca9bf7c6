"""64-bit keys of samples, by which a fit knows the samples of an earlier one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.solvers._problem import Problem

Keys = NDArray[np.uint64]

_ENTRIES_AT_ONCE = 4_000_000  # bounds the memory for numbers in between


@dataclass(frozen=True)
class Samples:
    """The samples of a fit, by which a later fit knows them again."""

    keys: Keys
    classes: NDArray[Any]  # their labels; the fit counted them from zero

    @classmethod
    def of(cls, problem: Problem, classes: NDArray[Any], raw: Keys | None) -> Samples:
        """The samples of a problem, by `raw` keys of all given ones or else by their features."""
        if raw is None:
            keys = row_keys(problem.X)
        else:
            keys = raw if problem.rows is None else raw[problem.rows]
        if problem.sets is not None:  # a set of labels is a part of the key
            names = text_keys(map(repr, classes.tolist()))[problem.sets.indices]
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(names, dtype=np.uint64)])
            at = problem.sets.indptr
            keys = _mixed(keys + _mixed(total[at[1:]] - total[at[:-1]]))
        return cls(keys, classes)


def row_keys(X: Any) -> Keys:
    """A key for each row, made from its indices and values without zeros.

    The same values have the same key in float32 and float64, in a dense array and in CSR.
    """
    n_rows = X.shape[0]
    if isinstance(X, np.ndarray):
        at_once = max(1, _ENTRIES_AT_ONCE // max(1, X.shape[1]))
        parts = (X[begin : begin + at_once] for begin in range(0, n_rows, at_once))
        return np.concatenate([row_keys(sp.csr_matrix(part)) for part in parts])
    keys = np.zeros(n_rows, dtype=np.uint64)
    begin = 0
    while begin < n_rows:
        last = int(X.indptr[begin]) + _ENTRIES_AT_ONCE
        end = max(begin + 1, int(np.searchsorted(X.indptr, last, side="right")) - 1)
        part = slice(int(X.indptr[begin]), int(X.indptr[end]))
        value = np.ascontiguousarray(X.data[part], dtype=np.float64)
        column = X.indices[part].astype(np.uint64)
        # The sum does not depend on the order, and the mixing keeps entries apart.
        entry = _mixed(value.view(np.uint64) + _mixed(column))
        entry[value == 0] = 0
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry, dtype=np.uint64)])
        at = (X.indptr[begin : end + 1] - X.indptr[begin]).astype(np.int64)
        keys[begin:end] = total[at[1:]] - total[at[:-1]]
        begin = end
    return _mixed(keys)


def text_keys(texts: Iterable[str]) -> Keys:
    """A key for each text."""
    digests = (
        hashlib.blake2b(str(each).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for each in texts
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def matched(
    before: Keys, labels_before: NDArray[Any], now: Keys, labels_now: NDArray[Any]
) -> NDArray[np.int64]:
    """For each present sample its place among the earlier ones; -1 for a new one.

    The same sample has the same key and the same label, a number from zero; a label below zero
    matches none. Of several equal samples each is matched once.
    """
    old = _mixed(before + _mixed(labels_before.astype(np.int64).view(np.uint64)))
    new = _mixed(now + _mixed(labels_now.astype(np.int64).view(np.uint64)))
    candidates = np.flatnonzero(labels_before >= 0)
    candidates = candidates[np.argsort(old[candidates], kind="stable")]
    order = np.argsort(new, kind="stable")
    old, new = old[candidates], new[order]
    # The first of equal keys now is the first before, the second the second.
    place = np.searchsorted(old, new) + np.arange(len(new)) - np.searchsorted(new, new)
    found = place < len(old)
    found[found] = old[place[found]] == new[found]
    origin = np.full(len(now), -1, dtype=np.int64)
    origin[order[found]] = candidates[place[found]]
    return origin


def _mixed(number: Keys) -> Keys:
    """Spread 64 bits over all of them (the finaliser of splitmix64, whose sums wrap around)."""
    z = number + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
