"""Answers to the first mistakes: texts for numbers, and probabilities of a machine of margins."""

import numpy as np
import pandas as pd
import pytest

from multimargin import MulticlassSVC, TextClassifier, path, tune
from multimargin.estimator import _names
from multimargin.formulations import FORMULATIONS
from multimargin.selection._measure import MEASURES, MeasureName
from multimargin.solvers._registry import SOLVERS
from multimargin.solvers._stopping import STOPPINGS
from multimargin.tables import Table

TEXTS = ["a small dog", "a big dog", "a red rose", "a white rose"] * 5
LABELS = ["pet", "pet", "flower", "flower"] * 5
KINDS = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "objects": np.array(TEXTS, dtype=object),
    "column": np.array(TEXTS)[:, None],
    "rows": [[1.0, text] for text in TEXTS],
    "series": pd.Series(TEXTS),
    "frame": pd.DataFrame({"n": range(20), "text": TEXTS}),
    "dict": {"text": TEXTS},
    "table": Table({"text": TEXTS}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_pointed_to_the_text_classifier(kind):
    words = r"^X holds texts, but MulticlassSVC takes numbers: use multimargin\.TextClassifier, for"
    with pytest.raises(ValueError, match=words):
        MulticlassSVC().fit(KINDS[kind], LABELS)
    model = MulticlassSVC(random_state=0).fit(np.eye(4), [0, 1, 2, 3])
    with pytest.raises(ValueError, match=words):
        model.predict(KINDS[kind])


def test_tune_and_path_say_so_too():
    for select in (tune, path):
        with pytest.raises(ValueError, match=r"estimator=TextClassifier\(\)"):
            select(TEXTS, LABELS)
    assert path(TEXTS, LABELS, [1.0], estimator=TextClassifier())[0].converged


def test_numbers_that_are_wrong_otherwise_keep_their_message():
    for X, words in ((np.full((4, 2), np.nan), "NaN"), ([1.0, 2.0, 3.0, 4.0], "2D array")):
        with pytest.raises(ValueError, match=words):
            MulticlassSVC().fit(X, [0, 1, 0, 1])
    numbers = np.array([["1.5", "2"], ["0", "1"]])  # as NumPy reads them
    assert MulticlassSVC().fit(numbers, [0, 1]).predict(numbers).tolist() == [0, 1]


@pytest.mark.parametrize("make", [MulticlassSVC, TextClassifier])
def test_why_there_are_no_probabilities(make):
    model = make()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba([[1.0]])
    for words in (make.__name__, "decision_function", "predict_topk", "calibrate(X, y)"):
        assert words in str(caught.value)


def test_the_names_for_type_checkers_are_those_of_the_registries():
    def given(names):
        return list(names.__args__)

    assert given(_names.FormulationName) == list(FORMULATIONS)
    assert set(given(_names.SolverName)) == {name for each in SOLVERS.values() for name in each}
    assert set(given(_names.StoppingName)) == set(STOPPINGS)
    losses = {loss for each in FORMULATIONS.values() for loss in each.offered_losses}
    assert set(given(_names.LossName)) == losses
    assert given(MeasureName) == list(MEASURES)
