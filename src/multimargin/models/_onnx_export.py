"""Models as ONNX files, for other runtimes."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import atomic_write
from multimargin.models._arguments import is_whole
from multimargin.models._coef import ClassRows, LinearModel
from multimargin.models._feature_major import SplitColumns, is_dense
from multimargin.models._onnx_graph import Graph
from multimargin.models.probabilities._calibration import Calibration

__all__ = ["export_onnx"]

_OPSET = 18
_MOST_BYTES = 2**31 - 2**20  # an ONNX file is one protobuf message, whose limit is 2 GiB


def export_onnx(
    model: LinearModel,
    path: str | os.PathLike[str],
    *,
    inputs: str = "dense",
    top_k: int | None = None,
) -> None:
    """Write a model as an ONNX file, atomically.

    Needs the package `onnx`: ``pip install "multimargin[onnx]"``. The file uses standard
    operators (opset 18) in float32; scores agree with `decision_function` to about 1e-6 for
    samples of unit length.

    A model with sparse coefficients takes about as much room in the file as its non-zero weights
    do, 12,582 classes and 37,436 features about 50 MB: no matrix of all features x classes is made,
    in the file or by the runtime. One with dense coefficients is a matrix product.

    Parameters
    ----------
    model : MulticlassSVC or TextClassifier
        The linear part of a `TextClassifier` is written: its inputs are the features that
        ``model.features_.transform(texts)`` makes, since no ONNX operator cuts texts into words
        exactly as training does. The names of the features are in the metadata.
    path : path-like
        The file to write; its folder must exist.
    inputs : {"dense", "sparse"}, default="dense"
        "dense": ``X``, float32 of shape (n, n_features). "sparse": ``ids``, int64, and
        ``values``, float32, both of shape (n, m): the numbers of the features that a sample has,
        from 0, and their values. Shorter rows are filled up with any feature and the value 0.
    top_k : int, default=None
        Write the best classes in place of all scores: outputs ``labels`` and ``scores`` of shape
        (n, top_k), best first. By default ``label``, of shape (n,), and ``scores``, of shape
        (n, n_classes). Labels are int64, or strings, or float64 as in `classes_`. For two classes
        the two scores are the ones of `predict_topk`. Where samples have several labels,
        ``indicator``, int64 of shape (n, n_classes), stands in place of ``label``. A calibrated
        model has one output more, ``probabilities``, of the shape of ``scores``.

    Raises
    ------
    ImportError
        If the package `onnx` is not there.
    ValueError
        If the model does not fit into a file of 2 GiB; `multimargin.prune` makes it smaller.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, export_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, Path(folder) / "iris.onnx")
    ...     (Path(folder) / "iris.onnx").stat().st_size > 0
    True
    """
    check_is_fitted(model, "coef_")
    if inputs not in ("dense", "sparse"):
        raise ValueError(f"inputs must be 'dense' or 'sparse', got {inputs!r}")
    n_classes = len(model.classes_)
    if top_k is not None and not (is_whole(top_k) and top_k <= n_classes):
        raise ValueError(
            f"top_k must be None or an integer between 1 and the {n_classes} classes: {top_k!r}"
        )
    _check_size(model.coef_)
    graph = Graph()
    score = _scores(graph, model, inputs)
    if ClassRows.of(model).rows < n_classes:
        # As `ClassRows.scores` makes them.
        share = graph.constant("share", np.float32(ClassRows.of(model).share))
        own = graph.add("Mul", score, share)
        score = graph.add("Concat", graph.add("Neg", own), own, axis=1)
    several = getattr(model, "multilabel_", None) is not None
    calibration = getattr(model, "calibration_", None)
    probability = None if calibration is None else _probabilities(graph, score, calibration)
    _outputs(graph, score, probability, _labels(model.classes_), n_classes, top_k, several)
    content = graph.serialized(opset=_OPSET, metadata=_metadata(model, inputs))
    with atomic_write(path) as file:
        file.write(content)


def _check_size(coef: Any) -> None:
    if isinstance(coef, np.ndarray):
        size = 4 * coef.size
    else:
        per_column = np.bincount(sp.csr_matrix(coef).indices, minlength=coef.shape[1])
        dense = is_dense(per_column, coef.shape[0])
        size = 4 * int(dense.sum()) * coef.shape[0] + 8 * int(per_column[~dense].sum())
    if size > _MOST_BYTES:
        raise ValueError(
            f"the model has {size / 2**30:.2f} GiB of weights, and an ONNX file can be 2 GiB: make "
            "it smaller with multimargin.prune"
        )


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in a type that ONNX has."""
    kind = classes.dtype.kind
    if kind in "bi" or (kind == "u" and int(classes.max(initial=0)) <= np.iinfo(np.int64).max):
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    names = classes.tolist()
    if all(isinstance(name, str) for name in names):
        return np.array(names, dtype=object)
    raise ValueError(
        f"class labels of dtype {classes.dtype} have no ONNX type; integers, floats and strings do"
    )


