"""What weights are worth, from the weights alone: the same code for every peer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin._prediction import LinearScores

_BLOCK_BYTES = 64 * 2**20  # of scores at a time
_TOP = 5


def fingerprint(weights: Any) -> str:
    """A hash of all bits of the weights."""
    digest = hashlib.sha256()
    parts = (weights.data, weights.indices, weights.indptr) if sp.issparse(weights) else (weights,)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def density(weights: Any) -> float:
    """Share of weights that are not zero."""
    if sp.issparse(weights):
        nonzero = weights.count_nonzero()
    else:
        # By row: a comparison of all weights at once would need as many bytes.
        nonzero = sum(int(np.count_nonzero(row)) for row in _contiguous(weights))
    return float(nonzero / max(1, weights.shape[0] * weights.shape[1]))


def primal(weights: Any, X: sp.csr_matrix, own: np.ndarray, C: float, loss: str) -> float:
    """The primal objective: half the squared norm plus C times the losses.

    Parameters
    ----------
    weights : ndarray or csr_matrix of shape (n_classes, n_features)
    X : csr_matrix of shape (n_samples, n_features)
    own : ndarray of int of shape (n_samples,)
        The row of each sample's own class.
    C : float
    loss : "weston-watkins" or "crammer-singer"
        The sum, or the largest, of the other classes' ``max(0, 1 - own score + score)``.
    """
    total = 0.0
    for rows, scores in _score_blocks(weights, X):
        at = np.arange(len(scores))
        margin_lost = scores - scores[at, own[rows]][:, None]
        margin_lost += 1
        np.maximum(margin_lost, 0, out=margin_lost)
        margin_lost[at, own[rows]] = 0
        each = margin_lost.max(axis=1) if loss == "crammer-singer" else margin_lost
        total += float(each.sum(dtype=np.float64))
    values = weights.data if sp.issparse(weights) else weights
    squares = sum(
        float(np.square(row, dtype=np.float64).sum()) for row in _contiguous(np.atleast_2d(values))
    )
    return 0.5 * squares + C * total


def errors(weights: Any, X: sp.csr_matrix, own: np.ndarray) -> tuple[float, float]:
    """Share of samples whose class is not the best, and share with it among the best five.

    `own` is the row of each sample's own class, -1 for a class without weights.
    """
    wrong = among = 0
    k = min(_TOP, weights.shape[0])
    for rows, scores in _score_blocks(weights, X):
        wrong += int(np.count_nonzero(scores.argmax(axis=1) != own[rows]))
        top = np.argpartition(scores, -k, axis=1)[:, -k:]
        among += int(np.count_nonzero((top == own[rows][:, None]).any(axis=1)))
    return wrong / X.shape[0], among / X.shape[0]


def _contiguous(weights: np.ndarray) -> np.ndarray:
    """Whichever of the matrix and its transpose lies in memory by rows."""
    return weights if weights.flags.c_contiguous else weights.T


def _score_blocks(weights: Any, X: sp.csr_matrix) -> Any:
    score = _scorer(weights)
    step = max(1, _BLOCK_BYTES // (8 * weights.shape[0]))
    for begin in range(0, X.shape[0], step):
        rows = slice(begin, min(X.shape[0], begin + step))
        yield rows, score(X[rows])


def _scorer(weights: Any) -> Callable[[sp.csr_matrix], np.ndarray]:
    if sp.issparse(weights):
        return LinearScores(weights, np.zeros(weights.shape[0]), threads=1).scores
    by_feature = np.ascontiguousarray(weights.T)  # no copy of a transposed view
    return lambda X: np.asarray(X @ by_feature)
