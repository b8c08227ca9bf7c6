"""Answer questions: the best classes of texts, and the features that decided."""

from __future__ import annotations

from typing import Any

import numpy as np

from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._explain import compare, largest
from multimargin.models._coef import ClassRows
from multimargin.models._feature_major import (
    FeatureMajorCache,
    WeightsByFeature,
    weights_by_feature,
)
from multimargin.models._scores import ClassScores, LinearScores, best_k_labels
from multimargin.parallel._threads import thread_count
from multimargin.serving import _schema as schema
from multimargin.serving._errors import RequestError, shown
from multimargin.serving._question import Question
from multimargin.serving._spans import Spans

# Features that an explanation lists; the others are summed up.
_MOST_FEATURES = 50
# Digits of scores in JSON: single precision has no more.
_DIGITS = 6


class Answers:
    """A text model that answers questions.

    ``by_feature`` are its weights by feature, if they exist already; ``threads`` are for questions
    of many texts.
    """

    def __init__(
        self, model: Any, by_feature: WeightsByFeature | None = None, threads: int = 1
    ) -> None:
        self._model = model
        self._labels: list[Any] = [_plain(label) for label in model.classes_.tolist()]
        self._place = {label: place for place, label in enumerate(self._labels)}
        self._names: list[str] = model.features_.get_feature_names_out().tolist()
        self._spans = Spans(_text_options(model).counter())
        if by_feature is None and not isinstance(model.coef_, np.ndarray):
            by_feature = weights_by_feature(model.coef_)
        cache = FeatureMajorCache.of(model.coef_, by_feature)
        of_rows = LinearScores(model.coef_, model.intercept_, thread_count(threads), cache)
        self._scores = ClassScores(of_rows, ClassRows.of(model))
        self._weights = ClassWeights(model)
        self.answer(Question(["warm up"], 1, True))  # builds caches of the first use

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self._labels)

    def answer(self, question: Question) -> schema.Answer:
        """Answer a question; raise a RequestError if the class to compare with does not exist."""
        against = None if question.against is None else self._class_of(question.against)
        if not question.texts:
            return {"results": []}
        X = self._model._checked(question.texts)
        k = question.k
        # An explanation needs the runner-up as well.
        found = max(k, min(2, self.n_classes)) if question.explain else k
        places = np.arange(self.n_classes)
        best, score = best_k_labels(self._scores, places, X, found)
        results: list[schema.Result] = []
        for row, text in enumerate(question.texts):
            result: schema.Result = {
                "classes": [
                    {"label": self._labels[place], "score": round(value, _DIGITS)}
                    for place, value in zip(
                        best[row, :k].tolist(), score[row, :k].tolist(), strict=True
                    )
                ],
                "known_features": int(X.indptr[row + 1] - X.indptr[row]),
            }
            if question.explain:
                other = against
                if other is None or other == best[row, 0]:
                    other = best[row, 1]
                result["explanation"] = self._explanation(
                    text, X, row, int(best[row, 0]), int(other)
                )
            results.append(result)
        return {"results": results}

    def _class_of(self, label: Any) -> int:
        # True is 1 in Python, and not in JSON.
        place = self._place.get(label)
        if place is None or isinstance(self._labels[place], bool) != isinstance(label, bool):
            raise RequestError(
                422, "unknown_class", f"the model has no class {shown(label)}", field="against"
            )
        return place

    def _explanation(
        self, text: str, X: Any, row: int, best: int, other: int
    ) -> schema.Explanation:
        part = slice(X.indptr[row], X.indptr[row + 1])
        compared = compare(self._weights, X.indices[part], X.data[part], best, other)
        contributions = compared.contributions
        order = largest(contributions, _MOST_FEATURES)
        order = order[contributions[order] != 0]
        intercept = compared.intercept.contribution
        names = [self._names[feature] for feature in compared.features[order]]
        spans = self._spans.find(text, names)
        return {
            "label": self._labels[best],
            "against": self._labels[other],
            "difference": round(float(contributions.sum() + intercept), _DIGITS),
            "intercept": round(intercept, _DIGITS),
            "features": [
                {
                    "feature": name,
                    "value": round(float(compared.values[place]), _DIGITS),
                    "contribution": round(float(contributions[place]), _DIGITS),
                    "spans": spans[name],
                }
                for name, place in zip(names, order.tolist(), strict=True)
            ],
            "other_features": {
                "count": len(contributions) - len(order),
                "contribution": round(
                    float(contributions.sum() - contributions[order].sum()), _DIGITS
                ),
            },
        }


def _text_options(model: Any) -> Any:
    return model.features_._texts[0].options


def _plain(label: Any) -> Any:
    """Return a label as JSON can hold it."""
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else label
