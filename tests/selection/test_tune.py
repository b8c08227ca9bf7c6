"""Comparing formulations and values of C: splits, tables, and the command."""

import csv
import json
import math
import os
import shlex
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from multimargin import TextClassifier, load_model, tune
from multimargin.cli import main
from multimargin.estimator._splits import folds_of, holdout_of, rows_of, seen_once
from multimargin.formulations import FORMULATIONS
from multimargin.selection._measure import HeldOut
from multimargin.selection._tune import Tuner
from multimargin.tables import Table
from multimargin.text import TextFeatures

X, Y = make_classification(
    150, 12, n_informative=6, n_classes=3, class_sep=2.0, flip_y=0.05, random_state=0
)
X /= np.linalg.norm(X, axis=1, keepdims=True)
QUICK = {"tol": 0.05, "random_state": 0}

labels_strategy = st.lists(st.integers(0, 8), min_size=4, max_size=60)


@settings(max_examples=60, deadline=None)
@given(labels_strategy, st.integers(2, 6), st.integers(0, 5))
def test_folds_partition_what_can_be_held_out(labels, count, seed):
    y = np.array(labels)
    values, counts = np.unique(y, return_counts=True)
    once = values[counts == 1]
    usable = int(counts[counts > 1].sum())
    if usable < count:
        with pytest.raises(ValueError, match="label"):
            folds_of(y, count, seed)
        return
    tested = np.zeros(len(y), int)
    sizes = []
    for train, test in folds_of(y, count, seed):
        assert len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == len(y)
        assert set(y[test]) <= set(y[train])
        for c in values[counts > 1]:  # stratified: within one of an equal share
            assert abs(np.sum(y[test] == c) - counts[values == c][0] / count) < 1
        tested[test] += 1
        sizes.append(len(test))
    assert max(sizes) - min(sizes) <= 1
    assert np.array_equal(tested == 0, np.isin(y, once)) and tested.max() <= 1
    assert seen_once(y) == len(once)


@settings(max_examples=60, deadline=None)
@given(labels_strategy, st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.integers(0, 5))
def test_a_holdout_leaves_a_sample_of_each_label(labels, share, seed):
    y = np.array(labels)
    try:
        train, test = holdout_of(y, share, seed)
    except ValueError as error:
        assert "none" in str(error)
        return
    assert sorted([*train, *test]) == list(range(len(y)))
    assert set(y) == set(y[train]) and len(test) >= 1
    assert len(test) <= round(share * len(y)) + 1


def test_splits_are_those_of_the_seed():
    y = np.repeat(np.arange(5), 8)
    assert np.array_equal(folds_of(y, 4, 1)[0][1], folds_of(y, 4, 1)[0][1])
    assert not np.array_equal(folds_of(y, 4, 1)[0][1], folds_of(y, 4, 2)[0][1])


def test_rows_of_whatever_holds_samples():
    index = np.array([2, 0])
    assert rows_of(["a", "b", "c"], index) == ["c", "a"]
    assert list(rows_of({"t": ["a", "b", "c"]}, index)["t"]) == ["c", "a"]
    assert list(rows_of(Table({"t": ["a", "b", "c"]}), index)["t"]) == ["c", "a"]
    np.testing.assert_array_equal(rows_of(X, index), X[index])


def test_all_formulations_and_the_numbers_of_the_table():
    Cs = {"ww": [1, 0.01], "cs": [1], "ovr": [1], "llw": [1]}
    asked = {"formulations": list(Cs), "Cs": Cs, "folds": 3, **QUICK}
    found = tune(X, Y, **asked)
    assert [(c.formulation, c.C) for c in found.candidates] == [
        ("ww", 0.01), ("ww", 1.0), ("cs", 1.0), ("llw", 1.0), ("ovr", 1.0),
    ]  # fmt: skip
    best = found.best()
    assert best.mean() == min(c.mean() for c in found.candidates)
    values = best.values()
    assert len(values) == 3 and best.mean() == pytest.approx(np.mean(values))
    assert best.standard_error() == pytest.approx(np.std(values, ddof=1) / math.sqrt(3))
    rows = found.rows()
    assert rows[0]["micro_f1"] == pytest.approx(1 - rows[0]["error"])
    assert all(point.model is None for c in found.candidates for point in c.points)
    assert json.loads(json.dumps(found.as_dict()))["best"]["C"] == best.C
    again = tune(X, Y, **asked)
    assert [c.values() for c in again.candidates] == [c.values() for c in found.candidates]


def test_what_is_measured_was_not_trained_on(monkeypatch):
    """Labels that are noise: whoever sees the held-out samples would be right."""
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 200)), rng.integers(3, size=60)
    found = tune(noise, labels, formulations="ww", Cs=[10.0], folds=3, **QUICK)
    assert found.best().mean() > 0.4


