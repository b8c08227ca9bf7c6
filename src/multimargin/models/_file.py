"""Trained models as files: what of an estimator is kept, and how it comes back."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from multimargin.io._array_file import (
    FORMAT_VERSION,
    ModelFileError,
    damaged,
    read_arrays,
    write_arrays,
)
from multimargin.models._disk_dtype import check_disk_dtype, from_disk, keeps_digits, to_disk
from multimargin.models._dual import pack_dual, unpack_dual
from multimargin.models._feature_major import FeatureMajorCache

if TYPE_CHECKING:
    from multimargin.estimator._svc import MulticlassSVC

__all__ = [
    "FORMAT_VERSION",
    "ModelFileError",
    "load_model",
    "read_arrays",
    "save_model",
    "write_arrays",
]

KIND = "linear-multiclass"
Arrays = dict[str, NDArray[Any]]

# Kept where the estimator has them; history_ holds times, which would make equal models
# into different files.
_NUMBERS: dict[str, type] = {
    "n_iter_": int,
    "converged_": bool,
    "primal_objective_": float,
    "dual_objective_": float,
    "dual_gap_": float,
    "violation_": float,
    "model_density_": float,
}
# What is true of the weights as trained, and of no rounded ones. The dual objective is a bound
# for the optimum, whatever the weights are.
_CERTIFICATE = (
    "converged_",
    "primal_objective_",
    "dual_gap_",
    "violation_",
)
# What JSON holds of every model, and of some.
_METADATA: dict[str, type] = {
    "writer": str,
    "params": dict,
    "n_features": int,
    "results": dict,
    "preprocessing": dict,
    "coef": dict,
    "classes": dict,
}
_OPTIONAL: dict[str, type] = {"feature_names": dict, "pruned": dict, "dual": dict, "features": dict}
# These say how a run is carried out, not what the model is. Without them a model trained
# with another number of threads is the same file.
_RUN_PARAMS = ("n_jobs", "verbose")
_TEXT_DTYPE = re.compile(r"([US])(\d{1,9})|object")


def save_model(
    model: MulticlassSVC,
    path: str | os.PathLike[str],
    *,
    preprocessing: Mapping[str, Any] | None = None,
    weights: str | None = None,
    dual: bool = False,
) -> None:
    """Write a fitted model to one file, atomically.

    Parameters
    ----------
    model : MulticlassSVC
        A fitted estimator.
    path : path-like
        The file to write; its folder must exist.
    preprocessing : dict of JSON values, default=None
        What was done to the samples before training, such as ``{"normalize": "l2"}``, to be
        found again as `preprocessing_` of the loaded model. The `multimargin` command applies
        ``normalize`` by itself; `MulticlassSVC.predict` does not. By default what
        `model.preprocessing_` says, if the model has that attribute.
    weights : {"float16", "float32"} or None, default=None
        The type of the weights on disk; None: as trained. "float16" has three digits and takes a
        third less for a sparse model, half for a dense one. Such weights are float32 again once
        loaded, in a copy that processes do not share; what was certified of the weights before,
        such as `converged_` and `dual_gap_`, is not kept.
    dual : bool, default=False
        Whether to keep the dual variables, for a `fit` of the loaded model to start from. Needs
        a model that was fitted with ``warm_start=True``.

    Raises
    ------
    ValueError
        If there are no dual variables, or if the weights do not fit into `weights`.
    ModelFileError
        If the model has class labels that are neither numbers nor strings.
    OSError
        If the file cannot be written; what was at `path` before is still there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0, warm_start=True).fit(X[:140], y[:140])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.model", dual=True)
    ...     loaded = load_model(Path(folder) / "iris.model")
    >>> loaded.fit(X, y).n_known_samples_
    140
    """
    if not hasattr(model, "coef_"):
        raise NotFittedError(f"{type(model).__name__} is not fitted: call fit before saving it")
    arrays: Arrays = {}
    meta = metadata(model, preprocessing, weights)
    check_disk_dtype(weights)
    meta["coef"] = _pack_coef(model.coef_, arrays, weights)
    arrays["intercept"] = np.atleast_1d(np.asarray(model.intercept_))
    pack_names(path, model, meta, arrays)
    if dual:
        meta["dual"] = pack_dual(model, arrays)
    write_arrays(path, meta, arrays)


def load_model(path: str | os.PathLike[str], *, verify: bool = False) -> MulticlassSVC:
    """Open a model written by `save_model`.

    The coefficients are read-only views of the memory-mapped file: opening takes milliseconds
    for every size, and processes that use the same model share its memory. (Weights that were
    saved as float16 are converted to float32 when the file is opened, in memory of their own.)

    Parameters
    ----------
    path : path-like
        The file. Replace it while it is in use (as `save_model` does), never shorten it.
    verify : bool, default=False
        Read the whole file, compare its checksums and check every sparse index. Do this once
        for a file from elsewhere.

    Returns
    -------
    model : MulticlassSVC
        A `TextClassifier` if that was saved. Predicts the same bits as the saved one.
        `preprocessing_` says what was done to the samples before training.

    Raises
    ------
    ModelFileError
        If this is no such file, a newer one, a truncated one or a damaged one.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from multimargin import TextClassifier, load_model, save_model
    >>> model = TextClassifier().fit(["a red rose", "a fast car"], ["flower", "vehicle"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "things.model")
    ...     load_model(Path(folder) / "things.model", verify=True).predict(["my car"]).tolist()
    ['vehicle']
    """
    from multimargin.estimator._svc import MulticlassSVC
    from multimargin.text import TextClassifier

    meta, arrays = read_arrays(path, verify=verify)
    if meta.get("kind") != KIND:
        damaged(path, f"it holds {meta.get('kind')!r}, not a model ({KIND!r})")
    _check_metadata(path, meta)
    model = TextClassifier() if "features" in meta else MulticlassSVC()
    try:
        _set_params(model, meta["params"])
        _unpack(path, model, meta, arrays, verify=verify)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # The checksums were right, so the file is as it was written, by something else.
        damaged(path, f"{type(error).__name__}: {error}")
    return model


def _check_metadata(path: str | os.PathLike[str], meta: dict[str, Any]) -> None:
    for name, kind in (_METADATA | _OPTIONAL).items():
        if name not in meta:
            if name in _METADATA:
                damaged(path, f"the metadata has no {name!r}")
        elif type(meta[name]) is not kind:
            damaged(path, f"{name!r} is a JSON {type(meta[name]).__name__}, not {kind.__name__}")


def metadata(
    model: Any, preprocessing: Mapping[str, Any] | None, weights: str | None
) -> dict[str, Any]:
    """What JSON holds of a model, whoever has its coefficients: all but what `pack_names` adds."""
    from multimargin import __version__

    if preprocessing is None:
        preprocessing = getattr(model, "preprocessing_", None)
    params = model.get_params(deep=False)
    # As trained: where the number was left open it depends on that of the ranks, and the model
    # on it. Whoever trains with these parameters again has the same model.
    params["n_bundles"] = getattr(model, "n_bundles_", params.get("n_bundles"))
    encoded, omitted = _encode_params(params)
    return {
        "kind": KIND,
        "writer": f"multimargin {__version__}",
        "params": encoded,
        "params_omitted": omitted,
        "n_features": int(model.n_features_in_),
        "results": {
            name: _encode_value(kind(getattr(model, name)))
            for name, kind in _NUMBERS.items()
            if getattr(model, name, None) is not None
            and (keeps_digits(weights) or name not in _CERTIFICATE)
        },
        "preprocessing": dict(preprocessing or {}),
        **({"pruned": dict(model.pruned_)} if hasattr(model, "pruned_") else {}),
    }


def pack_names(
    path: str | os.PathLike[str], model: Any, meta: dict[str, Any], arrays: Arrays
) -> None:
    """Add names of classes and features, and how features are made, to metadata and arrays."""
    meta["classes"] = _pack_labels(path, "classes", np.asarray(model.classes_), arrays)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        meta["feature_names"] = _pack_labels(path, "feature_names", np.asarray(names), arrays)
    features = getattr(model, "features_", None)
    if features is not None:
        from multimargin.text._feature_file import pack_features

        meta["features"] = pack_features(features, arrays)


def _unpack(
    path: str | os.PathLike[str],
    model: Any,
    meta: dict[str, Any],
    arrays: Arrays,
    *,
    verify: bool,
) -> None:
    model.n_features_in_ = meta["n_features"]
    model.classes_ = _unpack_labels(path, "classes", meta["classes"], arrays)
    if "feature_names" in meta:
        names = _unpack_labels(path, "feature_names", meta["feature_names"], arrays)
        if names.shape != (model.n_features_in_,):
            damaged(path, f"{names.size} names for {model.n_features_in_} features")
        model.feature_names_in_ = names
    n_classes = model.classes_.size
    if not n_classes:
        damaged(path, "no classes")
    rows = 1 if n_classes == 2 else n_classes
    model.coef_ = _unpack_coef(path, (rows, model.n_features_in_), meta["coef"], arrays, verify)
    model._asked_again = FeatureMajorCache()
    model.intercept_ = arrays["intercept"]
    if model.intercept_.shape != (rows,) or model.intercept_.dtype.kind != "f":
        damaged(path, f"intercept of shape {model.intercept_.shape} for {n_classes} classes")
    for name, kind in _NUMBERS.items():
        if name in meta["results"]:
            setattr(model, name, kind(decoded(meta["results"][name])))
    model.preprocessing_ = dict(meta["preprocessing"])
    if "pruned" in meta:
        model.pruned_ = dict(meta["pruned"])
    if "dual" in meta:
        unpack_dual(path, model, meta["dual"], arrays)
    if "features" in meta:
        _unpack_features(path, model, meta["features"], arrays, verify=verify)


def _unpack_features(
    path: str | os.PathLike[str], model: Any, about: Any, arrays: Arrays, *, verify: bool
) -> None:
    from multimargin.text._feature_file import unpack_features

    features = unpack_features(path, about, arrays, verify=verify)
    if features.n_features_out_ != model.n_features_in_:
        damaged(
            path, f"{features.n_features_out_} made for a model of {model.n_features_in_} features"
        )
    model.features_ = features


# ---------------------------------------------------------------- coefficients


def _pack_coef(coef: Any, arrays: Arrays, weights: str | None) -> dict[str, Any]:
    if isinstance(coef, np.ndarray):
        dense: NDArray[Any] = coef
        # The order in memory decides the order of summation and so the last bits.
        order = "F" if dense.flags.f_contiguous and not dense.flags.c_contiguous else "C"
        arrays["coef"] = to_disk(dense.T if order == "F" else dense, weights)
        return {"format": "dense", "order": order}
    matrix = canonical(coef)
    n_stored = int(matrix.indptr[-1])
    index = index_type(n_stored, matrix.shape)
    arrays["coef.data"] = to_disk(matrix.data[:n_stored], weights)
    arrays["coef.indices"] = matrix.indices[:n_stored].astype(index, copy=False)
    arrays["coef.indptr"] = matrix.indptr.astype(index, copy=False)
    return {"format": "csr"}


def canonical(coef: Any) -> Any:
    """A CSR matrix with sorted indices, each once; the caller's is left as it is."""
    matrix = sp.csr_matrix(coef)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def index_type(stored: int, shape: tuple[int, int]) -> type[np.int32] | type[np.int64]:
    """The type of the indices in a file."""
    return np.int32 if max(stored, *shape) <= np.iinfo(np.int32).max else np.int64


def _unpack_coef(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    about: dict[str, Any],
    arrays: Arrays,
    verify: bool,
) -> Any:
    if about["format"] == "dense":
        dense = arrays["coef"].T if about["order"] == "F" else arrays["coef"]
        if dense.shape != shape or dense.dtype.kind != "f":
            damaged(path, f"coefficients of shape {dense.shape} instead of {shape}")
        return from_disk(dense)
    if about["format"] != "csr":
        damaged(path, f"coefficients in the unknown format {about['format']!r}")
    data, indices, indptr = (arrays[f"coef.{part}"] for part in ("data", "indices", "indptr"))
    _check_csr(path, shape, data, indices, indptr)
    if verify:
        _check_indices(path, shape[1], indices, indptr)
    # Set part by part: the constructor would scan the indices, and to sort or to merge them
    # would write to the map, so scipy is told that they are in order.
    data = from_disk(data)
    matrix = sp.csr_matrix(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def _check_csr(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
) -> None:
    """Check what can be checked without reading all of the file."""
    if (
        data.dtype.kind != "f"
        or indices.dtype != indptr.dtype
        or indices.dtype not in (np.int32, np.int64)
    ):
        damaged(path, f"sparse parts of types {data.dtype}, {indices.dtype}, {indptr.dtype}")
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (shape[0] + 1,):
        damaged(
            path,
            f"sparse parts of shapes {data.shape}, {indices.shape}, {indptr.shape} for {shape}",
        )
    if indptr[0] != 0 or indptr[-1] != data.size or (indptr[1:] < indptr[:-1]).any():
        damaged(path, "the row pointers of the coefficients are out of order")


def _check_indices(
    path: str | os.PathLike[str], n_columns: int, indices: NDArray[Any], indptr: NDArray[Any]
) -> None:
    if indices.size == 0:
        return
    if int(indices.min()) < 0 or int(indices.max()) >= n_columns:
        damaged(path, f"a column index of the coefficients is not within 0..{n_columns - 1}")
    rising = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    # Where a new row begins the index may fall. Rows at either end can be empty.
    rising[starts[(starts > 0) & (starts < indices.size)] - 1] = True
    if not rising.all():
        damaged(path, "the column indices of the coefficients are not sorted")


# ---------------------------------------------------------------- labels and names


def _pack_labels(
    path: str | os.PathLike[str], name: str, labels: NDArray[Any], arrays: Arrays
) -> dict[str, Any]:
    """Numbers as an array; strings as their UTF-8 bytes, one after the other, and offsets."""
    if labels.dtype.kind in "biuf":
        arrays[name] = labels
        return {"kind": "number"}
    items = labels.tolist()
    if labels.dtype.kind == "S":
        encoded = list(items)
    elif labels.dtype.kind in "UO" and all(isinstance(item, str) for item in items):
        encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    else:
        raise ModelFileError(
            f"{os.fspath(path)}: {name} of dtype {labels.dtype} cannot be saved; "
            "numbers and strings can: convert them before training"
        )
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    arrays[f"{name}.utf8"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    arrays[f"{name}.offsets"] = offsets
    # Without the byte order, which is the reading machine's own.
    return {"kind": "text", "dtype": labels.dtype.str[1:] if labels.dtype.kind != "O" else "object"}


def _unpack_labels(
    path: str | os.PathLike[str], name: str, about: dict[str, Any], arrays: Arrays
) -> NDArray[Any]:
    if about["kind"] == "number":
        # A copy in native order: small, and free to be written to.
        numbers = arrays[name]
        if numbers.ndim != 1:
            damaged(path, f"{name} have {numbers.ndim} dimensions")
        return np.array(numbers, dtype=numbers.dtype.newbyteorder("="))
    match = _TEXT_DTYPE.fullmatch(about["dtype"])
    if about["kind"] != "text" or match is None:
        damaged(path, f"{name} of the unknown kind {about['kind']!r}, {about.get('dtype')!r}")
    text, offsets = arrays[f"{name}.utf8"].tobytes(), arrays[f"{name}.offsets"]
    ends = offsets.tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
        damaged(path, f"the offsets of the {name} are out of order")
    pieces = [text[a:b] for a, b in itertools.pairwise(ends)]
    if match[1] == "S":
        return np.array(pieces, dtype=_wide_enough(path, name, "S", int(match[2]), pieces))
    strings = [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    if match[1] is None:
        return np.array(strings, dtype=object)
    return np.array(strings, dtype=_wide_enough(path, name, "U", int(match[2]), strings))


def _wide_enough(
    path: str | os.PathLike[str], name: str, kind: str, width: int, items: list[Any]
) -> str:
    """Return the string dtype, unless it would cut an item or take memory without end."""
    longest = max((len(item) for item in items), default=0)
    if width < longest or width > max(longest, 1 << 16):
        damaged(path, f"{name} of {longest} characters as {kind}{width}")
    return f"{kind}{width}"


# ---------------------------------------------------------------- parameters


class _NotPlainError(Exception):
    """A value that JSON cannot hold."""


def _encode_value(value: Any) -> Any:
    """JSON for a parameter; tuples, dicts and non-finite floats, which JSON has not, are tagged."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encode_value(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode_value(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_encode_value(k), _encode_value(v)] for k, v in value.items()]}
    raise _NotPlainError


def decoded(value: Any) -> Any:
    """The value that `_encode_value` made JSON of."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(decoded(each) for each in value["tuple"])
    return {decoded(k): decoded(v) for k, v in value["dict"]}


def _encode_params(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the constructor parameters as JSON, and the names of those left out.

    A random generator, say, has a state that cannot be kept and that prediction does not need.
    """
    encoded: dict[str, Any] = {}
    omitted: list[str] = []
    for name, value in sorted(params.items()):
        if name in _RUN_PARAMS:
            continue
        try:
            encoded[name] = _encode_value(value)
        except _NotPlainError:
            omitted.append(name)
    return encoded, omitted


def _set_params(model: Any, encoded: Mapping[str, Any]) -> None:
    # A parameter that this version lacks steers training alone: prediction does without it.
    known = model.get_params(deep=False)
    model.set_params(**{k: decoded(v) for k, v in encoded.items() if k in known})
