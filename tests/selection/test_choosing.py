"""What a comparison leaves out, how far it goes, and what it chooses."""

import numpy as np
import pytest

from multimargin import MulticlassSVC, TextClassifier, tune
from multimargin.datasets import make_hierarchical_text
from multimargin.selection import default_penalties
from multimargin.selection._early_stop import able_to_win, is_falling
from multimargin.selection._measure import measure_named
from multimargin.selection._path import PathPoint
from multimargin.selection._plots import Curve, draw
from multimargin.selection._tuning import Tuning

ERROR = measure_named("error")
QUICK = {"tol": 0.05, "random_state": 0}


def point(C, error, density=1.0, seconds=1.0, samples=1000):
    measures = {"error": error, "samples": samples, "macro_f1": 1 - error, "top_k": 5}
    return PathPoint(C, 1.0, 1.0, 0.0, True, 1, seconds, density, None, measures)


def points(*errors, **more):
    return [point(2.0**k, error, **more) for k, error in enumerate(errors)]


def tuning(rows, measure="error"):
    """Of rows (formulation, C, errors on the folds, density, seconds)."""
    found = Tuning(measure, 5, max(len(errors) for _, _, errors, *_ in rows))
    for name, C, errors, density, seconds in rows:
        for split, error in enumerate(errors):
            found.add(name, point(C, error, density, seconds), split)
    return found


@pytest.fixture(scope="module")
def texts():
    return make_hierarchical_text(600, 500, 20, random_state=0)


# ---------------------------------------------------------------- what cannot win


def test_a_path_ends_after_two_values_that_are_worse_by_more_than_chance():
    assert is_falling(ERROR, points(0.3, 0.2, 0.3, 0.3))
    assert not is_falling(ERROR, points(0.3, 0.2, 0.3))  # one value may be an accident
    assert not is_falling(ERROR, points(0.4, 0.3, 0.2))  # rising C is better still
    assert not is_falling(ERROR, points(0.3, 0.2, 0.22, 0.22))  # 0.2 of 1000: 0.013 is one error
    assert not is_falling(ERROR, points(0.3, 0.2, 0.3, 0.3, samples=20))
    assert not is_falling(measure_named("macro-f1"), points(0.3, 0.2, 0.5, 0.5))


def test_what_is_left_after_the_first_split():
    paths = {
        "ww": points(0.9, 0.5, 0.2, 0.21, 0.9, 0.9),
        "cs": points(0.3, 0.22),
        "ovr": points(0.4),
    }
    assert able_to_win(ERROR, paths) == {"ww": (2.0, 4.0, 8.0), "cs": (2.0,)}
    # An error of zero has a spread, too: 1 of 1000 more is no difference.
    assert able_to_win(ERROR, {"ww": points(0.0, 0.5), "cs": points(0.001, 0.5)}) == {
        "ww": (1.0, 2.0), "cs": (1.0,)
    }  # fmt: skip
    every = able_to_win(measure_named("macro-f1"), paths)
    assert {name: len(Cs) for name, Cs in every.items()} == {"ww": 6, "cs": 2, "ovr": 1}


def test_what_cannot_win_is_on_the_first_split_only_unless_all_is_asked_for(texts):
    asked = {"formulations": ["ww", "mmr"], "Cs": [0.01, 1, 3], "folds": 3, **QUICK}
    some, every = tune(*texts, **asked), tune(*texts, complete=True, **asked)
    counts = {len(one.points) for one in some.candidates}
    assert counts == {1, 3} and {len(one.points) for one in every.candidates} == {3}
    for one in some.candidates:
        same = every[one.formulation, one.C]
        assert one.points[0].measures == same.points[0].measures
        if len(one.points) == 1:
            assert same.mean() > every.best().mean()
    assert some.best().parameters == every.best().parameters


# ---------------------------------------------------------------- ends of the grid


def test_more_values_follow_at_the_end_where_the_best_one_is(monkeypatch, texts):
    monkeypatch.setattr(
        "multimargin.selection._tune.default_penalties", lambda name, n: (0.001, 0.002)
    )
    with pytest.warns(UserWarning, match="larger ones may be better"):
        found = tune(*texts, formulations="ww", folds=2, **QUICK)
    Cs = [one.C for one in found.candidates]
    assert len(Cs) == 2 + 2 * 3 and max(Cs) == found.best().C and found.at_edge() == "largest"
    step = default_penalties("ww", 20)[1] / default_penalties("ww", 20)[0]
    np.testing.assert_allclose(np.diff(np.log(Cs[1:])), np.log(step))
    assert {len(one.points) for one in found.candidates} == {2}


