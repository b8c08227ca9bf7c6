"""Answer questions: the best classes of texts, and the features that decided."""

from __future__ import annotations

from typing import Any

import numpy as np

from multimargin.inspection._class_weights import ClassWeights
from multimargin.inspection._explanation import compare, largest
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

_DIGITS = 6  # of numbers in JSON: single precision has no more


class Answers:
    """A text model that answers questions.

    ``by_feature`` are its weights by feature, if they exist already; ``threads`` are for questions
    of many texts.
    """

    def __init__(
        self, model: Any, by_feature: WeightsByFeature | None = None, threads: int = 1
    ) -> None:
        self._model = model
        self._labels: list[Any] = [
            label.decode("utf-8", "replace") if isinstance(label, bytes) else label
            for label in model.classes_.tolist()
        ]
        self.n_classes = len(self._labels)
        self._place = {label: place for place, label in enumerate(self._labels)}
        self._names: list[str] = model.features_.get_feature_names_out().tolist()
        self._spans = Spans(model.features_._texts[0].options.counter())
        if by_feature is None and not isinstance(model.coef_, np.ndarray):
            by_feature = weights_by_feature(model.coef_)
        cache = FeatureMajorCache.of(model.coef_, by_feature)
        of_rows = LinearScores(model.coef_, model.intercept_, thread_count(threads), cache)
        self._scores = ClassScores(of_rows, ClassRows.of(model))
        self._weights = ClassWeights(model)
        self.answer(Question(["warm up"], 1, True))  # builds caches of the first use

    def answer(self, question: Question) -> schema.Answer:
        """Answer a question; raise a RequestError if the class to compare with does not exist."""
        against = None if question.against is None else self._class_of(question.against)
        if not question.texts:
            return {"results": []}
        X = self._model._checked(question.texts)
        # An explanation needs the runner-up as well.
        k = max(question.k, min(2, self.n_classes)) if question.explain else question.k
        best, scores = best_k_labels(self._scores, np.arange(self.n_classes), X, k)
        results: list[schema.Result] = []
        found = zip(question.texts, best.tolist(), scores.tolist(), strict=True)
        for row, (text, places, values) in enumerate(found):
            listed = zip(places[: question.k], values[: question.k], strict=True)
            result: schema.Result = {
                "classes": [
                    {"label": self._labels[c], "score": round(value, _DIGITS)}
                    for c, value in listed
                ],
                "known_features": int(X.indptr[row + 1] - X.indptr[row]),
            }
            if question.explain:
                other = places[1] if against in (None, places[0]) else against
                result["explanation"] = self._explanation(text, X, row, places[0], other)
            results.append(result)
        return {"results": results}

    def _class_of(self, label: Any) -> int:
        # True is 1 in Python, and not in JSON.
        place = self._place.get(label)
        if place is None or isinstance(self._labels[place], bool) != isinstance(label, bool):
            text = f"the model has no class {shown(label)}"
            raise RequestError(422, "unknown_class", text, "against")
        return place

    def _explanation(
        self, text: str, X: Any, row: int, best: int, other: int
    ) -> schema.Explanation:
        part = slice(X.indptr[row], X.indptr[row + 1])
        compared = compare(self._weights, X.indices[part], X.data[part], best, other)
        contributions = compared.contributions
        order = largest(contributions, schema.MOST_FEATURES)
        order = order[contributions[order] != 0]
        intercept = compared.intercept.contribution
        whole, rest = contributions.sum(), contributions.sum() - contributions[order].sum()
        names = [self._names[feature] for feature in compared.features[order]]
        spans = self._spans.find(text, names)
        columns = (compared.values[order].tolist(), contributions[order].tolist())
        return {
            "label": self._labels[best],
            "against": self._labels[other],
            "difference": round(float(whole + intercept), _DIGITS),
            "intercept": round(intercept, _DIGITS),
            "features": [
                {
                    "feature": name,
                    "value": round(value, _DIGITS),
                    "contribution": round(contribution, _DIGITS),
                    "spans": spans[name],
                }
                for name, value, contribution in zip(names, *columns, strict=True)
            ],
            "other_features": {
                "count": len(contributions) - len(order),
                "contribution": round(float(rest), _DIGITS),
            },
        }
