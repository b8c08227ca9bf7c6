"""Measures that models are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.estimator._samples import check_labels
from multimargin.models._measures import measures
from multimargin.models._scores import best_k_labels
from multimargin.selection._splits import count_of


@dataclass(frozen=True)
class Measure:
    """One of the numbers that `multimargin.models._measures.measures` gives.

    Attributes
    ----------
    name, key : str
        As users write it, and as it is called there.
    title : str
        For tables and plots; may hold ``{k}``.
    smaller_is_better : bool
    counts : bool
        Whether it is a share of the samples, each right or wrong.
    """

    name: str
    key: str
    title: str
    smaller_is_better: bool = False
    counts: bool = True

    def better(self, one: float, other: float) -> bool:
        return one < other if self.smaller_is_better else one > other


MEASURES = {
    each.name: each
    for each in (
        Measure("error", "error", "error", smaller_is_better=True),
        Measure("micro-f1", "micro_f1", "micro-F1"),
        Measure("macro-f1", "macro_f1", "macro-F1", counts=False),
        Measure("top-k", "top_k_accuracy", "top-{k} accuracy"),
    )
}


def measure_named(name: Any) -> Measure:
    """The measure of a name, with hyphens or underscores; or a ValueError."""
    found = MEASURES.get(name.replace("_", "-")) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(repr(one) for one in MEASURES)
        raise ValueError(f"measure must be one of {known}, got {name!r}")
    return found


def measured(model: Any, features: Any, y: NDArray[Any], top_k: int) -> dict[str, Any]:
    """All measures of a fitted model on features that ``model._checked`` made."""
    k = min(top_k, len(model.classes_))
    best, _ = best_k_labels(model._scores(), model.classes_, features, k)
    return measures(model.classes_, y, best)


def held_out(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Validation samples and labels, or a ValueError where they do not fit together."""
    check_labels(y)
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"validation labels must be a non-empty list, got shape {labels.shape}")
    if count_of(X) != len(labels):
        raise ValueError(f"validation has {count_of(X)} samples but {len(labels)} labels")
    return X, labels
