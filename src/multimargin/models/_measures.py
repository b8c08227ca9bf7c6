"""Measures of how well predictions fit labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import f1_score

from multimargin.models._label_costs import label_costs
from multimargin.models._label_tree import LabelTree


def measures(
    classes: NDArray[Any], y: NDArray[Any], best: NDArray[Any], label_cost: Any = None
) -> dict[str, Any]:
    """Compare labels with predictions.

    The classes are sorted; ``best`` has shape (n_samples, k), the best prediction first. With label
    costs there is ``mean_cost``, of the samples whose label has any.
    """
    truth, n_unseen_labels = _codes(classes, y)
    predicted = np.searchsorted(classes, best)
    hit = predicted == truth[:, None]
    return {
        "samples": len(y),
        "error": 1.0 - float(hit[:, 0].mean()),
        **_mean_cost(classes, y, truth, predicted[:, 0], label_cost),
        "micro_f1": float(f1_score(truth, predicted[:, 0], average="micro", zero_division=0)),
        "macro_f1": float(f1_score(truth, predicted[:, 0], average="macro", zero_division=0)),
        "top_k": best.shape[1],
        "top_k_accuracy": float(hit.any(axis=1).mean()),
        "unseen_labels": n_unseen_labels,
        "unseen_samples": int((truth >= len(classes)).sum()),
    }


def mean_label_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    label_cost: Any,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean cost of predictions: 0 for right ones, else what the two labels cost.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    label_cost : array, sparse matrix or tree
        As of `MulticlassSVC`.
    labels : array-like of shape (n_classes,), default=None
        The labels, sorted, that an array or a sparse matrix has rows and columns for; by default
        those in `y_true` and `y_pred`.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    Examples
    --------
    >>> from multimargin import mean_label_cost
    >>> mean_label_cost([0, 1, 2, 2], [0, 1, 1, 0], [[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    1.25
    """
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    known = np.unique(np.concatenate([truth, predicted])) if labels is None else np.asarray(labels)
    codes = [_codes(known, each)[0].astype(np.int32) for each in (truth, predicted)]
    if max(each.max(initial=0) for each in codes) >= len(known):
        raise ValueError("y_true or y_pred has labels that are not in labels")
    costs = label_costs(label_cost, known)
    each: Any = codes[0] != codes[1] if costs is None else costs.between(*codes)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(each, weights=weights))


def _mean_cost(
    classes: NDArray[Any], y: NDArray[Any], truth: Any, predicted: Any, given: Any
) -> dict[str, float]:
    """Return the mean cost; a tree may have labels that the model does not know."""
    if given is None:
        return {}
    tree = LabelTree(given) if isinstance(given, Mapping) else given
    unseen = truth >= len(classes)
    named = [as_class(label, classes) for label in y[unseen].tolist()]
    more = [each for each in dict.fromkeys(named) if isinstance(tree, LabelTree) and each in tree]
    place = {label: len(classes) + k for k, label in enumerate(more)}
    own = truth.copy()
    own[unseen] = [place.get(label, -1) for label in named]
    known = own >= 0
    labels = np.array([*classes.tolist(), *more], dtype=object)
    costs, pairs = label_costs(tree, labels), (own[known], predicted[known])
    each = pairs[0] != pairs[1] if costs is None else costs.between(*pairs)
    return {"mean_cost": float(each.mean()) if known.any() else float("nan")}


def _codes(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Number the labels: their place among the classes, or from n_classes on if not there.

    Also returns how many different labels are not there.
    """
    labels, inverse = _as_classes(classes, y)
    unseen = iter(range(len(classes), len(classes) + len(labels)))
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = [next(unseen) if label is None else place[label] for label in labels]
    return np.array(codes, dtype=np.intp)[inverse], labels.tolist().count(None)


def known_labels(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Labels in the type of the classes; None for a label that no class has."""
    labels, inverse = _as_classes(classes, y)
    return labels[inverse]


def _as_classes(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels in the type of the classes, None where it is no class; and an index."""
    values, inverse = np.unique(y, return_inverse=True)
    known = set(classes.tolist())
    named = [as_class(label, classes) for label in values.tolist()]
    return np.array([name if name in known else None for name in named], dtype=object), inverse


def as_class(label: int | str, classes: NDArray[Any]) -> Any:
    """A label in the type of the classes; None for a text that is no number among numbers.

    A file has integer labels if all of them are integers and text labels otherwise, so that
    the label 3 can be 3 in the training data and "3" in the test data, or the reverse.
    """
    if classes.dtype.kind in "UO":
        return str(label)
    if not isinstance(label, str):
        return label
    for number in (int, float):  # as floats, integers of 17 digits would be their neighbours
        try:
            return number(label)
        except ValueError:
            continue
    return None
