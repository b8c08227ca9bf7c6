"""The samples and classes that hold a model up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.formulations import FORMULATIONS
from multimargin.inspection._labels import class_index, native
from multimargin.io._text_table import elided, text_table
from multimargin.models._coef import one_row_for_two
from multimargin.models.label_sets._sets import require_one_label
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._solution import Alpha, DenseAlpha

_SHOWN = 10
_COLUMNS = ("sample", "label", "against", "alpha", "at_bound")


@dataclass(frozen=True)
class SupportSet:
    """The non-zero dual variables of a fitted model, as `support_set` returns them.

    Each says that a sample pushes against a class. Without the samples that have none, the model
    would be the same.

    Attributes
    ----------
    sample : ndarray of int of shape (n_pairs,)
        Places of the samples, in the order of the training data.
    label : ndarray of shape (n_pairs,)
        Their own labels.
    against : ndarray of shape (n_pairs,)
        The classes they push against. The own one, where it has a margin of its own (one-vs-rest
        and others), is pushed up, against all others.
    alpha : ndarray of shape (n_pairs,)
        How hard: positive.
    at_bound : ndarray of bool of shape (n_pairs,)
        Whether it is as large as it may be: the sample violates its margin. Where only the
        worst class counts (Crammer-Singer and others), whether the sum over the classes is.
    n_samples : int
        Training samples; samples of weight zero count if their labels were given.
    classes : ndarray of shape (n_classes,)
    """

    sample: NDArray[np.intp]
    label: NDArray[Any]
    against: NDArray[Any]
    alpha: NDArray[np.float64]
    at_bound: NDArray[np.bool_]
    n_samples: int
    classes: NDArray[Any]
    _formulation: str

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def samples(self) -> NDArray[np.intp]:
        """Places of the samples that have a part in the model, ascending."""
        return np.unique(self.sample)

    def per_sample(self) -> NDArray[np.float64]:
        """Return the sum of each sample's dual variables; 0 for one that is not needed."""
        total: Any = np.bincount(self.sample, self.alpha, minlength=self.n_samples)
        return np.asarray(total, dtype=np.float64)

    def per_class(self) -> dict[str, NDArray[Any]]:
        """Count and add up the samples that hold up each class, and those against it.

        Returns
        -------
        dict of ndarray of shape (n_classes,)
            ``samples``: samples of the class in the support set; ``alpha``: the sum of their dual
            variables; ``rivals`` and ``rival_alpha``: the same for samples of other classes that
            push against it.
        """
        own, other = self._places()
        n, foreign = len(self.classes), own != other
        first = np.unique(self.sample, return_index=True)[1]
        return {
            "samples": np.bincount(own[first], minlength=n),
            "alpha": np.bincount(own, self.alpha, minlength=n),
            "rivals": np.bincount(other[foreign], minlength=n),
            "rival_alpha": np.bincount(other[foreign], self.alpha[foreign], minlength=n),
        }

    def of_class(self, label: Any) -> SupportSet:
        """Return the part of one class: its samples, and the samples that push against it."""
        wanted = self.classes[class_index(self.classes, label)]
        kept = (self.label == wanted) | (self.against == wanted)
        return replace(self, **{name: getattr(self, name)[kept] for name in _COLUMNS})

    def coefficients(self) -> sp.csr_matrix[Any]:
        """Return how much of each sample is in the weights of each class.

        ``coefficients().T @ X`` are the weights of all classes (for one-vs-rest with two classes,
        of the second alone).

        Returns
        -------
        csr_matrix of shape (n_samples, n_classes)
        """
        shape = (self.n_samples, len(self.classes))
        facts = FORMULATIONS[self._formulation]
        return facts.coefficients(self.sample, *self._places(), self.alpha, shape)

    def weights(self, X: Any, *, bias: float = 0.0) -> tuple[Any, NDArray[np.float64]]:
        """Return the weights that these dual variables make, as ``coef_`` and ``intercept_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training samples, as features.
        bias : float, default=0.0
            `intercept_scaling` of a model with an intercept. Dual variables make no free one.

        Returns
        -------
        coef : csr_matrix of shape (n_classes, n_features), or (1, n_features) for two classes
        intercept : ndarray of shape (n_classes,), or (1,)
        """
        share = self.coefficients()
        coef: Any = share.T.tocsr() @ as_core_csr(X).astype(np.float64)
        intercept = np.asarray(share.sum(axis=0), dtype=np.float64).reshape(-1) * bias**2
        return one_row_for_two(coef, intercept)

    def as_dict(self) -> dict[str, Any]:
        """Return counts and pairs as JSON can hold them."""
        columns = [map(native, getattr(self, name)) for name in _COLUMNS]
        bound = int(self.at_bound.sum())
        return {
            "n_samples": self.n_samples,
            "n_support": len(self.samples),
            "n_bound": bound,
            "n_free": len(self) - bound,
            "pairs": [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)],
        }

    def __str__(self) -> str:
        support, bound = len(self.samples), int(self.at_bound.sum())
        head = (
            f"{support:,} of {self.n_samples:,} samples "
            f"({100 * support / max(1, self.n_samples):.1f} %) hold the model up, by {len(self):,} "
            f"dual variables: {bound:,} at their bound, {len(self) - bound:,} free"
        )
        total = self.per_class()
        order = np.argsort(-total["alpha"], kind="stable")[:_SHOWN]
        names = [elided(str(label), 40) for label in self.classes[order]]
        cells = (
            [f"{value:{'.4g' if 'alpha' in name else ','}}" for value in column[order]]
            for name, column in total.items()
        )
        titles = ["class", "samples", "alpha", "rivals", "their alpha"]
        return f"{head}\n{text_table(titles, list(zip(names, *cells, strict=True)))}"

    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        own, other = np.searchsorted(self.classes, [self.label, self.against])
        return own, other


