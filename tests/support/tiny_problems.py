"""Tiny random problems that a quadratic program can certify: every kind of trouble, by number."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference.ww import box_of, with_intercept

PENALTIES = [1e-3, 0.03, 1.0, 100.0, 1e4]
CLASS_COUNTS = [2, 3, 4, 7]


@dataclass(frozen=True)
class TinyProblem:
    """Data and options of one fit, and the same problem as the references take it."""

    X: Any
    y: np.ndarray
    n_classes: int
    C: float
    fit_intercept: bool
    scaling: float
    sample_weight: np.ndarray | None
    class_weight: dict[int, float] | None

    @property
    def options(self):
        """Keywords of the estimator."""
        return {
            "C": self.C,
            "fit_intercept": self.fit_intercept,
            "intercept_scaling": self.scaling,
            "class_weight": self.class_weight,
        }

    @property
    def box(self):
        """``u_i``."""
        given = self.class_weight or {}
        by_class = [given.get(c, 1.0) for c in range(self.n_classes)]
        return box_of(self.y, self.C, self.sample_weight, by_class)

    @property
    def A(self):  # noqa: N802 - a matrix
        """Dense rows with the constant feature; values as the estimator sees them."""
        if self.fit_intercept:
            return with_intercept(self.X, self.scaling)
        return with_intercept(self.X)[:, :-1]


def labels(rng, n, n_classes):
    """``n`` labels in which every class occurs."""
    return np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])


def tiny_problem(number, dtype=np.float64, C=None):
    """The problem of this number: 20 in a row have every penalty with every count of classes."""
    rng = np.random.default_rng(1000 + number)
    n_classes = CLASS_COUNTS[number % len(CLASS_COUNTS)]
    n, d = int(rng.integers(n_classes, 31)), int(rng.integers(1, 9))
    X, y = rng.standard_normal((n, d)), labels(rng, n, n_classes)
    if rng.random() < 0.5:
        X = X * (rng.random((n, d)) < 0.5)
    if rng.random() < 0.4:
        X[rng.integers(n, size=2)] = 0.0
    if rng.random() < 0.4:
        # Half of the rows again, under other labels.
        again = np.arange(0, n, 2)
        X, y = np.vstack([X, X[again]]), np.append(y, (y[again] + 1) % n_classes)
    weight = rng.uniform(0.2, 3.0, size=len(y)) if rng.random() < 0.4 else None
    by_class = {0: 2.0, n_classes - 1: 0.5} if rng.random() < 0.3 else None
    X = X.astype(dtype)
    return TinyProblem(
        X=scipy.sparse.csr_array(X) if rng.random() < 0.5 else X,
        y=y,
        n_classes=n_classes,
        C=PENALTIES[number % len(PENALTIES)] if C is None else C,
        fit_intercept=bool(rng.random() < 0.5),
        scaling=float(rng.choice([0.5, 1.0, 4.0])),
        sample_weight=weight,
        class_weight=by_class,
    )


def blobs(seed, n=60, d=6, n_classes=4):
    """Overlapping classes, off the origin so that the intercept has work."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n, n_classes)
    return rng.standard_normal((n, d)) + rng.standard_normal((n_classes, d))[y] + 0.5, y


def dense_problem(rng, n_classes):
    return rng.standard_normal((36, 6)), labels(rng, 36, n_classes)


def sparse_problem(rng, n_classes):
    X = rng.random((36, 30)) * (rng.random((36, 30)) < 0.15)
    return scipy.sparse.csr_array(X), labels(rng, 36, n_classes)


def duplicates_problem(rng, n_classes):
    X, y = rng.standard_normal((14, 5)), labels(rng, 14, n_classes)
    rows = np.concatenate([np.arange(14), rng.integers(14, size=20)])
    return X[rows], y[rows]


def conflicts_problem(rng, n_classes):
    """Every row occurs under two or more labels: no W separates them."""
    X, y = rng.standard_normal((12, 5)), labels(rng, 12, n_classes)
    return np.vstack([X, X, X]), np.concatenate([y, (y + 1) % n_classes, rng.permutation(y)])


def empty_rows_problem(rng, n_classes):
    X, y = sparse_problem(rng, n_classes)
    X = X.toarray()
    X[::4] = 0.0
    return scipy.sparse.csr_array(X), y


def singletons_problem(rng, n_classes):
    return rng.standard_normal((n_classes, 4)), np.arange(n_classes)


def unbalanced_problem(rng, n_classes):
    """All classes but the first have a single sample."""
    y = np.zeros(36, dtype=int)
    y[: n_classes - 1] = np.arange(1, n_classes)
    return rng.standard_normal((36, 6)), y


def scales_problem(rng, n_classes):
    """Rows and columns of very different lengths."""
    X = rng.standard_normal((30, 6)) * np.logspace(-2, 1, 6)
    return X * rng.choice([0.1, 1.0, 5.0], size=(30, 1)), labels(rng, 30, n_classes)


KINDS = [
    dense_problem,
    sparse_problem,
    duplicates_problem,
    conflicts_problem,
    empty_rows_problem,
    singletons_problem,
    unbalanced_problem,
    scales_problem,
]


@st.composite
def integer_problems(draw):
    """Small integers make ties, duplicates, empty rows and conflicts frequent."""
    n_classes = draw(st.integers(2, 6))
    n, d = draw(st.integers(n_classes, 18)), draw(st.integers(1, 5))
    X = draw(arrays(np.int8, (n, d), elements=st.integers(-3, 3))).astype(np.float64)
    rest = draw(arrays(np.int8, n - n_classes, elements=st.integers(0, n_classes - 1)))
    return TinyProblem(
        X=scipy.sparse.csr_array(X),
        y=np.concatenate([np.arange(n_classes), rest]),
        n_classes=n_classes,
        C=draw(st.sampled_from([0.01, 0.3, 1.0, 10.0])),
        fit_intercept=draw(st.booleans()),
        scaling=1.0,
        sample_weight=draw(arrays(np.int8, n, elements=st.integers(1, 3))).astype(np.float64),
        class_weight=None,
    )


def separable_problem(seed, n=24, n_classes=4, noise=0.3):
    """Classes around the axes: every hard margin exists."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n, n_classes)
    return 3.0 * np.eye(n_classes)[y] + noise * rng.standard_normal((n, n_classes)), y


def many_classes_problem(n=600, d=300, n_classes=40, per_row=8, seed=0):
    """Text-like rows, enough of them for several threads to have work."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n, n_classes)
    topics = rng.integers(d, size=(n_classes, 8))
    own = topics[y[:, None], rng.integers(8, size=(n, per_row // 2))]
    noise = rng.integers(d, size=(n, per_row - per_row // 2))
    rows, columns = np.repeat(np.arange(n), per_row), np.hstack([own, noise]).ravel()
    values = rng.uniform(0.2, 1.0, n * per_row)
    return scipy.sparse.coo_array((values, (rows, columns)), shape=(n, d)).tocsr(), y


class CallbackObserver:
    """Passes scans on to a function, which may return True to stop."""

    def __init__(self, function):
        self.on_scan = function

    def on_pass(self, passes, done=None):
        pass

    def close(self):
        pass
