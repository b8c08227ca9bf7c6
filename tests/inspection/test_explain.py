"""What decided a prediction: exact sums, right signs, text for people."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin import MulticlassSVC, TextClassifier, load_model, save_model
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import TopFeatures
from multimargin.models._feature_names import names_of

WORDS = ["red", "green", "round", "sour", "sweet", "hard", "soft", "old"]


def problem(classes, seed=0, n=60, d=12, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.4, random_state=seed, format="csr", dtype=np.float64).astype(dtype)
    y = np.array([f"class {c}" for c in rng.integers(0, classes, n)])
    y[:classes] = [f"class {c}" for c in range(classes)]
    return X, y


def fitted(classes=4, formulation="ww", seed=0, dtype=np.float64, **options):
    X, y = problem(classes, seed, dtype=dtype)
    return MulticlassSVC(formulation, random_state=0, **options).fit(X, y), X, y


def class_scores(model, X):
    """The scores of all classes as predict_topk has them, in the order of the classes."""
    labels, scores = model.predict_topk(X, len(model.classes_))
    return np.take_along_axis(scores, labels.argsort(axis=1), axis=1)


def total(explanation):
    parts = [c.contribution for c in explanation.contributions]
    return sum(parts) + explanation.intercept + explanation.rest


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_parts_add_up_to_the_scores(formulation, classes, sparse):
    model, X, _ = fitted(classes, formulation, sparse_coef=sparse)
    scores = class_scores(model, X)
    for i in range(10):
        found = model.explain(X[i], k=3)
        order = np.argsort(-scores[i])
        assert found.label == model.predict(X[i])[0] == model.classes_[order[0]]
        assert found.runner_up == model.classes_[order[1]]
        assert found.score == pytest.approx(scores[i][order[0]], abs=1e-12)
        assert found.runner_up_score == pytest.approx(scores[i][order[1]], abs=1e-12)
        assert total(found) == pytest.approx(found.score - found.runner_up_score, abs=1e-12)
        for part in ("score", "runner_up_score"):
            whole = sum(getattr(c, part) for c in found.contributions)
            whole += getattr(found.intercept_part, part) + getattr(found.rest_part, part)
            assert whole == pytest.approx(getattr(found, part), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(0, 8),
    st.sampled_from(["for", "size"]),
    st.booleans(),
    st.lists(st.floats(-3, 3, width=32), min_size=8, max_size=8),
    st.integers(0, 2**31),
)
def test_sums_for_any_model(classes, k, rank, sparse, x, seed):
    rng = np.random.default_rng(seed)
    rows = 1 if classes == 2 else classes
    model = MulticlassSVC(rng.choice([*FORMULATIONS]))
    model.classes_ = np.arange(classes) * 3
    coef = rng.normal(size=(rows, 8)) * (rng.random((rows, 8)) < 0.6)
    model.coef_ = sp.csr_matrix(coef) if sparse else coef
    model.intercept_ = rng.normal(size=rows)
    model.n_features_in_ = 8
    found = model.explain(x, k, rank=rank)
    scores = coef @ np.array(x) + model.intercept_
    if classes == 2:
        share = scores[0] / (1 if model.formulation == "ovr" else 2)
        scores = np.array([-share, share])
    assert found.score == pytest.approx(scores.max(), abs=1e-9)
    assert found.runner_up_score == pytest.approx(np.sort(scores)[-2], abs=1e-9)
    assert total(found) == pytest.approx(found.score - found.runner_up_score, abs=1e-9)
    assert len(found.contributions) <= k
    listed = [c.contribution for c in found.contributions]
    assert listed == sorted(listed, reverse=True)
    assert found.n_known == np.count_nonzero(x)
    assert json.loads(json.dumps(found.as_dict()))["label"] == found.label


def test_ranks_by_what_speaks_for_it_or_by_size():
    model = MulticlassSVC()
    model.classes_ = np.array(["a", "b", "c"])
    model.coef_ = np.array([[3.0, -2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [-9.0, 0.0, 0.0, 0.0]])
    model.intercept_ = np.array([0.5, 0.0, 0.0])
    model.n_features_in_ = 4
    x = [1.0, 1.0, 1.0, 1.0]
    assert [c.index for c in model.explain(x, 2).contributions] == [0, 2]
    found = model.explain(x, 2, rank="size")
    assert [(c.index, c.contribution) for c in found.contributions] == [(0, 3.0), (1, -2.0)]
    assert (found.rest, found.intercept, found.n_rest) == (1.0, 0.5, 2)
    # Feature 3 has no weight for either class: it is known, and not listed.
    assert [c.index for c in model.explain(x, 9).contributions] == [0, 2, 1]


def test_class_and_rival_can_be_named():
    model, X, _ = fitted(5)
    worst = model.predict_topk(X[:1], 5)[0][0]
    found = model.explain(X[0], label=worst[3], against=worst[4])
    assert (found.label, found.runner_up) == (worst[3], worst[4])
    assert found.difference >= 0
    assert model.explain(X[0], label=worst[2]).runner_up == worst[0]
    assert model.explain(X[0], against=worst[4]).label == worst[0]
    assert [label for label, _ in model.explain(X[0], n_best=4).best] == worst[:4].tolist()
    alone = model.explain(X[0], label=worst[3], against=worst[4], n_best=0)
    assert alone == replace(found, best=[])


def test_known_contribution_of_two_classes():
    """Positive scores mean the second class, whose word must speak for it."""
    texts = ["sour lemon", "sour lime", "sweet plum", "sweet fig"]
    for formulation in FORMULATIONS:
        model = TextClassifier(formulation, random_state=0).fit(texts, ["s", "s", "w", "w"])
        for text, label in (("sour", "s"), ("sweet", "w")):
            found = model.explain(text)
            assert found.label == label
            assert [c.feature for c in found.contributions] == [text]
            assert found.contributions[0].contribution > 0
            assert found.contributions[0].weight == -found.contributions[0].runner_up_weight
        share = 1 if formulation == "ovr" else 2
        assert found.score == pytest.approx(model.decision_function(["sweet"])[0] / share, rel=1e-6)


# ---------------------------------------------------------------- what it takes


def test_rows_of_all_kinds_are_the_same_sample():
    pd = pytest.importorskip("pandas")
    X, y = problem(4)
    frame = pd.DataFrame(X.toarray(), columns=[f"x{j}" for j in range(X.shape[1])])
    model = MulticlassSVC(random_state=0).fit(frame, y)
    whole = model.explain(frame.iloc[[3]])
    assert whole.contributions[0].feature.startswith("x")
    assert model.explain(frame.iloc[3]) == whole
    plain, _, _ = fitted()
    row = X.toarray()[3]
    same = plain.explain(row)
    for other in (row[None, :], row.tolist(), X[3], sp.csr_array(X)[[3]], X[3].tocsc()):
        assert plain.explain(other) == same
    assert same.contributions[0].feature == f"feature {same.contributions[0].index}"


def test_texts_and_tables():
    texts = [" ".join(np.random.default_rng(i).choice(WORDS, 3)) for i in range(30)]
    y = [text.split()[0] for text in texts]
    model = TextClassifier(random_state=0).fit(texts, y)
    assert model.explain("red hard zebra") == model.explain(["red hard zebra"])
    assert {c.feature for c in model.explain("red hard zebra").contributions} <= {"red", "hard"}
    nothing = model.explain("zebra")
    assert nothing.contributions == []
    assert nothing.rest == 0
    assert nothing.n_known == 0
    assert "known" in str(nothing)
    assert "known" in nothing._repr_html_()
    table = {"t": texts, "size": list(range(30))}
    model = TextClassifier(text="t", numeric="size", random_state=0).fit(table, y)
    found = model.explain({"t": "red hard", "size": 3})
    assert {c.feature for c in found.contributions} == {"red", "hard", "size"}
    listed = model.features_.get_feature_names_out().tolist()
    assert names_of(model, np.arange(len(listed))) == listed


def test_bad_input_says_what_is_wrong():
    model, X, _ = fitted()
    for call, words in (
        (lambda: model.explain(X[:2]), "one sample, got 2"),
        (lambda: model.explain("text"), "TextClassifier"),
        (lambda: model.explain(X[0], k=-1), "k must be"),
        (lambda: model.explain(X[0], k=2.5), "k must be"),
        (lambda: model.explain(X[0], rank="best"), "'for' or 'size'"),
        (lambda: model.explain(X[0], label="class 1", against="class 1"), "itself"),
        (lambda: model.explain(X[0], label="Class 1"), "did you mean 'class 1'"),
        (lambda: model.top_features("clas 3"), "did you mean 'class 3'"),
        (lambda: model.top_features(3), "'class 3'"),
        (lambda: model.top_features("class 1", 0), "k must be"),
        (lambda: model.explain(np.zeros(5)), "features"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match="fitted"):
        MulticlassSVC().explain(X[0])


def test_labels_that_are_numbers():
    X, y = problem(4)
    codes = np.array([int(label[-1]) * 10 for label in y])
    model = MulticlassSVC(random_state=0).fit(X, codes)
    assert model.top_features(20).label == 20
    assert model.top_features(np.int32(20)).label == 20
    with pytest.raises(ValueError, match="'20' is not one of the 4 classes"):
        model.top_features("20")
    with pytest.raises(ValueError, match="25 is not"):
        model.explain(X[0], against=25)


# ---------------------------------------------------------------- models from files, and fast


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mapped_and_indexed_models_say_the_same(tmp_path, sparse, dtype):
    model, X, _ = fitted(9, sparse_coef=sparse, dtype=dtype)
    save_model(model, tmp_path / "m")
    mapped = load_model(tmp_path / "m")
    expected = [model.explain(X[i], n_best=9) for i in range(30)]
    assert [mapped.explain(X[i], n_best=9) for i in range(30)] == expected
    assert (mapped._feature_major._weights is not None) == sparse  # by feature from now on
    for n_best in (2, 5, 9):
        for i in range(30):
            labels, scores = model.predict_topk(X[i], n_best)
            found = mapped.explain(X[i], n_best=n_best)
            # The very bits of predict_topk.
            assert found.best == list(zip(labels[0].tolist(), scores[0].tolist(), strict=True))
    empty = sp.csr_matrix((1, X.shape[1]), dtype=dtype)
    assert mapped.explain(empty) == model.explain(empty)


def test_weights_out_of_order():
    """A sparse matrix may have the columns of a row in any order."""
    model, X, _ = fitted(4, sparse_coef=True)
    expected = [model.explain(x) for x in X[:10]]
    top = model.top_features("class 1", 3)
    coef = model.coef_
    backwards = sp.csr_matrix(coef.shape)
    parts = [slice(a, b) for a, b in zip(coef.indptr[:-1], coef.indptr[1:], strict=True)]
    backwards.indices = np.concatenate([coef.indices[part][::-1] for part in parts])
    backwards.data = np.concatenate([coef.data[part][::-1] for part in parts])
    backwards.indptr = coef.indptr
    model.coef_ = backwards
    assert [model.explain(x) for x in X[:10]] == expected
    assert model.top_features("class 1", 3) == top


# ---------------------------------------------------------------- top features


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_top_features_are_the_largest_weights(sparse, classes):
    model, _, _ = fitted(classes, sparse_coef=sparse)
    dense = model.coef_.toarray() if sparse else model.coef_
    row = dense[0] / 2 if classes == 2 else dense[1]
    found = model.top_features("class 1", 3)
    order = np.argsort(-row)
    assert found.positive == [(f"feature {j}", row[j]) for j in order[:3] if row[j] > 0]
    assert found.negative == [(f"feature {j}", row[j]) for j in order[::-1][:3] if row[j] < 0]
    assert found.n_weights == np.count_nonzero(row)
    if classes == 2:
        other = model.top_features("class 0", 3)
        assert [name for name, _ in other.negative] == [name for name, _ in found.positive]
        assert other.intercept == -found.intercept


@pytest.mark.parametrize(("positive", "negative"), [(1, 3), (3, 1), (0, 2), (0, 0)])
def test_top_features_of_which_one_side_has_more(positive, negative):
    weights = [("word", 0.5)] * positive, [("other", -0.25)] * negative
    lines = str(TopFeatures("a\nb", *weights, 0.0, positive + negative)).split("\n")
    assert lines[0] == f"a b: {positive + negative} weights, intercept +0.0000"
    assert len(lines) == 2 + max(positive, negative)
    assert sum("word" in line for line in lines) == positive
    assert sum("other" in line for line in lines) == negative


# ---------------------------------------------------------------- for people


class Cells(HTMLParser):
    """Collects tags and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def test_html_shows_names_as_text():
    evil = '<script>alert("x")</script>'
    model = TextClassifier(analyzer="char", lowercase=False, random_state=0)
    model.fit([f"a{evil}", "b & c", "d"], [evil, "&amp;", "'\""])
    for shown in (model.explain(evil, 30), model.top_features(evil, 30)):
        page = Cells()
        page.feed(shown._repr_html_())
        assert page.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert evil in page.text
        assert "<script" not in shown._repr_html_()


def test_text_is_aligned_and_elides_long_names():
    long = "word" * 30
    model = TextClassifier(random_state=0).fit(
        [f"{long} a", "short tail", "other"], [long, "b", "c"]
    )
    text = str(model.explain(f"{long} short"))
    lines = text.splitlines()
    assert all(len(line) <= 130 for line in lines[1:])
    assert len({len(line) for line in lines[1:]}) == 1
    assert "…" in text
    assert lines[-1].startswith("sum")
    assert "against" in str(model.top_features("b"))
