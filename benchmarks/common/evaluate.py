"""Objective, errors and density, from the weights alone: the same code for every peer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin.models._scores import LinearScores

_BLOCK_BYTES = 64 * 2**20  # of scores at a time
_TOP = 5
# Weights and scores of float32 leave the objective unsure by less than this, relatively.
_ROUNDING = 1e-6


def _is_sparse(weights: Any) -> bool:
    """A plain bool: the type that `issparse` narrows to has no members."""
    return bool(sp.issparse(weights))


def fingerprint(weights: Any) -> str:
    """A hash of all bits of the weights."""
    digest = hashlib.sha256()
    parts = (weights.data, weights.indices, weights.indptr) if _is_sparse(weights) else (weights,)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def density(weights: Any) -> float:
    """Share of weights that are not zero."""
    if _is_sparse(weights):
        nonzero = weights.count_nonzero()
    else:
        # By row: a comparison of all weights at once would need as many bytes.
        nonzero = sum(int(np.count_nonzero(row)) for row in _contiguous(weights))
    return float(nonzero / max(1, weights.shape[0] * weights.shape[1]))


def _weston_watkins(scores: np.ndarray, own: np.ndarray) -> float:
    return float(_relative_losses(scores, own).sum(dtype=np.float64))


def _crammer_singer(scores: np.ndarray, own: np.ndarray) -> float:
    return float(_relative_losses(scores, own).max(axis=1).sum(dtype=np.float64))


def _relative_losses(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The other classes' ``max(0, 1 - own score + score)``, 0 for the own class."""
    at = np.arange(len(scores))
    lost: np.ndarray = scores - scores[at, own][:, None]
    lost += 1
    np.maximum(lost, 0, out=lost)
    lost[at, own] = 0
    return lost


def _lee_lin_wahba(scores: np.ndarray, own: np.ndarray) -> float:
    lost = np.maximum(1 + scores, 0)
    lost[np.arange(len(scores)), own] = 0
    return float(lost.sum(dtype=np.float64))


def _one_vs_rest(scores: np.ndarray, own: np.ndarray) -> float:
    return float(_binary_losses(scores, own).sum(dtype=np.float64))


def _one_vs_rest_squared(scores: np.ndarray, own: np.ndarray) -> float:
    return float(np.square(_binary_losses(scores, own), dtype=np.float64).sum())


def _binary_losses(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Every class's ``max(0, 1 - score)`` for its samples, ``max(0, 1 + score)`` for others."""
    lost: np.ndarray = 1 + scores
    at = np.arange(len(scores))
    lost[at, own] = 1 - scores[at, own]
    np.maximum(lost, 0, out=lost)
    return lost


# The losses of some samples, from their scores of shape (samples, n_classes) and own classes.
LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "weston-watkins": _weston_watkins,
    "crammer-singer": _crammer_singer,
    "lee-lin-wahba": _lee_lin_wahba,
    "one-vs-rest": _one_vs_rest,
    "one-vs-rest-squared": _one_vs_rest_squared,
}


def primal(weights: Any, X: sp.csr_matrix, own: np.ndarray, C: float, loss: str) -> float:
    """The primal objective: half the squared norm plus C times the losses.

    Parameters
    ----------
    weights : ndarray or csr_matrix of shape (n_classes, n_features)
    X : csr_matrix of shape (n_samples, n_features)
    own : ndarray of int of shape (n_samples,)
        The row of each sample's own class.
    C : float
    loss : a key of `LOSSES`
    """
    lost = sum(LOSSES[loss](scores, own[rows]) for rows, scores in _score_blocks(weights, X))
    return 0.5 * _squared_norm(weights) + C * lost