def test_values_that_were_given_are_not_added_to(texts):
    with pytest.warns(UserWarning, match=r"C=0.02 is .* larger ones .*\(Cs in Python"):
        found = tune(*texts, formulations="ww", Cs=[0.002, 0.02], holdout=0.3, **QUICK)
    assert [one.C for one in found.candidates] == [0.002, 0.02]


def test_which_end():
    def edge(*errors):
        return tuning([("ww", C, [e], 1, 1) for C, e in enumerate(errors, 1)]).at_edge()

    assert edge(0.1, 0.2, 0.3) == "smallest" and edge(0.3, 0.2, 0.1) == "largest"
    assert edge(0.2, 0.1, 0.3) == "" and edge(0.1) == ""
    assert edge(0.1, 0.1, 0.3) == ""  # as good inside
    # Of all that were tried, also on the first fold only.
    found = tuning([("ww", 1, [0.9], 1, 1), ("ww", 2, [0.1, 0.1], 1, 1), ("ww", 3, [0.3], 1, 1)])
    assert found.at_edge() == "" and found.advice() == ""


# ---------------------------------------------------------------- what is chosen


def test_the_simplest_has_the_fewest_weights_within_one_standard_error():
    best = ("ww", 1.0, [0.20, 0.22, 0.24], 0.5, 9.0)  # standard error 0.0115
    near = ("cs", 1.0, [0.23, 0.23, 0.23], 0.1, 9.0)
    worse = ("cs", 0.1, [0.24, 0.24, 0.24], 0.01, 0.1)
    unfinished = ("cs", 0.2, [0.2], 0.001, 0.1)
    found = tuning([best, near, worse, unfinished])
    assert found.best().parameters == {"formulation": "ww", "C": 1.0}
    assert found.simplest().parameters == {"formulation": "cs", "C": 1.0}
    faster = ("ovr", 2.0, [0.23, 0.23, 0.23], 0.1001, 3.0)
    assert tuning([best, near, worse, faster]).simplest().formulation == "ovr"
    assert tuning([best, worse]).simplest().formulation == "ww"


def test_folds_may_come_in_any_order():
    found = Tuning("error", 5, 3)
    for split in (2, 0, 1):
        found.add("ww", point(1.0, split / 10), split)
    found.add("ww", point(0.5, 0.9), 0)
    assert found["ww", 1.0].values() == [0.0, 0.1, 0.2] and found["ww", 1.0].splits == [0, 1, 2]
    assert [one.C for one in found.candidates] == [0.5, 1.0]


def test_the_estimator_to_train_has_the_other_parameters(texts):
    X, y = texts
    found = tune(X, y, formulations="ww", Cs=[0.5, 2, 9], holdout=0.3, tol=0.03, random_state=4)
    model = found.estimator()
    assert type(model) is MulticlassSVC and not hasattr(model, "coef_")
    assert (model.formulation, model.C) == ("ww", found.best().C)
    assert (model.tol, model.random_state) == (0.03, 4)
    assert found.estimator(found.candidates[0]).C == 0.5
    assert f"C={found.best().C:g}, formulation='ww'" in repr(found).replace(".0,", ",")
    words = [f"a {color} thing" for color in ("red", "blue", "green")] * 4
    of_texts = tune(words, words, estimator=TextClassifier(use_idf=False), formulations="ww",
                    Cs=[1], holdout=0.3)  # fmt: skip
    assert isinstance(of_texts.estimator(), TextClassifier) and not of_texts.estimator().use_idf


# ---------------------------------------------------------------- the plot


def axes():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_the_axis_fits_the_values_near_the_best_one():
    hopeless = Curve("llw", [1, 10, 100], [0.99, 0.98, 0.97])
    good = Curve("ww", [0.1, 1, 10, 100], [0.30, 0.21, 0.20, 0.22], [0.01] * 4, marked=2)
    low, high = draw([good, hopeless], "error", axes()).get_ylim()
    assert low < 0.19 and 0.22 < high < 0.5
    turned = Curve("ww", [0.1, 1, 10, 100], [0.70, 0.79, 0.80, 0.78], [0.01] * 4, marked=2)
    low, high = draw([turned, Curve("llw", [1, 2], [0.01, 0.02])], "micro-F1", axes()).get_ylim()
    assert 0.5 < low < 0.78 and high > 0.81
    ax = draw([Curve("ww", [1, 2, 3], [0.2, 0.21, 0.23], marked=0)], "error", axes())
    low, high = ax.get_ylim()
    assert low < 0.2 and high > 0.23 and not ax.get_title(loc="right")
