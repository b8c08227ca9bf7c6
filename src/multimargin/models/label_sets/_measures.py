"""Measures of how well predicted sets of labels fit the true ones; nothing of samples x labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from multimargin.models.label_sets._sets import sets_among

PRECISIONS = (1, 3, 5)


def differing(truth: Any, predicted: Any) -> NDArray[np.bool_]:
    """Say of each sample whether two labels, or two sets of labels, are different."""
    if not sp.issparse(truth):
        return np.asarray(truth != predicted)
    a, b = _of_same_width(truth, predicted)
    return np.diff(sp.csr_matrix(a != b).indptr) > 0


def subset_accuracy(
    classes: NDArray[Any], y: Any, predicted: sp.csr_matrix, sample_weight: ArrayLike | None
) -> float:
    """Return the share of samples whose whole set of labels is predicted."""
    truth: Any = sets_among(classes, y)
    if truth.shape[0] != predicted.shape[0]:
        raise ValueError(f"{predicted.shape[0]} samples, but labels of {truth.shape[0]}")
    weights: Any = sample_weight
    right: Any = ~differing(truth, predicted)
    return float(np.average(right, weights=weights))


def set_measures(
    classes: NDArray[Any], y: Any, predicted: sp.csr_matrix, best: NDArray[Any]
) -> dict[str, Any]:
    """Compare sets of labels with predicted ones, and with the `best` labels of each sample.

    `best` has shape (n_samples, k), the best label first. Macro-F1 is the mean over all labels that
    a sample has or that were predicted.
    """
    truth: Any
    given: Any
    truth, given = _of_same_width(sets_among(classes, y), predicted)
    counts, there = truth.getnnz(axis=0), given.getnnz(axis=0)
    hits = truth.multiply(given).tocsr().getnnz(axis=0)
    total = counts + there
    f1 = (2 * hits / np.maximum(1, total))[total > 0]
    unseen = truth[:, len(classes) :]
    rows, places = np.arange(best.shape[0])[:, None], np.searchsorted(classes, best)
    right = np.asarray(truth[np.repeat(rows, best.shape[1], axis=1), places].todense()) > 0
    return {
        "samples": truth.shape[0],
        "labels_per_sample": truth.nnz / truth.shape[0],
        "predicted_per_sample": given.nnz / truth.shape[0],
        "error": float(differing(truth, given).mean()),
        "micro_f1": float(2 * hits.sum() / max(1, total.sum())),
        "macro_f1": float(f1.mean()) if len(f1) else 0.0,
        **{
            f"precision_at_{k}": float(right[:, :k].mean())
            for k in PRECISIONS
            if k <= best.shape[1]
        },
        "unseen_labels": unseen.shape[1],
        "unseen_samples": int((unseen.getnnz(axis=1) > 0).sum()),
    }


def _of_same_width(*members: Any) -> list[Any]:
    width = max(each.shape[1] for each in members)
    parts: Any = [(each.data, each.indices, each.indptr) for each in members]
    return [sp.csr_matrix(part, shape=(members[0].shape[0], width)) for part in parts]
