"""Answer questions: the best classes of samples, and the features that decided."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.inspection._explanation import compare, embeddings_as_one, largest
from multimargin.models._coef import ClassRows
from multimargin.models._feature_major import (
    FeatureMajorCache,
    WeightsByFeature,
    weights_by_feature,
)
from multimargin.models._feature_names import names_of
from multimargin.models._scores import ClassScores, LinearScores, best_k_labels, checked_k
from multimargin.models.probabilities._calibration import Calibration
from multimargin.parallel._threads import thread_count
from multimargin.serving import _schema as schema
from multimargin.serving._errors import RequestError, shown
from multimargin.serving._question import Question
from multimargin.serving.samples import SampleKind
from multimargin.text._raw_columns import BadValuesError

_DIGITS = 6  # of numbers in JSON: single precision has no more


class Answers:
    """A model that answers questions about the samples that it takes.

    ``by_feature`` are its weights by feature, if they exist already; ``threads`` are for questions
    of many samples.
    """

    def __init__(
        self, kind: SampleKind, by_feature: WeightsByFeature | None = None, threads: int = 1
    ) -> None:
        self.kind = kind
        model = kind.model
        self.labels: list[Any] = [
            label.decode("utf-8", "replace") if isinstance(label, bytes) else label
            for label in model.classes_.tolist()
        ]
        self.n_classes = len(self.labels)
        self._place = {label: place for place, label in enumerate(self.labels)}
        if by_feature is None and not isinstance(model.coef_, np.ndarray):
            by_feature = weights_by_feature(model.coef_)
        cache = FeatureMajorCache.of(model.coef_, by_feature)
        of_rows = LinearScores(model.coef_, model.intercept_, thread_count(threads), cache)
        self._scores = ClassScores(of_rows, ClassRows.of(model))
        self._calibration: Calibration | None = getattr(model, "calibration_", None)
        self._weighted = _weighted(model.coef_)
        self.answer(Question([kind.blank], kind.takes, 1, True))  # builds caches of the first use

    def best(self, X: Any, k: int) -> tuple[NDArray[Any], ...]:
        """Return the places of the ``k`` best classes of each row of features, and their scores.

        With the probabilities of a calibrated model.
        """
        made = self._calibration
        if made is None:
            return best_k_labels(self._scores, np.arange(self.n_classes), X, k)
        places, scores, sums = self._scores.top_with_sums(
            X, checked_k(k, self.n_classes), made.shape
        )
        return places, scores, made.of_some(scores, sums, self.n_classes)

    def answer(self, question: Question) -> schema.Answer:
        """Answer a question; raise a RequestError for an unknown class or a value of no use."""
        against = None if question.against is None else self._class_of(question.against)
        if not question.samples:
            return {"results": []}
        try:
            X = self.kind.features(question.samples)
        except BadValuesError as error:
            bad = error.first[0]
            field = question.field(bad.row)
            text = f"{field}: column {shown(bad.column)}: {bad.reason}"
            raise RequestError(422, "bad_value", text, field) from None
        # An explanation needs the runner-up as well.
        k = max(question.k, min(2, self.n_classes)) if question.explain else question.k
        try:
            best, *numbers = self.best(X, k)
        except ValueError as error:  # numbers so large that scores would overflow
            raise RequestError(422, "bad_value", str(error)) from None
        results: list[schema.Result] = []
        for row, (sample, places) in enumerate(zip(question.samples, best.tolist(), strict=True)):
            values = [number[row].tolist() for number in numbers]
            result = self._result(X, row, places[: question.k], *values)
            if question.explain:
                other = places[1] if against in (None, places[0]) else against
                result["explanation"] = self._explanation(sample, X, row, places[0], other)
            results.append(result)
        return {"results": results}

    def _result(
        self,
        X: Any,
        row: int,
        places: list[int],
        scores: list[float],
        probabilities: list[float] | None = None,
    ) -> schema.Result:
        features = X.indices[X.indptr[row] : X.indptr[row + 1]]
        listed: list[schema.ScoredClass] = [
            {"label": self.labels[c], "score": round(scores[k], _DIGITS)}
            for k, c in enumerate(places)
        ]
        for each, probability in zip(listed, probabilities or (), strict=False):
            each["probability"] = round(probability, _DIGITS)
        result: schema.Result = {
            "classes": listed,
            "known_features": int(np.count_nonzero(self._weighted[features])),
        }
        if not result["known_features"]:
            result["note"] = self.kind.nothing
        return result

    def _class_of(self, label: Any) -> int:
        # True is 1 in Python, and not in JSON.
        place = self._place.get(label)
        if place is None or isinstance(self.labels[place], bool) != isinstance(label, bool):
            text = f"the model has no class {shown(label)}"
            raise RequestError(422, "unknown_class", text, "against")
        return place

    def _explanation(
        self, sample: Any, X: Any, row: int, best: int, other: int
    ) -> schema.Explanation:
        part = slice(X.indptr[row], X.indptr[row + 1])
        compared = compare(self.kind.weights, X.indices[part], X.data[part], best, other)
        compared, embedded = embeddings_as_one(self.kind.model, compared)
        contributions = compared.contributions
        order = largest(contributions, schema.MOST_FEATURES)
        order = order[contributions[order] != 0]
        intercept = compared.intercept.contribution
        whole, rest = contributions.sum(), contributions.sum() - contributions[order].sum()
        places = compared.features[order]
        named = zip(places.tolist(), names_of(self.kind.model, places), strict=True)
        names = [embedded.get(place, name) for place, name in named]
        spans = self.kind.spans(sample, names)
        columns = (compared.values[order].tolist(), contributions[order].tolist())
        return {
            "label": self.labels[best],
            "against": self.labels[other],
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
            "unknown": self.kind.unknown(sample),
        }


def _weighted(coef: Any) -> NDArray[np.bool_]:
    """Return which features have a weight for any class; none of a model may have."""
    found = np.zeros(coef.shape[1], dtype=bool)
    if isinstance(coef, np.ndarray):
        for row in coef:  # by rows: the comparison of all of them would be an array as large
            found |= row != 0
    else:
        found[coef.indices[coef.data != 0]] = True
    return found
