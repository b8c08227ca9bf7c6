"""Classes by their labels."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHOWN = 5


def class_index(classes: NDArray[Any], label: Any) -> int:
    """The place of a label among the classes of a model.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted, as a fitted model has them.
    label : str or number

    Raises
    ------
    ValueError
        If there is no such class; the message names the ones that are nearest.
    """
    place = _place(classes, label)
    if place is None:
        raise ValueError(_unknown(classes, label))
    return place


def native(label: Any) -> Any:
    """A label as Python has it, without the type of the array it comes from."""
    return label.item() if isinstance(label, np.generic) else label


def _place(classes: NDArray[Any], label: Any) -> int | None:
    wanted = native(label)
    # A text has no place among numbers, but NumPy would compare the numbers as texts.
    if (classes.dtype.kind == "U") != isinstance(wanted, str) and classes.dtype.kind != "O":
        return None
    try:
        place = int(np.searchsorted(classes, wanted))
    except (TypeError, ValueError):  # no order between them: not a label of this model
        return None
    found = place < len(classes) and bool(native(classes[place]) == wanted)
    return place if found else None


def _unknown(classes: NDArray[Any], label: Any) -> str:
    near = _near(classes, str(native(label)))
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else "model.classes_ lists them"
    return f"{native(label)!r} is not one of the {len(classes):,} classes of this model; {hint}"


def _near(classes: NDArray[Any], label: str) -> list[Any]:
    """Classes that look like the label: that contain it, or that are spelt alike."""
    labels = {str(c).casefold(): c for c in classes.tolist()}
    wanted = label.casefold()
    # Shortest first: "dog.n#..." comes before "hot_dog.n#...", what starts with it before both.
    holding = sorted(
        (c for c in labels if wanted in c), key=lambda c: (not c.startswith(wanted), len(c), c)
    )
    close = holding[:_SHOWN] if wanted and holding else get_close_matches(wanted, labels, _SHOWN)
    return [labels[c] for c in close]
