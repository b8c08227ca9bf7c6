"""What a fitted model says about itself and about single predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.inspection._certificate import Certificate, certified
from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._explanation import Contribution, Explanation, Part
from multimargin.inspection._labels import class_index, native
from multimargin.inspection._top_features import TopFeatures
from multimargin.models._arguments import whole_number
from multimargin.models._feature_names import names_of
from multimargin.solvers._problem import as_core_csr

_RANKS = ("for", "size")
_NOT_KEPT = ("_listed_names",)


class InspectionMixin:
    """`explain`, `top_features` and `certify`, for estimators with weights."""

    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]

    def explain(
        self,
        x: Any,
        k: int = 10,
        *,
        label: Any = None,
        against: Any = None,
        rank: str = "for",
        n_best: int = 5,
    ) -> Explanation:
        """Say which features of a sample decided between its class and another.

        A score is a sum over features, so each has an exact part in it. To find the best classes,
        the weights of all are scanned, which takes most of the time where there are thousands; a
        model from `load_model` keeps them by feature after a few calls, and is faster from then
        on. With both classes named and ``n_best=0`` only theirs are read.

        Parameters
        ----------
        x : array-like of shape (n_features,), or one row of what `predict` takes
            The sample; for a text model, the text.
        k : int, default=10
            How many features to list, at most.
        label : object, default=None
            The class to explain; by default the one that is predicted.
        against : object, default=None
            The class to compare it with; by default the best other one.
        rank : {"for", "size"}, default="for"
            List the features that spoke most for `label` and against `against`, or those of the
            largest contribution either way.
        n_best : int, default=5
            How many of the best classes to list as `Explanation.best`, at most.

        Returns
        -------
        Explanation
            Scores are those of `predict_topk`, in double precision. Of two classes each has a
            score there: half of what `decision_function` returns, with its sign (all of it for
            one-vs-rest).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = MulticlassSVC(random_state=0, tol=1e-6).fit(X, y)
        >>> why = model.explain(X.iloc[[0]], k=2)
        >>> why.label, why.runner_up
        (0, 1)
        >>> [c.feature for c in why.contributions]
        ['sepal length (cm)', 'sepal width (cm)']
        """
        check_is_fitted(self, "coef_")
        k, n_best = whole_number("k", k, 0), whole_number("n_best", n_best, 0)
        if rank not in _RANKS:
            raise ValueError(f"rank must be 'for' or 'size', got {rank!r}")
        known = self._one_sample(x)
        if label is not None and against is not None and n_best == 0:
            best, scores = np.empty(0, dtype=np.intp), np.empty(0)  # nothing left to be found
        else:
            best, scores = self._best(known, max(2, min(n_best, len(self.classes_))))
        own = int(best[0]) if label is None else class_index(self.classes_, label)
        if against is None:
            other = int(best[1] if best[0] == own else best[0])
        else:
            other = class_index(self.classes_, against)
        if own == other:
            raise ValueError(
                f"{native(self.classes_[own])!r} cannot be compared with itself: give label= or "
                "against= another class"
            )
        ranked = [
            (native(self.classes_[c]), float(s))
            for c, s in zip(best[:n_best], scores[:n_best], strict=True)
        ]
        return _explanation(self, known, own, other, k, rank, ranked)

    def top_features(self, label: Any, k: int = 10) -> TopFeatures:
        """The features with the largest and the most negative weights of a class.

        Parameters
        ----------
        label : object
            One of `classes_`.
        k : int, default=10
            How many of each, at most.

        Returns
        -------
        TopFeatures

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = MulticlassSVC(random_state=0, tol=1e-6).fit(X, y)
        >>> model.top_features(2, k=1).positive[0][0]
        'petal width (cm)'
        """
        check_is_fitted(self, "coef_")
        k = whole_number("k", k, 1)
        c = class_index(self.classes_, label)
        weights = ClassWeights(self)
        features, weight = weights.row(c)
        order = np.argsort(-weight, kind="stable")
        highest = [i for i in order[:k] if weight[i] > 0]
        lowest = [i for i in order[::-1][:k] if weight[i] < 0]

        def named(places: list[Any]) -> list[tuple[str, float]]:
            return list(zip(names_of(self, features[places]), weight[places].tolist(), strict=True))

        return TopFeatures(
            label=native(self.classes_[c]),
            positive=named(highest),
            negative=named(lowest),
            intercept=weights.intercept(c),
            n_weights=int(np.count_nonzero(weight)),
        )

    def certify(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """Compute the objectives and the duality gap anew, from the training samples.

        Nothing that the model was trained with has a part in it, and nothing that was found in
        training is believed: NumPy and SciPy in double precision, `coef_` and `intercept_` as
        they are (rounded, pruned or changed by hand), and the dual variables, if the model has
        them: after a fit with ``warm_start=True``, or from a file that was saved with
        ``dual=True``. Otherwise the dual is `dual_objective_`. Memory is that of the samples in
        double precision and some 100 MB.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or what `fit` took
            The training samples. Where there are dual variables, the samples are compared with
            those that these belong to; they may come in another order.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights. C, `class_weight` and the other parameters are those of the estimator.

        Returns
        -------
        Certificate
            Of the problem that the parameters and samples make. Weights of "llw" have to sum to
            zero over the classes: the primal is that of the weights less their mean, which
            changes no prediction. For ``C=inf`` it is that of the weights scaled up until they
            obey.

        Raises
        ------
        ValueError
            If these are not the samples that the dual variables or the classes belong to, or if
            the model has no dual at all.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MulticlassSVC(warm_start=True, random_state=0).fit(X, y)
        >>> found = model.certify(X, y)
        >>> found.dual_recomputed, 0 <= found.gap <= 0.01
        (True, True)
        >>> abs(found.gap - model.dual_gap_) < 1e-9
        True
        """
        return certified(self, X, y, sample_weight)

    # ------------------------------------------------------------ one sample

    def _one_sample(self, x: Any) -> Any:
        """The features of a sample that are not zero, in order."""
        X = self._checked(_as_rows(self, x))  # type: ignore[attr-defined]
        if X.shape[0] != 1:
            raise ValueError(f"explain takes one sample, got {X.shape[0]}: pass one row")
        csr: Any = as_core_csr(X)
        if not csr.data.all():
            csr = csr.copy()
            csr.eliminate_zeros()
        return csr

    def _best(self, known: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ``k`` best classes by their places, and their scores."""
        best, scores = self._scores().top(known, k)  # type: ignore[attr-defined]
        return best[0], scores[0]

    def __getstate__(self) -> Any:
        # Large, and quickly made again.
        state: Any = super().__getstate__()  # type: ignore[misc,unused-ignore]
        return {name: value for name, value in state.items() if name not in _NOT_KEPT}


