"""Reports, confusions, margins and the support set, against their definitions."""

import csv
import json
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import classification_report, confusion_matrix

from multimargin import MulticlassSVC, TextClassifier
from multimargin.datasets import wordnet_parents
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import (
    class_report,
    confusions,
    margins,
    similar_classes,
    support_set,
)

LABELS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdefg")), min_size=1, max_size=40
)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


# ---------------------------------------------------------------- class report


@settings(max_examples=40, deadline=None)
@given(LABELS)
def test_report_is_that_of_scikit_learn(pairs):
    truth, predicted = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = class_report(truth, predicted)
        str(report), report._repr_html_()
    theirs = classification_report(truth, predicted, output_dict=True, zero_division=np.nan)
    for label in report.labels.tolist():
        row = report[label]
        for ours, name in (("precision", "precision"), ("recall", "recall")):
            expected = theirs[label][name]
            assert row[ours] == (None if np.isnan(expected) else pytest.approx(expected))
        assert row["f1"] == pytest.approx(np.nan_to_num(theirs[label]["f1-score"]))
        assert row["support"] == theirs[label]["support"]
        assert row["predicted"] == predicted.count(label)
    hits = sum(a == b for a, b in pairs)
    assert report.accuracy == pytest.approx(hits / len(pairs))
    assert report.weighted_f1 == pytest.approx(sum(report[a]["f1"] for a in truth) / len(pairs))