def _scores(graph: Graph, model: LinearModel, inputs: str) -> str:
    """Add inputs and scores of shape (n, rows of coef)."""
    intercept = graph.constant("intercept", np.asarray(model.intercept_, dtype=np.float32))
    if inputs == "dense" and isinstance(model.coef_, np.ndarray):
        X = graph.input("X", np.float32, ("n", model.coef_.shape[1]))
        matrix = np.ascontiguousarray(model.coef_.T, dtype=np.float32)
        return graph.add("Add", graph.add("MatMul", X, graph.constant("matrix", matrix)), intercept)
    added = _dense_input if inputs == "dense" else _sparse_input
    for each in added(graph, SplitColumns(model.coef_)):
        intercept = graph.add("Add", each, intercept)
    return intercept


def _dense_input(graph: Graph, parts: SplitColumns) -> list[str]:
    X = graph.input("X", np.float32, ("n", len(parts.slot)))
    sums = []
    if parts.n_dense:
        frequent = np.flatnonzero(parts.slot < parts.n_dense)
        picked = graph.add("Gather", X, graph.constant("frequent", frequent), axis=1)
        matrix = graph.constant("matrix", parts.matrix[:-1].astype(np.float32))
        sums.append(graph.add("MatMul", picked, matrix))
    # The entries that are not zero, as (sample, feature) and value.
    place = graph.add("NonZero", X)
    value = graph.add("GatherND", X, graph.add("Transpose", place, perm=[1, 0]))
    sample, feature = graph.row(place, 0), graph.row(place, 1)
    n = graph.dimension(X, 0)
    return [*sums, _sparse_sums(graph, parts.lists, sample, feature, value, n)]


def _sparse_input(graph: Graph, parts: SplitColumns) -> list[str]:
    ids = graph.input("ids", np.int64, ("n", "m"))
    values = graph.input("values", np.float32, ("n", "m"))
    n, m = graph.dimension(ids, 0), graph.dimension(ids, 1)
    sums = []
    if parts.n_dense:
        slot = graph.add("Gather", graph.constant("slot", parts.slot.astype(np.int64)), ids)
        width = graph.numbers("slots", [parts.n_dense + 1])
        shape = graph.add("Concat", graph.vector(n), width, axis=0)
        empty = graph.add("Expand", graph.constant("zero", np.float32(0)), shape)
        wide = graph.add("ScatterElements", empty, slot, values, axis=1, reduction="add")
        matrix = graph.constant("matrix", parts.matrix.astype(np.float32))
        sums.append(graph.add("MatMul", wide, matrix))
    flat = graph.numbers("flat", [-1])
    feature, value = graph.add("Reshape", ids, flat), graph.add("Reshape", values, flat)
    # Rows of length 0 have no entries, but are divided by.
    per_row = graph.add("Max", m, graph.number("one", 1))
    sample = graph.add("Div", graph.count(graph.add("Size", ids)), per_row)
    return [*sums, _sparse_sums(graph, parts.lists, sample, feature, value, n)]