def support_set(
    model: Any,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
) -> SupportSet:
    """Say which samples hold a model up, and against which classes.

    Parameters
    ----------
    model : MulticlassSVC
        Fitted with ``warm_start=True``, which keeps the dual variables.
    y : array-like of shape (n_samples,), default=None
        The labels that it was trained on, to be checked. Needed where samples or classes had
        weight zero: without `y`, places do not count these.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights that it was trained with.
    tol : float, default=1e-3
        Dual variables below this fraction of their bound (of the largest variable, where there is
        no bound) count as zero, and those as near to the bound as at it: some solvers only come
        near.

    Returns
    -------
    SupportSet

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import support_set
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(warm_start=True, tol=1e-6, random_state=0).fit(X, y)
    >>> held_by = support_set(model, y)
    >>> len(held_by.samples), len(X)
    (33, 150)
    """
    check_is_fitted(model, "coef_")
    require_one_label(model, "support_set")
    alpha = getattr(model, "_warm_alpha", None)
    if alpha is None:
        raise ValueError(
            "the dual variables of this model were not kept: fit with warm_start=True (train "
            "--keep-dual)"
        )
    if not 0 <= tol < 1:
        raise ValueError(f"tol must be at least 0 and below 1, got {tol!r}")
    row, own, other, value = _pairs(alpha, tol)
    place = _trained_on(model, alpha, y, sample_weight)
    return SupportSet(
        sample=place[row],
        label=model.classes_[own],
        against=model.classes_[other],
        alpha=value,
        at_bound=_at_bound(alpha, row, value, tol),
        n_samples=len(place) if y is None else len(np.asarray(y)),
        classes=model.classes_,
        _formulation=alpha.formulation,
    )


def _pairs(alpha: Any, tol: float) -> tuple[NDArray[Any], ...]:
    """Return sample, own class, other class and value of each non-zero dual variable."""
    least = tol * _bounds(alpha, largest=float(alpha.value.max(initial=0)))
    if isinstance(alpha, Alpha):
        first, size = alpha.slot_begin[:-1], np.diff(alpha.slot_begin)
        used = alpha.value > np.repeat(least, size)
        used[first] = False  # the first of a sample holds the sum of the others
        row, other = np.repeat(np.arange(len(first)), size)[used], alpha.cls[used]
        return row, alpha.labels()[row], other, alpha.value[used].astype(float)
    row, column = np.nonzero(alpha.value > least[:, None])
    own, value = alpha.labels()[row], alpha.value[row, column].astype(float)
    # One binary problem for two classes tells each from the other.
    return row, own, 1 - own if alpha.value.shape[1] == 1 else column, value


def _bounds(alpha: Any, largest: float = np.inf) -> NDArray[np.float64]:
    """Return the bound of each sample's dual variables; ``largest`` where there is none."""
    box = np.asarray(alpha.box, dtype=np.float64)
    if isinstance(alpha, DenseAlpha) and alpha.loss == "squared_hinge":
        return np.full(len(box), largest)
    return np.where(np.isfinite(box), box, largest)


def _at_bound(
    alpha: Any, row: NDArray[np.intp], value: NDArray[np.float64], tol: float
) -> NDArray[np.bool_]:
    bound = _bounds(alpha)
    if not FORMULATIONS[alpha.formulation].separable:  # the variables of a sample share it
        total: Any = np.bincount(row, value, minlength=len(bound))
        value = total[row]
    rounding = 8 * float(np.finfo(alpha.value.dtype).eps)
    full: NDArray[np.bool_] = value >= bound[row] * (1 - max(tol, rounding))
    return full


def _trained_on(
    model: Any, alpha: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> NDArray[np.intp]:
    """Return the places of the samples that took part, in the data given to fit."""
    n = len(alpha.box)
    if y is None:
        if sample_weight is not None:
            raise ValueError("sample_weight was given without y: pass the labels as well")
        return np.arange(n)
    labels = np.asarray(y)
    used = np.isin(labels, model.classes_)  # a class of weight zero is none of the model's
    if sample_weight is not None:
        used &= np.asarray(sample_weight) > 0
    place = np.flatnonzero(used)
    if len(place) != n or not np.array_equal(labels[place], model.classes_[alpha.labels()]):
        raise ValueError(
            f"the model was trained on {n:,} samples of positive weight with other labels than "
            f"the {len(place):,} given: pass y and sample_weight as they were given to fit"
        )
    return place
