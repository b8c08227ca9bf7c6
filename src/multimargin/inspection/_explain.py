"""Compare the scores of two classes on one sample, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._explanation import Contribution, Explanation, Part
from multimargin.inspection._labels import class_index, native
from multimargin.models._feature_names import names_of
from multimargin.solvers._problem import as_core_csr


class Comparison(NamedTuple):
    """The terms of two scores, one entry per feature of the sample.

    ``contributions`` is ``values * (weights - other_weights)``: how far each feature sets the two
    scores apart.
    """

    features: NDArray[Any]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    other_weights: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercept: Part

    def part(self, which: NDArray[Any] | slice) -> Part:
        """Sum the terms of some features."""
        # Not dot products: BLAS would use threads of its own.
        values = self.values[which]
        return Part(
            float(np.sum(values * self.weights[which])),
            float(np.sum(values * self.other_weights[which])),
        )

    def ranked(self, k: int, rank: str) -> NDArray[np.intp]:
        """Return the places of at most ``k`` features, the largest contribution first.

        Features that neither class has a weight for are left out.
        """
        places = np.flatnonzero((self.weights != 0) | (self.other_weights != 0))
        if rank == "size":
            places = np.sort(places[largest(self.contributions[places], k)])
        order = np.argsort(-self.contributions[places], kind="stable")[:k]
        chosen: NDArray[np.intp] = places[order]
        return chosen


def compare(
    weights: ClassWeights, features: NDArray[Any], values: NDArray[Any], own: int, other: int
) -> Comparison:
    """Compare two classes, given by their places, on the features of a sample, which rise."""
    values = values.astype(np.float64)
    of_own, of_other = weights.at(own, features), weights.at(other, features)
    intercept = Part(weights.intercept(own), weights.intercept(other))
    return Comparison(features, values, of_own, of_other, values * (of_own - of_other), intercept)


def largest(contributions: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return the places of the ``k`` largest contributions, whatever their sign."""
    return np.argsort(-np.abs(contributions), kind="stable")[:k]


def explanation(
    model: Any, sample: Any, own: int, other: int, k: int, rank: str, best: list[tuple[Any, float]]
) -> Explanation:
    """Explain the scores of two classes, given by their places, on a `one_sample`."""
    compared = compare(ClassWeights(model), sample.indices, sample.data, own, other)
    listed = compared.ranked(k, rank)
    unlisted = np.ones(len(compared.features), dtype=bool)
    unlisted[listed] = False
    whole, intercept = compared.part(slice(None)), compared.intercept
    columns = (column[listed].tolist() for column in compared[:5])
    names = names_of(model, compared.features[listed])
    return Explanation(
        label=native(model.classes_[own]),
        runner_up=native(model.classes_[other]),
        score=whole.score + intercept.score,
        runner_up_score=whole.runner_up_score + intercept.runner_up_score,
        contributions=[Contribution(*row) for row in zip(names, *columns, strict=True)],
        intercept_part=intercept,
        rest_part=compared.part(unlisted),
        n_known=len(compared.features),
        best=best,
    )


def two_classes(
    classes: NDArray[Any], best: NDArray[Any], label: Any, against: Any
) -> tuple[int, int]:
    """Return the places of the class to explain and of the class to compare it with.

    ``best`` are the places of the best classes. ``label`` None is the best class, ``against`` None
    the best other one.
    """
    own = int(best[0]) if label is None else class_index(classes, label)
    if against is None:
        return own, int(best[1] if best[0] == own else best[0])
    other = class_index(classes, against)
    if own == other:
        raise ValueError(
            f"{native(classes[own])!r} cannot be compared with itself: give label= or "
            "against= another class"
        )
    return own, other


def one_sample(model: Any, x: Any) -> Any:
    """Return the sample as a CSR matrix of one row, its columns rising and without zeros."""
    X = model._checked(_as_rows(model, x))
    if X.shape[0] != 1:
        raise ValueError(f"explain takes one sample, got {X.shape[0]}: pass one row")
    csr: Any = as_core_csr(X)
    if not csr.data.all():
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def _as_rows(model: Any, x: Any) -> Any:
    """Return the sample as the table of one row that `predict` would take."""
    if isinstance(x, str):
        if not hasattr(model, "features_"):
            raise ValueError(
                f"a text was given, but this {type(model).__name__} was trained on "
                f"{model.n_features_in_:,} features: pass a row of them, or train a TextClassifier"
            )
        return [x]
    if sp.issparse(x):
        return x
    if hasattr(x, "to_frame"):  # a row of a data frame
        return x.to_frame().T
    if isinstance(x, Mapping) and all(np.ndim(value) == 0 for value in x.values()):
        return {name: [value] for name, value in x.items()}
    if not hasattr(model, "features_") and not hasattr(x, "iloc") and np.ndim(x) == 1:
        return np.asarray(x)[None, :]
    return x