def _sparse_sums(graph: Graph, columns: Any, sample: str, feature: str, value: str, n: str) -> str:
    """Sums of value x weight over all weights of each sample's features, of shape (n, rows).

    Every entry of a sample stands for the weights of its feature, a stretch of the model's
    columns. The stretches are laid out one behind the other: where each begins is marked by a 1,
    and the running sum of these marks says for every place whose it is.
    """
    rows = columns.shape[0]
    weight = graph.constant("weights", columns.data.astype(np.float32))
    cls = graph.constant("weight_classes", columns.indices.astype(np.int32))
    begin = graph.constant("feature_begin", columns.indptr[:-1].astype(np.int64))
    count = graph.constant("feature_count", np.diff(columns.indptr).astype(np.int64))
    used = graph.add("Gather", count, feature)
    end = graph.add("CumSum", used, graph.number("axis", 0))
    total = graph.add("ReduceSum", used, keepdims=0)
    start = graph.add("Sub", end, used)
    # One place more than there are weights: entries at the end may have none.
    one = graph.number("one", 1)
    places = graph.add("Add", total, one)
    empty = graph.add("Expand", graph.number("nothing", 0), graph.vector(places))
    ones = graph.add("Expand", one, graph.add("Shape", start))
    marks = graph.add("ScatterElements", empty, start, ones, axis=0, reduction="add")
    running = graph.add("CumSum", marks, graph.number("axis", 0))
    whose = graph.add("Slice", running, graph.numbers("from", [0]), graph.vector(total))
    entry = graph.add("Sub", whose, one)
    # Which weight: its place in the layout, moved to where the feature's weights are.
    moved = graph.add("Sub", graph.add("Gather", begin, feature), start)
    which = graph.add("Add", graph.count(total), graph.add("Gather", moved, entry))
    term = graph.add("Mul", graph.add("Gather", weight, which), graph.add("Gather", value, entry))
    row = graph.add("Mul", graph.add("Gather", sample, entry), graph.number("n_scores", rows))
    at = graph.add("Add", row, graph.add("Cast", graph.add("Gather", cls, which), to=np.int64))
    shape = graph.add("Concat", graph.vector(n), graph.numbers("width", [rows]), axis=0)
    size = graph.vector(graph.add("Mul", n, graph.number("n_scores", rows)))
    zero = graph.add("Expand", graph.constant("zero", np.float32(0)), size)
    sums = graph.add("ScatterElements", zero, at, term, axis=0, reduction="add")
    return graph.add("Reshape", sums, shape)


def _probabilities(graph: Graph, score: str, made: Calibration) -> str:
    """Add the probabilities of all classes, as `Calibration` defines them."""

    def number(name: str, value: float) -> str:
        return graph.constant(name, np.float32(value))

    if made.curvature:
        score = graph.add("Sub", score, number("origin", made.origin))
        bent = graph.add("Mul", graph.add("Abs", score), number("curvature", made.curvature))
        score = graph.add("Div", score, graph.add("Add", bent, number("unit", 1)))
    exponent = graph.add("Mul", score, number("beta", made.shape.beta))
    share = graph.add("Softmax", exponent, axis=1)
    if not made.floor:
        return share
    share = graph.add("Mul", share, number("rest", 1 - made.floor))
    n_classes = graph.add("Cast", graph.dimension(share, 1), to=np.float32)
    return graph.add("Add", share, graph.add("Div", number("floor", made.floor), n_classes))


def _outputs(
    graph: Graph,
    score: str,
    probability: str | None,
    labels: NDArray[Any],
    n_classes: int,
    top_k: int | None,
    several: bool,
) -> None:
    if top_k is None and several:
        above = graph.add("Greater", score, graph.constant("threshold", np.float32(0)))
        graph.output("indicator", graph.add("Cast", above, to=np.int64), np.int64, ("n", n_classes))
        graph.output("scores", score, np.float32, ("n", n_classes))
        return
    classes = graph.constant("classes", labels)
    kind = object if labels.dtype == object else labels.dtype
    if top_k is None:
        best = graph.add("ArgMax", score, axis=1, keepdims=0)
        graph.output("label", graph.add("Gather", classes, best), kind, ("n",))
        graph.output("scores", score, np.float32, ("n", n_classes))
        if probability is not None:
            graph.output("probabilities", probability, np.float32, ("n", n_classes))
        return
    k = graph.numbers("k", [int(top_k)])
    values, order = graph.add_two("TopK", score, k, axis=1)
    graph.output("labels", graph.add("Gather", classes, order), kind, ("n", top_k))
    graph.output("scores", values, np.float32, ("n", top_k))
    if probability is not None:
        best = graph.add("GatherElements", probability, order, axis=1)
        graph.output("probabilities", best, np.float32, ("n", top_k))


def _metadata(model: Any, inputs: str) -> dict[str, str]:
    about: dict[str, Any] = {
        "formulation": model.formulation,
        "C": repr(FORMULATIONS[model.formulation].penalty(model.C, model.loss)),
        "n_classes": str(len(model.classes_)),
        "n_features": str(model.n_features_in_),
        "inputs": inputs,
        "classes": json.dumps(model.classes_.tolist()),
    }
    if hasattr(model, "calibration_"):
        about["calibration"] = json.dumps(model.calibration_.as_dict())
    if hasattr(model, "pruned_"):
        about["pruned"] = json.dumps(model.pruned_)
    if getattr(model, "preprocessing_", None):
        about["preprocessing"] = json.dumps(model.preprocessing_)
    features, names = getattr(model, "features_", None), getattr(model, "feature_names_in_", None)
    if features is not None:
        names = features.get_feature_names_out()
    if names is not None:
        about["feature_names"] = json.dumps([str(name) for name in names])
    return about