def test_the_vectorizer_sees_the_training_part_alone(monkeypatch):
    texts = [f"common word{i}" for i in range(20)]
    labels = np.array(["a", "b"] * 10)
    seen = []
    fit = TextFeatures.fit_transform

    def spy(self, X, y=None):
        matrix = fit(self, X)
        seen.append(set(self.get_feature_names_out()))
        return matrix

    monkeypatch.setattr(TextFeatures, "fit_transform", spy)
    tune(texts, labels, estimator=TextClassifier(), formulations=["ww", "cs"], Cs=[1.0, 2.0],
         folds=4, **QUICK)  # fmt: skip
    parts = [{texts[i].split()[1] for i in train} for train, _ in folds_of(labels, 4, 0)]
    assert seen == [part | {"common"} for part in parts]


def test_the_standard_error_of_one_split():
    single = tune(X, Y, formulations="ww", Cs=[0.3, 1], holdout=0.3, measure="macro-f1", **QUICK)
    assert math.isnan(single.best().standard_error("macro-f1"))
    assert single.simplest() is single.best()
    p, n = single.best().mean(), single.best().points[0].measures["samples"]
    assert single.best().standard_error() == pytest.approx(math.sqrt(p * (1 - p) / n))


def test_formulations_that_are_too_large_are_left_out_unless_asked_for(monkeypatch):
    monkeypatch.setattr("multimargin.selection._tune._MOST_DENSE_BYTES", 10)
    some = tune(X, Y, Cs=[1.0], holdout=0.2, **QUICK)
    assert set(some.left_out) == {"ovr"} and len(some.candidates) == 2
    every = tune(X, Y, formulations="all", Cs=[1.0], holdout=0.2, **QUICK)
    assert len(every.candidates) == len(FORMULATIONS) and not every.left_out


def test_an_interrupted_comparison_keeps_what_was_measured():
    tuner = Tuner(X, Y, formulations="ww", Cs=[0.1, 1], folds=3, **QUICK)
    steps = []

    def stop(candidate):
        steps.append(candidate)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuner.run(stop)
    assert tuner.steps == 6
    assert [len(c.points) for c in tuner.tuning.candidates] == [2, 1]
    assert tuner.tuning.best().C == 0.1  # of those with most folds


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"folds": 1}, "at least 2"),
        ({"folds": 151}, "too many"),
        ({"folds": 2.5}, "integer"),
        ({"folds": 3, "holdout": 0.2}, "exclude"),
        ({"holdout": 1.5}, "between 0 and 1"),
        ({"holdout": 0.001}, "none"),
        ({"formulations": ["ww", "xx"]}, "formulation"),
        ({"formulations": []}, "empty"),
        ({"Cs": [0]}, "positive"),
        ({"measure": "auc"}, "measure"),
        ({"top_k": 0}, "top_k"),
        ({"y": np.zeros(150)}, "2 classes"),
        ({"y": Y[:-1]}, "149"),
        ({"y": np.arange(150)}, "no label has two"),
        ({"validation": (X, [])}, "labels"),
    ],
)
def test_bad_input_is_refused_with_its_reason(changed, words):
    arguments = {"X": X, "y": Y, **changed}
    with pytest.raises(ValueError, match=words):
        tune(**arguments)


