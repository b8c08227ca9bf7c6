"""The problem to solve, from the samples, labels and weights that users give."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from multimargin.estimator._options import FitOptions
from multimargin.formulations import FORMULATIONS
from multimargin.models._label_costs import label_costs
from multimargin.models.label_sets._sets import label_sets
from multimargin.parallel._divided_rows import DividedRows
from multimargin.solvers._engine_choice import FEW_CLASSES
from multimargin.solvers._layout import Matrix, as_core_rows, entries, largest
from multimargin.solvers._problem import Problem


def checked_samples(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, dict[str, Any]]:
    """Samples and labels as arrays, and the fitted attributes that come with the features.

    Labels of samples that may have several are `LabelSets`. Sets the number and the names of the
    estimator's features.
    """
    sets = label_sets(y)
    if sets is None:
        check_labels(y)
    else:
        refuse_sets(estimator)
    X, learned = estimator._learned_features(X, y if sets is None else None)
    learned = {**learned, "multilabel_": None if sets is None else sets.form}
    kinds = [np.float64, np.float32]
    try:
        if sets is not None:
            X = validate_data(estimator, X, accept_sparse="csr", dtype=kinds)
            check_consistent_length(X, sets)
            return X, sets, learned
        X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=kinds)
    except (TypeError, ValueError):
        refuse_texts(estimator, X)
        raise
    with warnings.catch_warnings():
        # So many classes look like a regression to scikit-learn; here they are expected.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        check_classification_targets(y)
    return X, y, learned


def refuse_sets(options: Any) -> None:
    """Raise a ValueError where a problem has no place for samples with several labels, or none."""
    name = options.formulation
    if not FORMULATIONS[name].independent:
        raise ValueError(
            f"formulation={name!r} compares the one label of a sample with all others, and y has "
            "sets of labels: use formulation='ovr', which trains each label by itself"
        )
    if options.class_weight is not None:
        raise ValueError(
            "class_weight is for one label per sample, and y has sets of labels: give sample_weight"
        )


def check_labels(y: Any) -> None:
    """Raise a ValueError at missing labels, empty ones among them, and at texts among numbers."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if y is None or kind in "biufSc":
        return
    labels = np.asarray(y, dtype=None if kind == "U" else object)
    if labels.ndim != 1:
        return
    if labels.dtype == object:
        missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    else:  # without a Python object for each
        missing = (labels == "") | np.char.isspace(labels)
    if missing.any():
        rows = np.flatnonzero(missing)
        listed = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise ValueError(
            f"y contains missing labels (empty, None or NaN): {len(rows):,} of {len(labels):,}, in "
            f"row{'s' * (len(rows) > 1)} {listed}; leave these rows out of X and y, or give their "
            "class a name"
        )
    kinds = {str} if kind == "U" else set(map(type, labels))
    texts = [issubclass(each, str) for each in kinds]
    if any(texts) and not all(texts):
        names = ", ".join(sorted(each.__name__ for each in kinds))
        raise ValueError(f"y holds labels of several types ({names}): make all of them str")


def _is_missing(label: Any) -> bool:
    if isinstance(label, str):
        return not label.strip()
    # Only NaN differs from itself; pandas' NA has no truth value.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)  # noqa: PLR0124


def refuse_texts(estimator: Any, X: Any) -> None:
    """Raise a ValueError that names the remedy if samples hold texts in place of numbers."""
    parts = [X]
    if isinstance(X, Mapping) or hasattr(X, "columns"):
        named = [X[name] for name in (X if isinstance(X, Mapping) else X.columns)]
        parts = [each for each in named if getattr(each, "ndim", 1) == 1]
    for part in parts:
        if isinstance(part, str) or any(map(_is_text, _first(part))):
            raise ValueError(
                f"X holds texts, but {type(estimator).__name__} takes numbers: use "
                "multimargin.TextClassifier, for tune and path as estimator=TextClassifier()"
            ) from None


def _first(values: Any) -> list[Any]:
    """Return some samples, or none of what cannot be looked at."""
    listed = isinstance(values, list | tuple | np.ndarray) or hasattr(values, "to_numpy")
    return list(values[:100]) if listed and getattr(values, "ndim", 1) != 0 else []


def _is_text(sample: Any) -> bool:
    """Whether it is a text, or a row with one that is no number."""
    if isinstance(sample, list | tuple | np.ndarray):
        return any(map(_is_text, _first(sample)))
    if not isinstance(sample, str):
        return False
    try:
        float(sample)
    except ValueError:
        return True
    return False


