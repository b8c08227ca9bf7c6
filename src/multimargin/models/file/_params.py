"""Parameters and results of an estimator as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

# These say how a run is carried out, not what the model is. Without them a model trained with
# another number of threads is the same file.
_RUN_PARAMS = ("n_jobs", "verbose")
_APART = ("label_cost",)  # has a place of its own, see `_label_cost`


class NotPlainError(Exception):
    """A value that JSON cannot hold."""


def encoded(value: Any) -> Any:
    """JSON for a parameter; tuples, dicts and non-finite floats, which JSON has not, are tagged."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [encoded(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [encoded(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encoded(k), encoded(v)] for k, v in value.items()]}
    raise NotPlainError


def decoded(value: Any) -> Any:
    """The value that `encoded` made JSON of."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(decoded(each) for each in value["tuple"])
    return {decoded(k): decoded(v) for k, v in value["dict"]}


def encoded_params(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the constructor parameters as JSON, and the names of those left out.

    A random generator, say, has a state that cannot be kept and that prediction does not need.
    """
    kept, omitted = {}, []
    for name, value in sorted(params.items()):
        if name in _RUN_PARAMS + _APART:
            continue
        try:
            kept[name] = encoded(value)
        except NotPlainError:
            omitted.append(name)
    return kept, omitted


def set_params(model: Any, kept: Mapping[str, Any]) -> None:
    # A parameter that this version lacks steers training alone: prediction does without it.
    known = model.get_params(deep=False)
    model.set_params(**{k: decoded(v) for k, v in kept.items() if k in known})
