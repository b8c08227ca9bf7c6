"""Measures of how well predictions fit labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score


def measures(classes: NDArray[Any], y: NDArray[Any], best: NDArray[Any]) -> dict[str, Any]:
    """Compare labels with predictions.

    The classes are sorted; ``best`` has shape (n_samples, k), the best prediction first.
    """
    truth, n_unseen_labels = _codes(classes, y)
    predicted = np.searchsorted(classes, best)
    hit = predicted == truth[:, None]
    return {
        "samples": len(y),
        "error": 1.0 - float(hit[:, 0].mean()),
        "micro_f1": float(f1_score(truth, predicted[:, 0], average="micro", zero_division=0)),
        "macro_f1": float(f1_score(truth, predicted[:, 0], average="macro", zero_division=0)),
        "top_k": best.shape[1],
        "top_k_accuracy": float(hit.any(axis=1).mean()),
        "unseen_labels": n_unseen_labels,
        "unseen_samples": int((truth >= len(classes)).sum()),
    }


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
