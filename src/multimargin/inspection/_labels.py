"""Labels: their places among the classes of a model, and as numbers to be counted."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.models._measures import known_labels
from multimargin.models.label_sets._sets import require_one_label

_SHOWN = 5


def class_index(classes: NDArray[Any], label: Any) -> int:
    """Return the place of a label among sorted classes; the error names the nearest ones."""
    wanted, kind = native(label), classes.dtype.kind
    # A text has no place among numbers, but NumPy would compare the numbers as texts.
    if kind == "O" or (kind == "U") == isinstance(wanted, str):
        try:
            place = int(np.searchsorted(classes, wanted))
        except (TypeError, ValueError):  # no order between them: not a label of this model
            place = len(classes)
        if place < len(classes) and native(classes[place]) == wanted:
            return place
    near = _near(classes, str(wanted))
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else "model.classes_ lists them"
    raise ValueError(f"{wanted!r} is not one of the {len(classes):,} classes of this model; {hint}")


def places_of(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of labels among the classes of a model; -1 for labels of no class."""
    place = {label: c for c, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def known_places(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int32]:
    """Return the same of labels from a file, which may have them in another type."""
    return places_of(classes, known_labels(classes, y)).astype(np.int32)


def native(label: Any) -> Any:
    """Return a label as a plain Python object instead of a NumPy scalar."""
    return label.item() if isinstance(label, np.generic) else label


@dataclass(frozen=True)
class Codes:
    """True and predicted labels of samples, as places among all labels, which are sorted.

    ``model`` is None where the predicted labels were given.
    """

    labels: NDArray[Any]
    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    model: Any

    def count(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.bincount(places, minlength=len(self.labels))


def codes(given: Any, *rest: Any) -> Codes:
    """Number the labels of ``y_true, y_pred`` or ``model, X, y_true``, and a model's classes."""
    model = given if hasattr(given, "predict") else None
    if model is not None:
        if len(rest) != 2:
            raise TypeError("with a model, pass it with samples and labels: model, X, y")
        check_is_fitted(model, "coef_")
        require_one_label(model, "this report")
        y_true, y_pred, classes = rest[1], model.predict(rest[0]), [np.asarray(model.classes_)]
    elif len(rest) == 1:
        y_true, y_pred, classes = given, rest[0], []
    else:
        raise TypeError("pass true and predicted labels, y_true, y_pred; or model, X, y")
    truth, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true labels, but {len(predicted)} predicted ones")
    if not len(truth):
        raise ValueError("there are no labels to compare: y_true is empty")
    parts = [truth, predicted, *classes]
    if len({isinstance(part[0], str) for part in parts if len(part)}) > 1:
        raise ValueError(
            f"true labels of type {truth.dtype} cannot be compared with predicted ones of type "
            f"{predicted.dtype}: convert one of them"
        )
    labels, places = np.unique(np.concatenate(parts), return_inverse=True)
    places = places.reshape(-1)
    return Codes(labels, places[: len(truth)], places[len(truth) : 2 * len(truth)], model)


def _near(classes: NDArray[Any], label: str) -> list[Any]:
    labels = {str(c).casefold(): c for c in classes.tolist()}
    wanted = label.casefold()
    # Shortest first: "dog.n#..." comes before "hot_dog.n#...", what starts with it before both.
    holding = sorted(
        (c for c in labels if wanted in c), key=lambda c: (not c.startswith(wanted), len(c), c)
    )
    close = holding[:_SHOWN] if wanted and holding else get_close_matches(wanted, labels, _SHOWN)
    return [labels[c] for c in close]


def _labels(name: str, y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {labels.ndim}")
    return labels
