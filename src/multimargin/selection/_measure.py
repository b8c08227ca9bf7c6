"""Measures that models are compared by."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from multimargin.models._measures import measures
from multimargin.models._scores import best_k_labels


@dataclass(frozen=True)
class Measure:
    """One of the numbers that `multimargin.models._measures.measures` gives, which calls it `key`.

    The title is for tables and plots, and may hold ``{k}``. A measure that `counts` is a share of
    the samples, each right or wrong.
    """

    name: str
    key: str
    title: str
    smaller_is_better: bool = False
    counts: bool = True

    def cost(self, value: float) -> float:
        """Return a number that is smaller for better values."""
        return value if self.smaller_is_better else -value

    def of(self, found: Mapping[str, Any]) -> float:
        """Return the number among all that were measured, or a ValueError."""
        if self.key not in found:
            raise ValueError(f"measure={self.name!r} needs costs between labels: give label_cost")
        return float(found[self.key])


MeasureName = Literal["error", "mean-cost", "micro-f1", "macro-f1", "top-k"]
MEASURES = {
    each.name: each
    for each in (
        Measure("error", "error", "error", smaller_is_better=True),
        Measure("mean-cost", "mean_cost", "mean cost", smaller_is_better=True, counts=False),
        Measure("micro-f1", "micro_f1", "micro-F1"),
        Measure("macro-f1", "macro_f1", "macro-F1", counts=False),
        Measure("top-k", "top_k_accuracy", "top-{k} accuracy"),
    )
}


def measure_named(name: Any) -> Measure:
    """Return the measure of a name, with hyphens or underscores; or a ValueError."""
    found = MEASURES.get(name.replace("_", "-")) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(repr(one) for one in MEASURES)
        raise ValueError(f"measure must be one of {known}, got {name!r}")
    return found


class HeldOut:
    """Samples to measure on; the first model that is measured makes features of them."""

    def __init__(self, X: Any, y: NDArray[Any], top_k: int) -> None:
        self._X, self._y, self._top_k = X, y, top_k
        self._features: Any = None
        self._lock = threading.Lock()

    def measured(self, model: Any) -> dict[str, Any]:
        """Return all measures of a fitted model, which takes the same features as the first one."""
        with self._lock:
            if self._features is None:
                self._features = model._checked(self._X)
        k = min(self._top_k, len(model.classes_))
        best, _ = best_k_labels(model._scores(), model.classes_, self._features, k)
        return measures(model.classes_, self._y, best, model.label_cost)
