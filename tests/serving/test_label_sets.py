"""A model of samples with several labels, served: its best labels and their scores."""

import pytest

from multimargin import TextClassifier

pytest.importorskip("starlette")

from multimargin.serving import create_app
from multimargin.serving._answers import Answers
from multimargin.serving._build import checked_kind
from multimargin.serving._question import Question

TEXTS = ["a red rose", "a red car", "a car", "nothing"]


def test_the_best_labels_and_an_explanation():
    model = TextClassifier("ovr", C=10, random_state=0)
    model.fit(TEXTS, [["flower", "red"], ["car", "red"], ["car"], []])
    answers = Answers(checked_kind(model, "m"))
    (found,) = answers.answer(Question(["a red rose"], answers.kind.takes, 3, True))["results"]
    labels, scores = model.predict_topk(["a red rose"], 3)
    assert [each["label"] for each in found["classes"]] == labels[0].tolist()
    assert [each["score"] for each in found["classes"]] == pytest.approx(scores[0].tolist())
    assert found["explanation"]["against"] == labels[0, 1]


def test_one_label_is_refused():
    model = TextClassifier("ovr", random_state=0).fit(TEXTS, [["a"], [], ["a"], []])
    with pytest.raises(ValueError, match="things: the model has one label"):
        create_app(model, name="things")
