"""Splits into samples to train on and samples to measure on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from multimargin.estimator._samples import check_labels
from multimargin.models.label_sets._sets import label_sets
from multimargin.tables import Table

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def folds_of(y: NDArray[Any], count: int, seed: Any = 0) -> list[Split]:
    """Return train and test indices of stratified folds.

    The samples of each label are dealt out to the folds, in random order. So every label of a
    fold's held-out samples is among its training samples too: a label that is seen once is never
    held out, and one that is seen twice is in two folds. Raises a ValueError where there are too
    few samples for so many folds.
    """
    if count < 2:
        raise ValueError(f"folds must be at least 2, got {count}")
    groups = _shuffled_groups(y, seed)
    usable = sum(len(group) for group in groups)
    if usable < count:
        raise ValueError(
            f"folds={count} is too many for {usable} samples with a label that is seen twice or "
            f"more (of {len(y)} in all): give fewer folds"
        )
    fold = np.full(len(y), -1, dtype=np.intp)
    dealt = 0
    for group in groups:
        # Goes on where the last label ended, so that folds have the same size.
        fold[group] = (dealt + np.arange(len(group))) % count
        dealt += len(group)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]


def holdout_of(y: NDArray[Any], share: float, seed: Any = 0) -> Split:
    """Return train and test indices of one stratified split.

    A share of each label's samples is held out, between 0 and 1; one sample of each label stays.
    """
    if not 0 < share < 1:
        raise ValueError(f"holdout must be a share between 0 and 1, got {share!r}")
    test = np.zeros(len(y), dtype=bool)
    seen, due = 0, 0.0
    for group in _shuffled_groups(y, seed):
        # Shares of a sample are carried over to the next label.
        seen += len(group)
        count = min(len(group) - 1, round(seen * share - due))
        test[group[: max(0, count)]] = True
        due += max(0, count)
    if not test.any():
        raise ValueError(
            f"holdout={share:g} of {len(y)} samples leaves none to measure on: give a larger share "
            "(one sample of each label stays in training)"
        )
    return np.flatnonzero(~test), np.flatnonzero(test)


def seen_once(y: NDArray[Any]) -> int:
    """Return the number of labels of a single sample, which always stays in training."""
    return int((np.unique(y, return_counts=True)[1] == 1).sum())


def _shuffled_groups(y: NDArray[Any], seed: Any) -> list[NDArray[np.intp]]:
    """Return the samples of each label that is seen twice or more, in random order."""
    random = check_random_state(seed)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    order = random.permutation(len(y))
    order = order[np.argsort(codes[order], kind="stable")]
    groups = np.split(order, np.cumsum(counts)[:-1])
    found = [group for group in groups if len(group) > 1]
    if not found:
        raise ValueError(
            "no label has two samples, so that none can be held out: give validation samples"
        )
    return found


def rows_of(X: Any, index: NDArray[np.intp]) -> Any:
    """Return some of the samples: rows of a matrix, list, data frame or mapping of columns."""
    if isinstance(X, Table):
        return X[index]
    if isinstance(X, Mapping):
        return {name: _safe_indexing(column, index) for name, column in X.items()}
    return _safe_indexing(X, index)


def _count_of(X: Any) -> int:
    if hasattr(X, "shape"):
        return int(X.shape[0])
    if isinstance(X, Mapping) and not isinstance(X, Table):
        return len(next(iter(X.values()), ()))
    return len(X)


def checked_labels(X: Any, y: Any, part: str) -> NDArray[Any]:
    """Return labels as an array, one for each sample; or a ValueError, which names the part."""
    if label_sets(y) is not None:
        raise ValueError(
            "models are compared by one label per sample, and y has sets of labels: try values of "
            "C with sklearn's GridSearchCV and an indicator matrix"
        )
    check_labels(y)
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"{part} labels must be a non-empty list, got shape {labels.shape}")
    if _count_of(X) != len(labels):
        raise ValueError(f"there are {_count_of(X)} {part} samples but {len(labels)} labels")
    return labels
