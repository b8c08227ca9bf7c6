"""Random samples that make certificates hard: scales, duplicates, what is empty, few and many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

# Most samples, features and classes; "many" has more than all that are active from the start.
_SIZES = {
    "tiny": (25, 6, 4),
    "small": (400, 60, 40),
    "many": (400, 60, 120),
    "words": (300, 300, 80),
    "texts": (100, 120, 12),
}
_SHARES = {"tiny": 0.4, "small": 0.3, "many": 0.1, "words": 0.1, "texts": 0.1}
_MOST_ACTIVE = 64


@dataclass(frozen=True)
class Samples:
    """The data of a fit: features in double precision, or texts.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), or of str of shape (n_samples,)
    y : ndarray of int
    weight : ndarray of float, or None
    dtype : str
        Of the features that the fit gets.
    sparse : bool
        Whether it gets a CSR matrix.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    dtype: str = "float64"
    sparse: bool = False

    @property
    def texts(self) -> bool:
        return self.X.ndim == 1

    def given(self) -> Any:
        """The first argument of ``fit``."""
        if self.texts:
            return self.X.tolist()
        X = self.X.astype(self.dtype)
        return sp.csr_matrix(X) if self.sparse else X

    def take(self, rows: np.ndarray) -> Samples:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weight=weight)

    def emptied(self, rows: np.ndarray) -> Samples:
        """The same with nothing in these samples."""
        X = self.X.copy()
        X[rows] = "" if self.texts else 0
        return replace(self, X=X)

    def __str__(self) -> str:
        kind = "texts" if self.texts else f"{self.dtype} {'CSR' if self.sparse else 'dense'}"
        weighted = "" if self.weight is None else ", weighted"
        return f"{self.X.shape} {kind}, {len(np.unique(self.y))} classes{weighted}"


def samples(rng: np.random.Generator) -> Samples:
    """Any samples, of at least two classes."""
    size = str(rng.choice(list(_SIZES), p=list(_SHARES.values())))
    most_n, most_d, most_k = _SIZES[size]
    k = int(rng.integers(_MOST_ACTIVE + 1 if size == "many" else 2, most_k + 1))
    n = int(rng.integers(min(k, most_n), most_n + 1))
    d = int(rng.integers(1, most_d + 1))
    y = _labels(rng, n, k)
    X = _texts(rng, y, d + 1) if size == "texts" else _features(rng, y, d, size == "words")
    drawn = Samples(
        X,
        y,
        weights(rng, n),
        dtype=str(rng.choice(["float32", "float64"])),
        sparse=bool(rng.random() < 0.5),
    )
    if rng.random() < 0.3:
        drawn = drawn.emptied(some(rng, n))
    if rng.random() < 0.3:  # again, and some of them under another label
        again = drawn.take(some(rng, n))
        moved = np.where(rng.random(len(again.y)) < 0.5, again.y, rng.permutation(again.y))
        drawn = joined(drawn, replace(again, y=moved))
    return drawn


def more_samples(rng: np.random.Generator, like: Samples) -> Samples:
    """Other samples of the same kind, some of them of new classes."""
    n = int(rng.integers(1, 20))
    rows = rng.integers(0, len(like.y), n)
    more = like.take(rows)
    y = np.where(rng.random(n) < 0.3, like.y.max() + rng.integers(1, 3, n), more.y)
    X = like.X[rng.permutation(rows)] if like.texts else more.X * rng.normal(1, 0.3, more.X.shape)
    return replace(more, X=X, y=y)


def joined(one: Samples, other: Samples) -> Samples:
    weight = None if one.weight is None else np.append(one.weight, other.weight)
    X = np.concatenate([one.X, other.X])
    return replace(one, X=X, y=np.append(one.y, other.y), weight=weight)


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """None, or weights over some orders of magnitude, some of them zero."""
    if rng.random() < 0.6:
        return None
    drawn = 10 ** rng.uniform(-1, 1, n) if rng.random() < 0.5 else 10 ** rng.uniform(-4, 3, n)
    return np.where(rng.random(n) < 0.1, 0.0, drawn) if rng.random() < 0.3 else drawn


def some(rng: np.random.Generator, n: int) -> np.ndarray:
    """Some of n places, at least one."""
    chosen: np.ndarray = rng.permutation(n)[: int(rng.integers(1, max(2, n // 4 + 1)))]
    return chosen


def _labels(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """All classes occur, as far as there are samples; often some of them much more."""
    share = rng.dirichlet(np.full(k, rng.choice([0.3, 10.0])))
    drawn = np.append(np.arange(min(n, k)), rng.choice(k, max(0, n - k), p=share))
    return rng.permutation(drawn)


def _features(rng: np.random.Generator, y: np.ndarray, d: int, words: bool) -> np.ndarray:
    n, k = len(y), int(y.max()) + 1
    centres = rng.normal(size=(k, d)) * (rng.random((k, d)) < rng.choice([0.1, 1.0]))
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 0.3, 3.0]) * centres[y]
    if words or rng.random() < 0.4:
        X = np.abs(X) * (rng.random((n, d)) < (5 / d if words else rng.uniform(0.1, 1)))
    if words or rng.random() < 0.2:
        X /= np.maximum(1e-12, np.linalg.norm(X, axis=1, keepdims=True))
    if rng.random() < 0.2:
        X[:, some(rng, d)] = 0
    if rng.random() < 0.2:
        X *= 10 ** rng.uniform(-2, 2, d)
    return X if rng.random() < 0.5 else X * 10 ** rng.uniform(-4, 3)


def _texts(rng: np.random.Generator, y: np.ndarray, vocabulary: int) -> np.ndarray:
    topics = rng.integers(vocabulary, size=(int(y.max()) + 1, 3))
    lines = []
    for label in y:
        drawn = np.append(rng.choice(topics[label], 2), rng.integers(vocabulary, size=4))
        lines.append(" ".join(f"word{word}" for word in drawn[: rng.integers(0, 7)]))
    lines[0] = f"word{topics[y[0], 0]}"  # there must be one
    return np.array(lines, dtype=object)
