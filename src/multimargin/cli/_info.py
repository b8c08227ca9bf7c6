"""``multimargin info``: describe a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from multimargin.cli.support._messages import EXIT_OK, print_json, print_table
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import similar_classes
from multimargin.io._array_file import FORMAT_VERSION, read_arrays
from multimargin.io._text_table import elided
from multimargin.models._feature_names import has_feature_names
from multimargin.models._measures import as_class
from multimargin.models.file._params import decoded
from multimargin.persistence import load_model

_SIMILAR = 5


def info(args: argparse.Namespace) -> int:
    model = load_model(args.model, verify=args.verify)
    if (label := vars(args)["class"]) is not None:
        return _describe_class(args, model, label)
    meta, arrays = read_arrays(args.model)
    formulation = FORMULATIONS.get(str(model.formulation))
    if model.C is None and formulation is not None:
        meta["params"]["C"] = formulation.usual_penalty(model.loss)
    result: dict[str, Any] = {
        "model": args.model,
        "bytes": Path(args.model).stat().st_size,
        "format": FORMAT_VERSION,
        "writer": meta["writer"],
        "verified": args.verify,
        "classes": len(model.classes_),
        "class_labels": str(model.classes_.dtype),
        **({"labels_per_sample": "several"} if model.multilabel_ else {}),
        "features": int(model.n_features_in_),
        "named_features": has_feature_names(model),
        "coefficients": "dense" if isinstance(model.coef_, np.ndarray) else "sparse",
        "dtype": str(model.coef_.dtype),
        "stored": int(model.coef_.size),  # of a sparse matrix the entries it holds
        **_on_disk(meta, arrays),
        "intercept": bool(np.any(model.intercept_)),
        **_raw_columns(model),
        "preprocessing": model.preprocessing_,
        # As JSON has them; results of an estimator that was not trained here may be missing.
        "params": meta["params"],
        **{name.rstrip("_"): value for name, value in meta["results"].items()},
    }
    if args.json:
        print_json(result)
    else:
        result["params"] = {name: decoded(value) for name, value in meta["params"].items()}
        print_table({name.replace("_", " "): _text(value) for name, value in result.items()})
    return EXIT_OK


def _describe_class(args: argparse.Namespace, model: Any, asked: str) -> int:
    label = as_class(asked, model.classes_)
    top = model.top_features(asked if label is None else label, args.k)
    similar = similar_classes(model, top.label, _SIMILAR)
    if args.json:
        pairs = [{"label": other, "similarity": cosine} for other, cosine in similar]
        print_json({**top.as_dict(), "similar": pairs})
    else:
        print(top)
        listed = (f"{elided(str(other), 40)} {cosine:.3f}" for other, cosine in similar)
        print("similar: " + ", ".join(listed))
    return EXIT_OK


def _on_disk(meta: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return how weights are stored, and whether there are costs, probabilities and so on."""
    weights = arrays["coef" if "coef" in arrays else "coef.data"].dtype.newbyteorder("=")
    said: dict[str, Any] = {"weights_on_disk": str(weights)}
    if "label_cost" in meta:
        said["label_cost"] = meta["label_cost"]["kind"]
    if "pruned" in meta:
        said["pruned"] = meta["pruned"]
    if "calibration" in meta:
        said["calibration"] = meta["calibration"]
    if "dual" in meta:
        said["dual_variables_of"] = len(arrays["dual.keys"])
    return said


def _raw_columns(model: Any) -> dict[str, Any]:
    features = getattr(model, "features_", None)
    if features is None:
        return {}
    texts, numeric, categorical = features.column_names()
    return {
        "takes": "tables" if texts or numeric or categorical else "texts",
        "text_columns": list(texts),
        "numeric_columns": list(numeric),
        "categorical_columns": list(categorical),
        **_encoder(features),
    }


def _encoder(features: Any) -> dict[str, Any]:
    if not features._embeddings:
        return {}
    used = features._embeddings[0].encoder  # of all columns
    about = {"name": used.described, "revision": used.revision, "dimension": used.dimension}
    return {"encoder": about}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