def suboptimality(primal: float, bound: float) -> float:
    """How far a primal objective is above the optimum at most, relative to the optimum.

    Parameters
    ----------
    primal : float
    bound : float
        A lower bound of the optimum, greater than 0: the quotient is an upper bound.

    Raises
    ------
    ValueError
        If the objective is below the bound by more than rounding: one of them is wrong.
    """
    above = primal / bound - 1
    if above < -_ROUNDING:
        raise ValueError(
            f"the primal objective {primal:.10g} is below {bound:.10g}, a lower bound of the "
            "optimum: the weights, their objective or a dual objective is wrong"
        )
    return max(0.0, above)


def _squared_norm(weights: Any) -> float:
    values = weights.data if _is_sparse(weights) else weights
    return sum(
        float(np.square(row, dtype=np.float64).sum()) for row in _contiguous(np.atleast_2d(values))
    )


def at_bound(
    weights: Any, X: sp.csr_matrix, own: np.ndarray, C: float, dual: float
) -> dict[str, float]:
    """How far Lee-Lin-Wahba weights are from those with every alpha at its bound C.

    These are C times the difference between each class's sum of samples and the mean of these
    sums.

    Returns
    -------
    dict with
        off_bound : largest difference to these weights, relative to the largest of them;
        alpha_share : sum of alpha, from the dual and the weights, relative to its largest value;
        mean_share : largest entry of the weights' mean, which has to be 0, relative to the same.
    """
    n_classes = weights.shape[0]
    members = sp.csr_matrix(
        (np.ones(len(own)), (own, np.arange(len(own)))), shape=(n_classes, len(own))
    )
    expected = C * np.asarray((members @ X.astype(np.float64)).todense())
    expected -= expected.mean(axis=0)
    scale = float(np.abs(expected).max())
    dense = weights.toarray() if _is_sparse(weights) else weights
    alphas = dual + 0.5 * _squared_norm(weights)
    return {
        "off_bound": float(np.abs(dense - expected).max()) / scale,
        "alpha_share": float(alphas) / (C * len(own) * (n_classes - 1)),
        "mean_share": float(np.abs(dense.mean(axis=0, dtype=np.float64)).max()) / scale,
    }


def on_test(weights: Any, X: sp.csr_matrix, own: np.ndarray) -> dict[str, float]:
    """How well weights predict.

    Parameters
    ----------
    weights : ndarray or csr_matrix of shape (n_classes, n_features)
    X : csr_matrix of shape (n_samples, n_features)
    own : ndarray of int of shape (n_samples,)
        The row of each sample's own class, -1 for a class without weights.

    Returns
    -------
    dict with
        test_error : share of samples whose class is not the best;
        top5 : share of samples whose class is among the best five;
        macro_f1 : see `macro_f1`.
    """
    among = 0
    best = np.empty(X.shape[0], dtype=np.int64)
    k = min(_TOP, weights.shape[0])
    for rows, scores in _score_blocks(weights, X):
        best[rows] = scores.argmax(axis=1)
        top = np.argpartition(scores, -k, axis=1)[:, -k:]
        among += int(np.count_nonzero((top == own[rows][:, None]).any(axis=1)))
    return {
        "test_error": float(np.mean(best != own)),
        "top5": among / X.shape[0],
        "macro_f1": macro_f1(own, best),
    }


def macro_f1(truth: np.ndarray, said: np.ndarray) -> float:
    """The mean F1 of all classes that are there or were predicted, as in scikit-learn.

    Parameters
    ----------
    truth, said : ndarray of int of shape (n_samples,)
        True and predicted classes; -1 is a class as any other.
    """
    classes, codes = np.unique(np.concatenate([truth, said]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(classes)) for part in np.split(codes, 2)]
    right = np.bincount(codes[: len(truth)][truth == said], minlength=len(classes))
    # 2 hits / (2 hits + misses + false alarms); every class has at least one of these.
    return float(np.mean(2 * right / (counts[0] + counts[1])))


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
    if _is_sparse(weights):
        return LinearScores(weights, np.zeros(weights.shape[0]), threads=1).scores
    by_feature = np.ascontiguousarray(weights.T)  # no copy of a transposed view
    return lambda X: np.asarray(X @ by_feature)
