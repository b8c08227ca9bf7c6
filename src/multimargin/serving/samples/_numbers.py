"""Models of numbers: embeddings, columns of a data frame, LIBSVM text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from multimargin.models._feature_names import has_feature_names, names_of
from multimargin.serving._errors import shown
from multimargin.serving._limits import Limits
from multimargin.serving.samples._kind import SampleKind, wrong

# The most columns of a data frame for which the page has a form; more are pasted.
_MOST_FIELDS = 40
# An example of more features than this names the largest ones; the others are 0.
_MOST_LISTED = 2_000
_NAMED = 10
# What `multimargin train` records of LIBSVM text, and what of it is repeated here.
_REPEATED: dict[str, tuple[Any, ...]] = {
    "normalize": ("none", "l2"),
    "zero_based": (False, True),
    "dtype": ("float32", "float64"),
}

Pairs = tuple[list[int], list[float]]


class Numbers(SampleKind):
    """Samples are the places and values of numbers that are not 0.

    In JSON a row is an array of all numbers, or an object of features and numbers. The names of a
    data frame's columns have to be there all; of LIBSVM text, and of features without names, those
    that are absent are 0.
    """

    nothing: ClassVar[str] = (
        "No number of this row has a weight in the model, so nothing tells the classes apart: the "
        "scores are the intercepts alone."
    )
    blank: ClassVar[Pairs] = ([], [])

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        recorded: Mapping[str, Any] = getattr(model, "preprocessing_", {})
        _check_repeated(recorded)
        self._unit_length = recorded.get("normalize") == "l2"
        self._count = int(model.n_features_in_)
        names = names_of(model, np.arange(self._count)) if has_feature_names(model) else []
        self._named = bool(names) and len(set(names)) == len(names)
        self._places = dict(zip(names, range(self._count), strict=False)) if self._named else {}
        self._first = 1 if recorded.get("zero_based") is False else 0
        if self._named and len(names) <= _MOST_FIELDS:
            self.columns = [
                {"name": name, "kind": "number", "required": True, "values": [], "mean": None}
                for name in names
            ]

    def checked(self, value: Any, field: str, limits: Limits) -> Pairs:
        if isinstance(value, list):
            if len(value) != self._count:
                takes = f"the model takes {self._count:,}"
                wrong(field, f"{field} has {len(value):,} numbers; {takes}")
            numbers = [_number(one, f"{field}[{j}]", field) for j, one in enumerate(value)]
            return _pairs(enumerate(numbers))
        if not isinstance(value, dict):
            what = "an array of numbers, or an object of features and numbers"
            wrong(field, f"{field} must be {what}: {shown(value)}")
        if self._named:
            missing = [name for name in self._places if name not in value]
            if missing:
                more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
                wrong(field, f"{field} has no number for {shown(missing[0])}{more}")
        named = [(name, self._place(name, field)) for name in value]
        return _pairs(
            (place, _number(value[name], f"{field}: {shown(name)}", field)) for name, place in named
        )

    def features(self, samples: Sequence[Pairs]) -> sp.csr_matrix:
        indptr = np.cumsum([0, *(len(places) for places, _ in samples)])
        places = np.array([place for sample in samples for place in sample[0]], dtype=np.int32)
        values = np.array([value for sample in samples for value in sample[1]])
        matrix = sp.csr_matrix((values, places, indptr), shape=(len(samples), self._count))
        return normalize(matrix, copy=False) if self._unit_length else matrix

    def typical(self, place: int) -> Any:
        features, weights = self.weights.row(place)
        if not len(features):
            return None
        weights = weights / np.abs(weights).max()
        if self._named or self._count <= _MOST_LISTED:
            whole = np.zeros(self._count)
            whole[features] = weights
            values = [round(value, 4) for value in whole.tolist()]
            return dict(zip(self._places, values, strict=True)) if self.columns else values
        largest: NDArray[Any] = np.sort(np.argsort(-weights, kind="stable")[:_NAMED])
        values = [round(value, 4) for value in weights[largest].tolist()]
        return dict(zip(map(str, features[largest] + self._first), values, strict=True))

    def _place(self, name: str, field: str) -> int:
        if self._named:
            if name not in self._places:
                wrong(field, f"{field}: the model has no feature {shown(name)}")
            return self._places[name]
        first, last = self._first, self._first + self._count - 1
        # "01" would be the same as "1".
        digits = name.isascii() and name.isdigit() and len(name) < 20 and str(int(name)) == name
        if not digits or not first <= int(name) <= last:
            there = f"they are {first} to {last}"
            wrong(field, f"{field}: the model has no feature {shown(name)}; {there}")
        return int(name) - self._first


def _pairs(numbers: Any) -> Pairs:
    found = sorted((place, number) for place, number in numbers if number)
    return [place for place, _ in found], [number for _, number in found]


def _number(value: Any, what: str, field: str) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        wrong(field, f"{what} must be a number: {shown(value)}")
    if not math.isfinite(number):
        wrong(field, f"{what} must be a finite number: {shown(value)}")
    return number


def _check_repeated(recorded: Mapping[str, Any]) -> None:
    for name, value in recorded.items():
        if value not in _REPEATED.get(name, ()):
            raise ValueError(
                f"the model was trained on samples with {name}={value!r}, which the server cannot "
                "repeat; load it in Python with multimargin.load_model"
            )
