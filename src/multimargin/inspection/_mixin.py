"""The estimator's methods that explain predictions, list weights and certify the optimum."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.inspection._certificate import Certificate, certified
from multimargin.inspection._class_weights import TopFeatures, top_features
from multimargin.inspection._explanation import Explanation, explain
from multimargin.inspection._labels import class_index
from multimargin.inspection._sample_explanation import SampleExplanation, explain_by_samples
from multimargin.models._arguments import whole_number


class InspectionMixin:
    """`explain` and others, for estimators with weights."""

    classes_: NDArray[Any]

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

        A score is a sum over features, so the part of each is exact. Most of the time goes into
        finding the best of thousands of classes; a model from `load_model` keeps its weights by
        feature after a few calls, and is faster from then on. With both classes named and
        ``n_best=0`` only their weights are read.

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
            List the features that spoke most for `label` and against `against`, or the largest
            contributions either way.
        n_best : int, default=5
            How many of the best classes to list as `Explanation.best`, at most.

        Returns
        -------
        Explanation
            With the scores of `predict_topk`, in double precision. Each of two classes has a score
            there: half of what `decision_function` returns, with its sign (all of it for
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
        if rank not in ("for", "size"):
            raise ValueError(f"rank must be 'for' or 'size', got {rank!r}")
        return explain(self, x, k, label, against, rank, n_best)

    def explain_by_samples(
        self,
        x: Any,
        X: Any,
        y: ArrayLike,
        k: int = 10,
        *,
        label: Any = None,
        against: Any = None,
        n_best: int = 5,
    ) -> SampleExplanation:
        """Say which training samples decided between the class of a sample and another.

        Weights are sums of training samples, and so is a score: the part of each training sample
        is its inner product with the sample, times its dual variables. That says something where
        features are numbers without a meaning, such as embeddings.

        Parameters
        ----------
        x : array-like of shape (n_features,), or one row of what `predict` takes
            The sample; for a text model, the text.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or what `fit` took
            The training samples, in any order. Others among them have no part.
        y : array-like of shape (n_samples,)
            Their labels.
        k : int, default=10
            How many of the largest contributions, for or against `label`, to list.
        label, against, n_best
            As of `explain`.

        Returns
        -------
        SampleExplanation
            All contributions and the intercept add up to the scores, but for rounding.

        Raises
        ------
        ValueError
            If the model has no dual variables, which a fit with ``warm_start=True`` or a file saved
            with ``dual=True`` has; or if samples that it was trained on are missing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from multimargin import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MulticlassSVC(warm_start=True, random_state=0, tol=1e-6).fit(X, y)
        >>> why = model.explain_by_samples(X[70], X, y, k=2)
        >>> why.label, why.runner_up, [(c.index, c.label) for c in why.contributions]
        (2, 1, [(131, 2), (125, 2)])
        """
        check_is_fitted(self, "coef_")
        k, n_best = whole_number("k", k, 0), whole_number("n_best", n_best, 0)
        return explain_by_samples(self, x, X, y, k, label, against, n_best)

    def top_features(self, label: Any, k: int = 10) -> TopFeatures:
        """List the features with the largest and the most negative weights of a class.

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
        return top_features(self, class_index(self.classes_, label), whole_number("k", k, 1))

    def certify(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """Compute the objectives and the duality gap anew, from the training samples.

        No solver has a part in it, and nothing found in training is believed. NumPy and SciPy
        evaluate, in double precision, `coef_` and `intercept_` as they are (rounded, pruned or
        changed by hand) and the dual variables, which a model has after a fit with
        ``warm_start=True`` or from a file that was saved with ``dual=True``. Without them the dual
        is `dual_objective_`. Needs memory for the samples in double precision, and some 100 MB.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or what `fit` took
            The training samples, in any order. If the model has dual variables, these must be the
            samples that they belong to.
        y : array-like of shape (n_samples,)
            Their labels, or sets of labels, as `fit` took them.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights. C, `class_weight` and the other parameters are the estimator's.

        Returns
        -------
        Certificate
            Of the problem that the parameters and samples make. Weights that have to sum to zero
            over the classes ("llw" and others) are rid of their mean, which changes no
            prediction. For ``C=inf`` the weights are scaled up until they satisfy the constraints.

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

    def __getstate__(self) -> Any:
        # Large, and quickly made again.
        state: Any = super().__getstate__()  # type: ignore[misc,unused-ignore]
        return {name: value for name, value in state.items() if name != "_listed_names"}