def test_report_in_other_orders_and_forms(tmp_path):
    pd = pytest.importorskip("pandas")
    truth = ["b", "a", "a", "c", "a", "ü,\n"]
    predicted = ["b", "a", "b", "d", "a", "ü,\n"]
    report = class_report(truth, predicted)
    assert report.sorted_by("support", descending=True).labels.tolist()[0] == "a"
    assert report.sorted_by("f1").labels.tolist()[:2] == ["c", "d"]
    assert report.sorted_by("precision").labels.tolist()[-1] == "c"  # has none
    assert report.sorted_by("recall", descending=True).labels.tolist()[-1] == "d"  # has none
    assert report.sorted_by("label", descending=True).labels.tolist() == ["ü,\n", *"dcba"]
    first = report.head(2)
    assert len(first) == 2
    assert first.accuracy == report.accuracy
    assert json.loads(json.dumps(report.as_dict()))["classes"][2]["precision"] is None
    report.to_csv(tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == report.labels.tolist()
    assert rows[2]["precision"] == ""
    assert float(rows[0]["recall"]) == report["a"]["recall"]
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["a", "support"] == 3
    for call, words in (
        (lambda: report.sorted_by("size"), "column must be"),
        (lambda: report["z"], "not one of"),
        (lambda: class_report(["a"], ["a", "b"]), "1 true labels, but 2"),
        (lambda: class_report([], []), "empty"),
        (lambda: class_report([[1]], [1]), "one dimension"),
        (lambda: class_report([1, 2], ["1", "2"]), "convert one"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="y_true, y_pred"):
        class_report(truth)


def test_report_of_a_model_has_all_its_classes(iris):
    X, y = iris
    model = MulticlassSVC(random_state=0).fit(X, y)
    report = class_report(model, X[:50], y[:50])
    assert report.labels.tolist() == model.classes_.tolist()
    assert report["virginica"] == {
        "label": "virginica",
        **dict.fromkeys(("precision", "recall", "f1")),
        "support": 0,
        "predicted": 0,
    }
    assert report.macro_f1 == 1
    with pytest.raises(TypeError, match="model, X, y"):
        class_report(model, X)


def test_report_of_very_many_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 12_582, 20_000)
    predicted = np.where(rng.random(20_000) < 0.5, truth, rng.integers(0, 12_582, 20_000))
    report = class_report(truth, predicted)
    assert 10_000 < len(report) <= 12_582
    assert len(str(report).splitlines()) < 40
    assert "more" in str(report)
    found = confusions(truth, predicted, groups=lambda label: label // 100)
    assert found.counts.nnz <= 20_000
    assert sum(family.n_samples for family in found.families) == 20_000


# ---------------------------------------------------------------- confusions


@settings(max_examples=40, deadline=None)
@given(LABELS)
def test_confusions_are_those_of_the_matrix(pairs):
    truth, predicted = zip(*pairs, strict=True)
    labels = sorted({*truth, *predicted})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single label
        matrix = confusion_matrix(truth, predicted, labels=labels)
    found = confusions(truth, predicted, k=1000)
    assert np.array_equal(found.matrix(labels), matrix)
    assert found.n_errors == matrix.sum() - np.trace(matrix)
    off = {}
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            if i < j and matrix[i, j] + matrix[j, i]:
                off[frozenset((a, b))] = matrix[i, j] + matrix[j, i]
    assert {frozenset((p.a, p.b)): p.total for p in found.pairs} == off
    assert [p.total for p in found.pairs] == sorted(off.values(), reverse=True)
    for p in found.pairs:
        i, j = labels.index(p.a), labels.index(p.b)
        assert (p.a_as_b, p.b_as_a) == (matrix[i, j], matrix[j, i])
        assert p.a_as_b >= p.b_as_a
        assert p.a_as_b_rate == pytest.approx(matrix[i, j] / max(1, matrix[i].sum()))
    str(found), found._repr_html_()


def test_errors_among_siblings():
    parent = {"cat": "pet", "dog": "pet", "oak": "tree", "elm": "tree"}
    truth = ["cat", "cat", "dog", "oak", "oak", "elm", "sky"]
    predicted = ["dog", "oak", "cat", "elm", "oak", "sky", "cat"]
    for groups in (parent, parent.get):
        found = confusions(truth, predicted, groups=groups)
        assert (found.n_errors, found.n_sibling_errors) == (6, 3)
        assert found.sibling_share == 0.5
        pet, tree = found.families
        assert (pet.parent, pet.labels, pet.n_samples) == ("pet", ["cat", "dog"], 3)
        assert (pet.n_errors, pet.n_within, pet.share_within) == (3, 2, pytest.approx(2 / 3))
        assert (tree.n_errors, tree.n_within) == (2, 1)
        by_pair = {(p.a, p.b): p.siblings for p in found.pairs}
        assert by_pair["cat", "dog"] is True
        assert by_pair["cat", "oak"] is False
        assert found.family("tree") == tree
        assert found.n_parent_errors == 0
    above = confusions(["cat", "pet", "dog", "dog"], ["pet", "dog", "cat", "dog"], groups=parent)
    assert (above.n_parent_errors, above.n_sibling_errors) == (2, 1)
    assert "parent" in str(above)
    # Labels without a parent are nobody's siblings, not even each other's.
    assert confusions(["a", "b"], ["b", "a"], groups={}).n_sibling_errors == 0
    plain = confusions(truth, predicted)
    assert (plain.sibling_share, plain.families) == (None, [])
    with pytest.raises(ValueError, match="groups="):
        plain.family("pet")
    with pytest.raises(ValueError, match="'pet'"):
        found.family("pets")
    with pytest.raises(TypeError, match="mapping"):
        confusions(truth, predicted, groups=3)
    with pytest.raises(ValueError, match="k must be"):
        confusions(truth, predicted, k=0)
    json.dumps(found.as_dict())


def test_parents_of_wordnet():
    parents = wordnet_parents()
    assert len(parents) > 10_000
    chain = ["dog.n#n02084071"]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
    words = [label.partition(".")[0] for label in chain]
    assert words[:5] == ["dog", "canine", "carnivore", "placental", "mammal"]
    assert words[-1] == "entity"
    for label in parents:
        seen = {label}
        while label in parents:
            label = parents[label]  # noqa: PLW2901
            assert label not in seen
            seen.add(label)


def alike():
    """Two kinds of fruit and two of tools, which share words within their kind."""
    rng = np.random.default_rng(0)
    words = {
        "apple": "sweet juicy red round peel",
        "pear": "sweet juicy green long peel",
        "saw": "steel sharp teeth cut handle",
        "axe": "steel sharp heavy cut handle",
    }
    y = np.repeat(list(words), 20)
    texts = [" ".join(rng.choice(words[label].split(), 3)) for label in y]
    return texts, y


@pytest.mark.parametrize("sparse", [False, True])
def test_similar_classes_share_what_speaks_for_them(sparse):
    texts, y = alike()
    model = TextClassifier(random_state=0, sparse_coef=sparse).fit(texts, y)
    assert similar_classes(model, "apple", 1)[0][0] == "pear"
    assert similar_classes(model, "saw", 1)[0][0] == "axe"
    dense = model.coef_.toarray() if sparse else model.coef_
    up = np.maximum(dense, 0)
    up /= np.linalg.norm(up, axis=1)[:, None]
    order = list(model.classes_)
    for label, cosine in similar_classes(model, "axe"):
        assert cosine == pytest.approx(up[order.index("axe")] @ up[order.index(label)], abs=1e-6)
    found = confusions(model, texts, y)
    assert found.n_errors > 0
    assert found.sibling_share == 1.0  # of four classes, all others are among the nearest ten
    assert found.pairs[0].similarity == pytest.approx(
        dict(similar_classes(model, found.pairs[0].a))[found.pairs[0].b], abs=1e-6
    )
    two = MulticlassSVC(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert similar_classes(two, 0) == [(1, 0.0)]


# ---------------------------------------------------------------- margins and support

CASES = [(name, loss) for name, facts in FORMULATIONS.items() for loss in facts.offered_losses]
OPTIONS = [
    (2, {}),
    (3, {"intercept_scaling": 3.0}),
    (3, {"solver": "passes", "fit_intercept": False}),
]


def primal(model, losses, box):
    """The objective from the weights that a model has, and its samples' losses."""
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    square = float(np.sum(coef.astype(float) ** 2))
    if model.fit_intercept:
        square += float(np.sum((model.intercept_ / model.intercept_scaling) ** 2))
    # Two classes: the row is w_1 - w_0 with w_0 = -w_1, unless there is but one binary problem.
    halved = len(model.classes_) == 2 and not FORMULATIONS[model.formulation].independent
    return square * (0.25 if halved else 0.5) + float(np.sum(box * losses))


@pytest.mark.parametrize(("formulation", "loss"), CASES)
@pytest.mark.parametrize(("classes", "options"), OPTIONS)
def test_losses_and_dual_variables_make_the_model(iris, formulation, loss, classes, options):
    if FORMULATIONS[formulation].centred and options.get("solver") == "passes":
        options = {**options, "solver": "auto"}  # passes alone would take long
    X, y = iris
    kept = (y != "setosa") | (classes == 3)
    X, y = X[kept], y[kept]
    model = MulticlassSVC(
        formulation, C=0.3, loss=loss, warm_start=True, tol=1e-3, random_state=0, **options
    ).fit(X, y)
    found = margins(model, X, y)
    assert primal(model, found.loss, 0.3) == pytest.approx(model.primal_objective_, rel=1e-9)
    held = support_set(model, y, tol=0)
    bias = model.intercept_scaling if model.fit_intercept else 0.0
    coef, intercept = held.weights(X, bias=bias)
    assert np.allclose(coef.toarray(), model.coef_, atol=1e-9)
    assert np.allclose(intercept, model.intercept_, atol=1e-9)
    assert np.all(held.alpha > 0)
    assert np.array_equal(held.label, y[held.sample])
    own = held.label == held.against
    assert FORMULATIONS[formulation].own_variable or not own.any()
    assert FORMULATIONS[formulation].other_variables or own.all()
    if loss == "squared_hinge":
        assert not held.at_bound.any()


def test_free_ones_lie_on_their_margin_and_bound_ones_within(iris):
    X, y = iris
    for formulation in ("ww", "cs"):
        model = MulticlassSVC(
            formulation, warm_start=True, solver="passes", tol=1e-4, random_state=0
        ).fit(X, y)
        held = support_set(model, y)
        scores = model.decision_function(X[held.sample])
        at = np.arange(len(held))
        own = scores[at, np.searchsorted(model.classes_, held.label)]
        slack = 1 - own + scores[at, np.searchsorted(model.classes_, held.against)]
        assert np.abs(slack[~held.at_bound]).max() < 0.05
        assert slack[held.at_bound].min() > -0.05
        assert held.at_bound.sum() > 5
        assert (~held.at_bound).sum() > 1


def test_margins_are_to_the_best_rival(iris):
    X, y = iris
    for kept in (y != "", y != "setosa"):
        for formulation in ("ww", "ovr"):
            model = MulticlassSVC(formulation, random_state=0).fit(X[kept], y[kept])
            found = margins(model, X[kept], y[kept])
            labels, scores = model.predict_topk(X[kept], 2)
            right = labels[:, 0] == y[kept]
            assert np.array_equal(right, found.margin > 0)
            assert found.error == pytest.approx(1 - right.mean())
            assert np.allclose(found.margin[right], (scores[:, 0] - scores[:, 1])[right])
            assert np.array_equal(found.rival[right], labels[right, 1])
            assert np.array_equal(found.rival[~right], labels[~right, 0])
    assert np.all(np.diff(found.margin[found.hardest(20)]) >= 0)
    assert "nearer to another" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["rival"][0] in model.classes_
    with pytest.raises(ValueError, match="'setosa'"):
        margins(model, X, y)
    with pytest.raises(ValueError, match="3 samples"):
        margins(model, X[:3], y[:2])


def test_sums_of_the_support_set(iris):
    X, y = iris
    model = MulticlassSVC("ww", C=1.0, warm_start=True, tol=1e-6, random_state=0).fit(X, y)
    held = support_set(model, y)
    assert 3 <= len(held.samples) < 60
    assert held.per_sample().shape == (150,)
    assert np.array_equal(np.flatnonzero(held.per_sample()), held.samples)
    totals = held.per_class()
    assert totals["samples"].sum() == len(held.samples)
    assert totals["rivals"].sum() == len(held)
    assert totals["alpha"].sum() == pytest.approx(held.alpha.sum())
    assert totals["rival_alpha"].sum() == pytest.approx(held.alpha.sum())
    part = held.of_class("setosa")
    assert 0 < len(part) < len(held)
    assert np.all((part.label == "setosa") | (part.against == "setosa"))
    assert "at their bound" in str(held)
    assert json.loads(json.dumps(held.as_dict()))["n_support"] == len(held.samples)
    # Without the samples that have no part in it, the model is the same.
    again = MulticlassSVC("ww", C=1.0, tol=1e-6, random_state=0).fit(
        X[held.samples], y[held.samples]
    )
    assert np.allclose(again.coef_, model.coef_, atol=5e-3)


def test_samples_of_weight_zero_keep_their_places(iris):
    X, y = iris
    weight = np.ones(150)
    weight[::3] = 0
    model = MulticlassSVC(warm_start=True, random_state=0, class_weight={"setosa": 0})
    model.fit(X, y, sample_weight=weight)
    held = support_set(model, y, sample_weight=weight, tol=0)
    assert held.n_samples == 150
    assert np.all(weight[held.sample] > 0)
    assert np.array_equal(held.label, y[held.sample])
    coef, _ = held.weights(X)
    assert np.allclose(coef.toarray(), model.coef_, atol=1e-9)
    assert support_set(model).n_samples == np.sum((weight > 0) & (y != "setosa"))
    with pytest.raises(ValueError, match="as they were given to fit"):
        support_set(model, y)
    with pytest.raises(ValueError, match="without y"):
        support_set(model, sample_weight=weight)
    with pytest.raises(ValueError, match="tol must be"):
        support_set(model, tol=2)
    with pytest.raises(ValueError, match="warm_start=True"):
        support_set(MulticlassSVC(random_state=0).fit(X, y))


# ---------------------------------------------------------------- plots


def drawn(ax, path):
    """Render; every label must be inside of the figure."""
    figure = ax.figure
    figure.savefig(path)
    figure.canvas.draw()
    box = figure.bbox
    low, high = sorted(ax.get_ylim())
    beside = [text for text in ax.get_yticklabels() if low <= text.get_position()[1] <= high]
    for text in [*beside, ax.title, ax.xaxis.label, ax.yaxis.label]:
        if text.get_text():
            extent = text.get_window_extent()
            assert extent.x0 >= box.x0 - 2, text
            assert extent.x1 <= box.x1 + 2, text
            assert extent.y0 >= box.y0 - 2, text
    assert path.stat().st_size > 1000


def test_plots_are_drawn(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    texts, y = alike()
    y = np.array([f"a kind of {label} with a name that is too long to be shown $x_" for label in y])
    model = TextClassifier(random_state=0).fit(texts, y)
    found = confusions(
        model, texts, y, groups=lambda label: "fruit" if "p" in label[10:15] else "b"
    )
    plots = {
        "explanation": model.explain(texts[0]).plot,
        "top": model.top_features(y[0]).plot,
        "margins": margins(model, texts, y).plot,
        "report": class_report(model, texts, y).plot,
        "confusions": found.plot,
        "pairs": lambda: confusions(model, texts, y).plot(),
        "family": lambda: found.plot(found.families[0]),
    }
    for name, plot in plots.items():
        drawn(plot(), tmp_path / f"{name}.png")
    _, ax = plt.subplots()
    assert model.explain(texts[0]).plot(ax) is ax
    bars = [patch.get_width() for patch in ax.patches]
    assert bars[0] == pytest.approx(model.explain(texts[0]).contributions[0].contribution)
    many = np.random.default_rng(0).integers(0, 60, (2, 2000))
    assert len(confusions(*many).plot(range(60)).get_xticklabels()) == 25
    with pytest.raises(ValueError, match="nothing was confused"):
        confusions([1], [1]).plot()
    plt.close("all")


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    report = class_report(["a"], ["a"])
    with pytest.raises(ImportError, match=r'pip install "multimargin\[plot\]"'):
        report.plot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        report.to_frame()
