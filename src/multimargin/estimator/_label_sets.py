"""The parts of an estimator that know of samples with several labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from multimargin.formulations import FORMULATIONS
from multimargin.models.label_sets._measures import subset_accuracy


class LabelSetsMixin:
    """`score` and scikit-learn's tags, for estimators that may have sets of labels."""

    formulation: str
    calibration: Any
    classes_: NDArray[Any]
    multilabel_: str | None = None

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the samples whose label is predicted; or whose whole set of labels is.

        Parameters
        ----------
        X : what `predict` takes
        y : as in `fit`
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        base: Any = super()
        if self.multilabel_ is None:
            return float(base.score(X, y, sample_weight))
        model: Any = self
        predicted = model._scores().positive(model._checked(X))
        return subset_accuracy(self.classes_, y, predicted, sample_weight)

    def __sklearn_tags__(self) -> Any:
        base: Any = super()
        tags = base.__sklearn_tags__()
        facts = FORMULATIONS.get(str(self.formulation))
        able = facts is not None and facts.independent and self.calibration is None
        tags.classifier_tags.multi_label = able
        return tags