def problem_of(
    options: FitOptions, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[Any], Problem]:
    """The classes, and the problem to solve, without samples of weight zero."""
    sets, member = label_sets(y), None
    if sets is not None:
        refuse_sets(options)
        classes, member = sets.classes, sets.member
        labels = np.zeros(len(sets), dtype=np.intp)
    else:
        classes, labels = np.unique(y, return_inverse=True)
    if not len(classes):
        raise ValueError("no sample has a label: all lists in y are empty")
    if len(classes) < 2 and sets is None:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data "
            f"contains only one class: {classes.tolist()[0]!r}"
        )
    many = FORMULATIONS[options.formulation].sparse_dual and len(classes) > FEW_CLASSES
    X = as_core_rows(X, many_classes=many or options.free_intercept)
    weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    if options.class_weight is not None:
        # "balanced" counts repetitions: a weight of two is two samples.
        weight = weight * _class_weights(options.class_weight, classes, labels, weight)[labels]
    used = None
    if not np.all(weight > 0):
        if isinstance(X, DividedRows):
            raise ValueError("divided samples must all have a positive weight")
        used = np.flatnonzero(weight > 0)
        kept, labels = np.unique(labels[used], return_inverse=True)
        if sets is not None:
            member = sets.member[used]
            # Columns of a matrix stay; labels of lists that no sample has are not known.
            there = member.getnnz(axis=0) > 0
            kept = np.flatnonzero(there | (sets.form != "lists"))
            member = member[:, kept]
            if not len(kept):
                raise ValueError("no sample of positive weight has a label")
        elif len(kept) < 2:
            raise ValueError(
                f"the weights leave samples of {len(kept)} class(es) with a positive "
                "weight; at least 2 classes are needed"
            )
        X, classes, weight = X[used], classes[kept], weight[used]
    _check_scale(X, options.bias)
    dtype = X.dtype
    if np.isinf(options.C):
        # Constraints that hold for every sample need the digits; the model is rounded afterwards.
        X = X.astype(np.float64)
    return classes, Problem(
        X=X,
        y=np.ascontiguousarray(labels, dtype=np.int32),
        box=box_of(options, weight, len(classes), X.dtype),
        n_classes=len(classes),
        bias=options.bias,
        formulation=options.formulation,
        loss=options.loss,
        dtype=dtype,
        rows=used,
        costs=label_costs(options.label_cost, classes),
        free_intercept=options.free_intercept,
        sets=member,
    )


def _check_scale(X: Matrix, bias: float) -> None:
    """Refuse values so large that the sum of all squares would overflow."""
    most = largest(X) + bias
    ceiling = float(np.finfo(X.dtype).max) ** 0.5 / max(1, entries(X) + X.shape[0]) ** 0.5
    if most > ceiling:
        raise ValueError(
            f"X (with the intercept) holds values up to {most:.3g}, too large to be squared "
            f"and added in {X.dtype.name}: scale the features"
        )


def box_of(options: FitOptions, weight: NDArray[Any], n_classes: int, dtype: Any) -> NDArray[Any]:
    """Upper bounds of the dual variables: C times the weights, or a ValueError at overflow."""
    C = options.C
    box = np.ascontiguousarray(C * weight, dtype=dtype)
    most = np.finfo(dtype).max ** 0.5
    # The squared hinge divides by it.
    least = 1 / most if options.loss == "squared_hinge" else 0.0
    large = box * n_classes >= most
    if (np.isfinite(C) and np.any(large)) or not np.all(box > least):
        raise ValueError(
            f"C times the weights is too large or too small for {dtype.name}: it spans "
            f"{C * weight.min():g} .. {C * weight.max():g}"
        )
    return box


def _class_weights(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.intp], weight: NDArray[Any]
) -> NDArray[Any]:
    if isinstance(class_weight, str):  # "balanced"
        total = np.bincount(labels, weights=weight, minlength=len(classes))
        present = total > 0
        balanced = np.zeros(len(total))
        balanced[present] = total.sum() / (present.sum() * total[present])
        return balanced
    given = compute_class_weight(dict(class_weight), classes=classes, y=classes[labels])
    if np.any(given < 0) or not np.all(np.isfinite(given)):
        raise ValueError(f"class_weight must hold finite weights >= 0, got {class_weight!r}")
    return np.asarray(given)