def _as_rows(model: Any, x: Any) -> Any:
    """A sample as the table of one row that `predict` would take."""
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
    if hasattr(model, "features_"):
        return x
    if not hasattr(x, "iloc") and np.ndim(x) == 1:
        return np.asarray(x)[None, :]
    return x


def _explanation(
    model: Any, known: Any, own: int, other: int, k: int, rank: str, best: list[tuple[Any, float]]
) -> Explanation:
    features, values = known.indices, known.data.astype(np.float64)
    weights = ClassWeights(model)
    for_own, for_other = weights.at(own, features), weights.at(other, features)
    apart = values * (for_own - for_other)
    listed = _listed(apart, (for_own != 0) | (for_other != 0), k, rank)
    unlisted = np.ones(len(features), dtype=bool)
    unlisted[listed] = False

    def part(which: NDArray[Any] | slice) -> Part:
        # Not dot products: BLAS would use threads of its own.
        return Part(
            float(np.sum(values[which] * for_own[which])),
            float(np.sum(values[which] * for_other[which])),
        )

    whole = part(slice(None))
    intercept = Part(weights.intercept(own), weights.intercept(other))
    columns = zip(
        names_of(model, features[listed]),
        features[listed].tolist(),
        values[listed].tolist(),
        for_own[listed].tolist(),
        for_other[listed].tolist(),
        apart[listed].tolist(),
        strict=True,
    )
    return Explanation(
        label=native(model.classes_[own]),
        runner_up=native(model.classes_[other]),
        score=whole.score + intercept.score,
        runner_up_score=whole.runner_up_score + intercept.runner_up_score,
        contributions=[Contribution(*row) for row in columns],
        intercept_part=intercept,
        rest_part=part(unlisted),
        n_known=len(features),
        best=best,
    )


def _listed(
    apart: NDArray[np.float64], weighted: NDArray[np.bool_], k: int, rank: str
) -> NDArray[np.intp]:
    """The places of the features to list, the largest contribution first."""
    places = np.flatnonzero(weighted)
    if rank == "size":
        largest = np.argsort(-np.abs(apart[places]), kind="stable")[:k]
        places = np.sort(places[largest])
    order = np.argsort(-apart[places], kind="stable")[:k]
    chosen: NDArray[np.intp] = places[order]
    return chosen
