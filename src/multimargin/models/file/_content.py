"""The content of a model file as a whole: metadata, coefficients, names and dual variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multimargin.io._array_file import damaged
from multimargin.io._atomic import StrPath
from multimargin.io._version import __version__
from multimargin.models._coef import row_count
from multimargin.models._feature_major import FeatureMajorCache
from multimargin.models.file._coef import pack_coef, unpack_coef
from multimargin.models.file._disk_dtype import check_disk_dtype, keeps_digits
from multimargin.models.file._dual import pack_dual, unpack_dual
from multimargin.models.file._label_cost import pack_label_cost, unpack_label_cost
from multimargin.models.file._params import decoded, encoded, encoded_params, set_params
from multimargin.models.file._strings import Arrays, pack_labels, unpack_labels
from multimargin.models.probabilities._calibration import Calibration

KIND = "linear-multiclass"
_NONCONFORMITY = "calibration.nonconformity"

# Results that are kept where the estimator has them; history_ holds times, which would make equal
# models into different files.
_FLOATS = ("primal_objective_", "dual_objective_", "dual_gap_", "violation_", "model_density_")
_NUMBERS = {"n_iter_": int, "converged_": bool, **dict.fromkeys(_FLOATS, float)}
# Results that hold for the weights as trained, not for rounded ones. The dual objective bounds the
# optimum, whatever the weights are.
CERTIFICATE = ("converged_", "primal_objective_", "dual_gap_", "violation_")
# Metadata of every model, and of some.
_DICTS = ("params", "results", "preprocessing", "coef", "classes")
_METADATA = {"writer": str, "n_features": int, **dict.fromkeys(_DICTS, dict)}
_OPTIONAL = dict.fromkeys(
    ("feature_names", "label_cost", "pruned", "dual", "features", "calibration"), dict
)
_FORMS = (None, "dense", "sparse", "lists")  # of the labels of samples that have several


def pack(
    path: StrPath,
    model: Any,
    *,
    preprocessing: Mapping[str, Any] | None,
    weights: str | None,
    dual: bool,
) -> tuple[dict[str, Any], Arrays]:
    """Metadata and arrays of a fitted model; parameters as of `multimargin.save_model`."""
    arrays: Arrays = {}
    meta = metadata(model, preprocessing, weights)
    check_disk_dtype(weights)
    meta["coef"] = pack_coef(model.coef_, arrays, weights)
    arrays["intercept"] = np.atleast_1d(np.asarray(model.intercept_))
    pack_names(path, model, meta, arrays)
    if dual:
        meta["dual"] = pack_dual(model, arrays)
    return meta, arrays


def unpack(path: StrPath, model: Any, meta: dict[str, Any], arrays: Arrays, verify: bool) -> None:
    """Make an unfitted estimator the model of a file, whose metadata were checked."""
    set_params(model, meta["params"])
    _unpack_names(path, model, meta, arrays)
    model.multilabel_ = meta.get("multilabel")
    if model.multilabel_ not in _FORMS:
        damaged(path, f"sets of labels in the unknown form {model.multilabel_!r}")
    n_classes = model.classes_.size
    rows = row_count(n_classes, model.multilabel_)
    model.coef_ = unpack_coef(path, (rows, model.n_features_in_), meta["coef"], arrays, verify)
    model._feature_major = FeatureMajorCache()
    model.intercept_ = arrays["intercept"]
    if model.intercept_.shape != (rows,) or model.intercept_.dtype.kind != "f":
        damaged(path, f"intercept of shape {model.intercept_.shape} for {n_classes} classes")
    for name, kind in _NUMBERS.items():
        if name in meta["results"]:
            setattr(model, name, kind(decoded(meta["results"][name])))
    model.preprocessing_ = dict(meta["preprocessing"])
    if "pruned" in meta:
        model.pruned_ = dict(meta["pruned"])
    if "calibration" in meta:
        model.calibration_ = Calibration.of(meta["calibration"], arrays.get(_NONCONFORMITY))
    if "dual" in meta:
        unpack_dual(path, model, meta["dual"], arrays)
    if "features" in meta:
        model._unpack_features(path, meta["features"], arrays, verify=verify)


def check_metadata(path: StrPath, meta: dict[str, Any]) -> None:
    """Raise ModelFileError where this is not the metadata of a model."""
    if meta.get("kind") != KIND:
        damaged(path, f"it holds {meta.get('kind')!r}, not a model ({KIND!r})")
    for name, kind in (_METADATA | _OPTIONAL).items():
        if name not in meta:
            if name in _METADATA:
                damaged(path, f"the metadata has no {name!r}")
        elif type(meta[name]) is not kind:
            damaged(path, f"{name!r} is a JSON {type(meta[name]).__name__}, not {kind.__name__}")


def metadata(
    model: Any, preprocessing: Mapping[str, Any] | None, weights: str | None
) -> dict[str, Any]:
    if preprocessing is None:
        preprocessing = getattr(model, "preprocessing_", None)
    params = model.get_params(deep=False)
    # As trained: where the number was left open, it was chosen by the number of ranks, and the
    # model depends on it. Training with these parameters again makes the same model.
    params["n_bundles"] = getattr(model, "n_bundles_", params.get("n_bundles"))
    for name in ("calibration", "encoder", "features"):  # as in files of before there were any
        if params.get(name) is None:
            params.pop(name, None)
    kept, omitted = encoded_params(params)
    return {
        "kind": KIND,
        "writer": f"multimargin {__version__}",
        "params": kept,
        "params_omitted": omitted,
        "n_features": int(model.n_features_in_),
        "results": {
            name: encoded(kind(getattr(model, name)))
            for name, kind in _NUMBERS.items()
            if getattr(model, name, None) is not None
            and (keeps_digits(weights) or name not in CERTIFICATE)
        },
        "preprocessing": dict(preprocessing or {}),
        **({"pruned": dict(model.pruned_)} if hasattr(model, "pruned_") else {}),
        **({"multilabel": form} if (form := getattr(model, "multilabel_", None)) else {}),
        **({"calibration": model.calibration_.as_dict()} if hasattr(model, "calibration_") else {}),
    }


def pack_names(path: StrPath, model: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    """Add names of classes and features, costs between classes, and how features are made."""
    meta["classes"] = pack_labels(path, "classes", np.asarray(model.classes_), arrays)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        meta["feature_names"] = pack_labels(path, "feature_names", np.asarray(names), arrays)
    if model.label_cost is not None:
        meta["label_cost"] = pack_label_cost(path, model.label_cost, arrays)
    features = model._pack_features(arrays)
    if features is not None:
        meta["features"] = features
    pack_nonconformity(model, arrays)


def pack_nonconformity(model: Any, arrays: Arrays) -> None:
    """Add what prediction sets come from, or take it from the arrays of another calibration."""
    arrays.pop(_NONCONFORMITY, None)
    if len(kept := getattr(model, "calibration_", Calibration(1.0)).nonconformity):
        arrays[_NONCONFORMITY] = kept


def _unpack_names(path: StrPath, model: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    model.n_features_in_ = meta["n_features"]
    model.classes_ = unpack_labels(path, "classes", meta["classes"], arrays)
    if not model.classes_.size:
        damaged(path, "no classes")
    if "feature_names" in meta:
        names = unpack_labels(path, "feature_names", meta["feature_names"], arrays)
        if names.shape != (model.n_features_in_,):
            damaged(path, f"{names.size} names for {model.n_features_in_} features")
        model.feature_names_in_ = names
    if "label_cost" in meta:
        model.label_cost = unpack_label_cost(path, meta["label_cost"], arrays)
