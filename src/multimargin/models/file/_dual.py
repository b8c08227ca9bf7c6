"""Dual variables in a model file, for a later fit to start from."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from multimargin.formulations import FORMULATIONS
from multimargin.io._array_file import damaged
from multimargin.io._atomic import StrPath
from multimargin.models._sample_keys import Samples
from multimargin.models.file._strings import Arrays
from multimargin.solvers._solution import Alpha, DenseAlpha


def pack_dual(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Add the dual variables of a model to the arrays, and return their metadata."""
    alpha, samples = getattr(model, "_warm_alpha", None), getattr(model, "_warm_samples", None)
    if alpha is None or samples is None:
        name = type(model).__name__
        raise ValueError(f"this {name} has no dual variables to save: fit it with warm_start=True")
    arrays["dual.keys"], arrays["dual.box"] = samples.keys, alpha.box
    arrays["dual.value"] = alpha.value
    if isinstance(alpha, Alpha):
        arrays["dual.pair"], arrays["dual.cls"] = alpha.slot_begin, alpha.cls
        return {"format": "ragged", "formulation": alpha.formulation, "loss": "hinge"}
    arrays["dual.y"] = alpha.y
    return {"format": "dense", "formulation": alpha.formulation, "loss": alpha.loss}


def unpack_dual(path: StrPath, model: Any, about: dict[str, Any], arrays: Arrays) -> None:
    """Let the next fit of the model start from the dual variables of the file.

    All of them are checked, since compiled code trusts them. They stay mapped.
    """
    keys, box, value = (arrays[f"dual.{name}"] for name in ("keys", "box", "value"))
    n, n_classes = len(keys), len(model.classes_)
    if keys.dtype != np.uint64 or box.shape != (n,) or {box.dtype.kind, value.dtype.kind} != {"f"}:
        _damaged(path, "parts of the wrong type or length")
    if not np.all(box > 0) or not np.all((value >= 0) & np.isfinite(value)):
        _damaged(path, "negative values or bounds")
    alpha: Alpha | DenseAlpha
    if about["format"] == "ragged":
        pair, cls = arrays["dual.pair"], arrays["dual.cls"]
        in_order = (
            pair.dtype == np.int64
            and cls.dtype == np.int32
            and pair.shape == (n + 1,)
            and cls.shape == value.shape == (pair[-1],)
            and pair[0] == 0
            and bool(np.all(pair[1:] > pair[:-1]))
        )
        if not in_order or not 0 <= int(cls.min(initial=0)) <= int(cls.max(initial=0)) < n_classes:
            _damaged(path, "lists of classes that are out of order")
        # A class that a sample has twice would have two bounds, and the gap would mean nothing.
        places = np.repeat(np.arange(n), np.diff(pair)) * n_classes + cls
        if len(np.unique(places)) != len(places):
            _damaged(path, "a class that a sample has twice")
        constant = None
        if getattr(model, "fit_intercept", None) == "free":  # not made by the variables
            b = model.intercept_.astype(value.dtype)
            constant = b if len(b) > 1 else np.concatenate([-b, b]) / 2
        alpha = Alpha(str(about["formulation"]), pair, cls, value, box, constant=constant)
    else:
        y, formulation = arrays["dual.y"], FORMULATIONS.get(str(about["formulation"]))
        if formulation is None:
            _damaged(path, f"of the unknown formulation {about['formulation']!r}")
        rows = n_classes if model.multilabel_ else formulation.weight_rows(n_classes)
        if y.dtype != np.int32 or y.shape != (n,) or value.shape != (n, rows):
            _damaged(path, f"shape {value.shape} for {n} samples and {n_classes} classes")
        if not 0 <= int(y.min(initial=0)) <= int(y.max(initial=0)) < n_classes:
            _damaged(path, "labels that no class has")
        alpha = DenseAlpha(str(about["formulation"]), str(about["loss"]), y, value, box)
    model._warm_alpha = alpha
    model._warm_samples = Samples(keys, model.classes_)


def _damaged(path: StrPath, reason: str) -> NoReturn:
    damaged(path, f"dual variables: {reason}")
