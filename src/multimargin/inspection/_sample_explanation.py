"""Explain one prediction by the training samples that stand behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._explanation import (
    Comparison,
    Contribution,
    Explanation,
    Part,
    classes_of,
    facts_of,
    one_sample,
)
from multimargin.inspection._labels import native
from multimargin.inspection._support_set import support_set
from multimargin.models._coef import ClassRows
from multimargin.models._sample_keys import matched, row_keys


@dataclass(frozen=True)
class SampleContribution(Contribution):
    """The part of one training sample in the scores of two classes.

    Attributes
    ----------
    feature : str
        Its text, or "sample 17".
    index : int
        Its place among the training samples.
    value : float
        Its similarity with the sample that is explained: their inner product.
    weight, runner_up_weight : float
        How much of it is in the weights of the two classes, from its dual variables.
    contribution : float
        ``value * (weight - runner_up_weight)``.
    label : object
        Its label.
    """

    label: Any

    @property
    def name(self) -> str:
        """What tables and plots call it: its text, or place, and its label."""
        return f"{self.feature} ({self.label})"


@dataclass(frozen=True)
class SampleExplanation(Explanation):
    """Which training samples decided: `MulticlassSVC.explain_by_samples`.

    As an `Explanation`, with a `SampleContribution` for a training sample in place of a feature.
    ``n_known`` are the training samples that are in the weights of either class.
    """

    contributions: list[SampleContribution]  # type: ignore[assignment]

    _nothing_known: ClassVar[str] = "No training sample is in these weights: intercepts decide."
    _noun: ClassVar[str] = "training sample"


def explain_by_samples(
    model: Any, x: Any, X: Any, y: ArrayLike, k: int, label: Any, against: Any, n_best: int
) -> SampleExplanation:
    """Explain a sample: `MulticlassSVC.explain_by_samples`, its numbers checked.

    Weights are sums of training samples, ``w_c = sum_i b_ic x_i`` with b from the dual variables,
    and so is the score of a sample: ``w_c.x = sum_i b_ic x_i.x``.
    """
    X = list(X) if isinstance(X, Iterator) else X  # read twice
    own, other, best = classes_of(model, sample := one_sample(model, x), label, against, n_best)
    shares = support_set(model, tol=0).coefficients().tocsc()
    features = model._checked(X)
    labels: NDArray[Any] = column_or_1d(y)
    check_consistent_length(features, labels)
    place = _places(model, X, features, labels)
    of_own, of_other = (_share(model, shares, c)[place] for c in (own, other))
    # A sample that was left out of training has the place -1, and no part.
    of_own[place < 0] = of_other[place < 0] = 0
    held = np.flatnonzero((of_own != 0) | (of_other != 0))
    similar = _inner_products(features, held, sample)
    of_own, of_other = of_own[held], of_other[held]
    weights = ClassWeights(model)
    compared = Comparison(
        held,
        similar,
        of_own,
        of_other,
        similar * (of_own - of_other),
        Part(weights.intercept(own), weights.intercept(other)),
    )
    listed = compared.ranked(k, "size")
    columns = (column[listed].tolist() for column in compared[:5])
    rows = [
        SampleContribution(_named(model, X, row[0]), *row, native(labels[row[0]]))  # type: ignore[call-arg]
        for row in zip(*columns, strict=True)
    ]
    facts = facts_of(model, compared, own, other, listed)
    return SampleExplanation(contributions=rows, best=best, **facts)


def _places(model: Any, X: Any, features: Any, y: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each sample among those of the dual variables, -1 for another one."""
    before, classes = model._warm_samples, model.classes_
    known = np.isin(y, classes)
    labels = np.where(known, np.searchsorted(classes, np.where(known, y, classes[0])), -1)
    keys = model._raw_keys(X)
    keys = row_keys(features) if keys is None else keys
    place = matched(before.keys, model._warm_alpha.labels(), keys, labels)
    n, missing = len(before.keys), len(before.keys) - np.count_nonzero(place >= 0)
    if missing:
        raise ValueError(
            f"these are not the training samples: {missing:,} of the {n:,} that the model was "
            "trained on are missing, or have another label here"
        )
    return place


def _share(model: Any, shares: Any, place: int) -> NDArray[np.float64]:
    """Return how much of each training sample is in the weights of a class."""
    if len(model.classes_) != 2:
        return np.asarray(shares[:, [place]].toarray()[:, 0])
    # As the scores of two classes: parts of one row of weights, the difference of both.
    difference = shares.toarray() @ ([-1.0, 1.0] if shares.shape[1] == 2 else [1.0])
    return np.asarray(ClassRows.of(model).row(place)[1] * difference)


def _inner_products(features: Any, rows: NDArray[np.intp], sample: Any) -> NDArray[np.float64]:
    some = features[rows].astype(np.float64)
    if sp.issparse(some):
        return np.asarray((some @ sample.T.astype(np.float64)).todense(), np.float64).reshape(-1)
    # Not a dot product: BLAS would use threads of its own.
    return np.asarray((some[:, sample.indices] * sample.data.astype(np.float64)).sum(axis=1))


def _named(model: Any, X: Any, row: int) -> str:
    if not hasattr(model, "features_"):
        return f"sample {row}"
    texts = model.features_.column_names()[0]
    columns = [X[name] for name in texts] if hasattr(X, "keys") or hasattr(X, "columns") else [X]
    return " | ".join(str(value) for column in columns for value in column[row : row + 1])