# ---------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{y} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n"
        for x, y in zip(X, Y, strict=True)
    ]
    (tmp_path / "train.svm").write_text("".join(lines))
    (tmp_path / "other.svm").write_text("".join(lines[::5]))
    words = {"pet": ["dog", "cat", "hamster"], "plant": ["rose", "tulip", "oak"]}
    rows = ["text,label"]
    rows += [f"a {w} {i},{label}" for label, ws in words.items() for w in ws for i in range(6)]
    rows += ["a lonely stone,thing"]
    (tmp_path / "texts.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_table_a_plot_a_csv_and_a_model(folder, capsys):
    pytest.importorskip("matplotlib")
    command = "tune train.svm --formulations ww,ovr --C 0.01,10 --folds 3 --threads 1 --quiet"
    status = main([*command.split(), "--plot", "p.svg", "--csv", "t.csv", "--model", "m"])
    out, err = capsys.readouterr()
    assert status == 0
    lines = out.splitlines()
    assert "error %" in lines[0] and [line.split()[:2] for line in lines[1:5]] == [
        ["ww", "0.01"], ["ww", "10"], ["ovr", "0.01"], ["ovr", "10"],
    ]  # fmt: skip
    assert sum("best" in line for line in lines[1:5]) == 1 and "±" in lines[1]
    assert (folder / "p.svg").read_text().count("<path") > 5
    table = list(csv.DictReader((folder / "t.csv").open()))
    assert len(table) == 4 and float(table[1]["error"]) < 0.3
    best = min(table, key=lambda row: float(row["error"]))
    model = load_model(folder / "m")
    assert (model.formulation, model.C) == (best["formulation"], float(best["C"]))
    assert main(["evaluate", "m", "train.svm", "--json", "--threads", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["error"] < 0.3
    assert "largest" in err or model.C != 10


@pytest.mark.parametrize("name", ["p.png", "p.pdf"])
def test_plots_of_other_types(folder, name):
    pytest.importorskip("matplotlib")
    command = f"tune train.svm --formulations cs --C 1:9:2 --holdout 0.3 --quiet --plot {name}"
    assert main([*command.split(), "--measure", "macro-f1"]) == 0
    assert (folder / name).read_bytes()[:4] in (b"\x89PNG", b"%PDF")


def test_json_and_a_validation_file(folder, capsys):
    command = "tune train.svm --validation other.svm --formulations ww --C 0.1:10:3 --quiet --json"
    assert main([*command.split(), "--measure", "top-k", "--top-k", "2"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [round(row["C"], 6) for row in result["candidates"]] == [0.1, 1, 10]
    assert result["measure"] == "top-k" and result["folds"] == 1 and not result["interrupted"]
    assert result["candidates"][0]["macro_f1_se"] is None


def test_raw_texts_with_a_label_that_is_seen_once(folder, capsys):
    command = "tune texts.csv --text text --label label --formulations ww,cs --C 1,3 --folds 3"
    assert main([*command.split(), "--model", "m", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert "1 label is seen once: it is in training only" in err and "best" in out
    model = load_model(folder / "m")
    assert isinstance(model, TextClassifier)
    assert model.predict(["my dog", "a red rose"]).tolist() == ["pet", "plant"]
    held = main([*command.replace("--folds 3", "--validation texts.csv").split(), "--quiet"])
    assert held == 0 and "best" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("texts.csv", "--text text --label label --ngrams 1-2 --min-df 2 --no-idf --threads 1"),
        ("texts.csv", "--text text --label label --tol 0.05 --seed 3 --class-weight balanced"),
        ("train.svm", "--normalize l2 --no-intercept --features 20"),
    ],
)
def test_the_command_to_type_next(folder, capsys, data, options):
    common = ["--formulations", "cs", "--C", "0.1,1,10", "--holdout", "0.3", "--quiet"]
    assert main(["tune", data, *options.split(), *common]) == 0
    line = next(s for s in capsys.readouterr().out.splitlines() if s.startswith("next: "))
    words = shlex.split(line)[1:]
    assert words[:4] == ["multimargin", "train", data, "MODEL"]
    pairs = zip(options.split(), [*options.split()[1:], "--"], strict=True)
    for option, value in pairs:
        if option.startswith("--"):
            at = words.index(option)
            assert value.startswith("--") or words[at + 1] == value
    assert len(words) == 4 + 4 + len(options.split())
    assert main([*words[1:], "--quiet"]) == 0
    model = load_model(folder / "MODEL")
    assert model.formulation == "cs" and f"{model.C:g}" == words[words.index("--C") + 1]
    assert main(["tune", data, *options.split(), *common, "--json", "--model", "best"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["next"] == "multimargin predict best NEW_DATA"


def test_all_is_trained_on_all_folds_if_asked_for(folder, capsys):
    command = "tune train.svm --formulations ww,cs --C 0.0001,1 --folds 3 --tol 0.05 --json --quiet"
    folds = []
    for more in ([], ["--complete"]):
        assert main([*command.split(), *more]) == 0
        found = json.loads(capsys.readouterr().out)["candidates"]
        folds.append([row["folds"] for row in found])
    assert folds[1] == [3] * 4 and min(folds[0]) == 1 and max(folds[0]) == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--folds 500", "too many"),
        ("--plot p.gif", ".png"),
        ("--plot nowhere/p.png", "nowhere"),
        ("--csv train.svm", "overwritten"),
        ("--text words", "label"),
    ],
)
def test_errors_are_one_line(folder, capsys, more, words):
    assert main(["tune", "train.svm", "--quiet", *more.split()]) == 1
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "more",
    ["--C 0", "--C 1,1", "--C 1:0:3", "--C x", "--formulations ww,zz", "--holdout 2",
     "--folds 3 --holdout 0.2", "--measure auc"],
)  # fmt: skip
def test_wrong_usage(folder, capsys, more):
    assert main(["tune", "train.svm", *more.split()]) == 2
    assert "try 'multimargin tune --help'" in capsys.readouterr().err


def test_ctrl_c_prints_what_was_measured(folder, monkeypatch, capsys):
    real, fits = HeldOut.measured, []

    def measured(*args):
        fits.append(real(*args))
        if len(fits) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return fits[-1]

    monkeypatch.setattr(HeldOut, "measured", measured)
    assert main(["tune", "train.svm", "--quiet", "--formulations", "ww"]) == 130
    out, err = capsys.readouterr()
    assert "interrupted" in err
    assert "1 of 5 folds" in out and "best" in out
