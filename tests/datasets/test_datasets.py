"""The shipped WordNet definitions and the generator of hierarchical text."""

from __future__ import annotations

import importlib.metadata
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

import multimargin.datasets
from multimargin.datasets import (
    _generator,
    load_wordnet_hypernyms,
    load_wordnet_tfidf,
    make_hierarchical_text,
    make_wordnet_embeddings,
)
from tests.support.paths import SHARED

WORDNET = SHARED / "wordnet-hypernym"


@pytest.fixture(scope="module")
def wordnet() -> Bunch:
    return load_wordnet_tfidf()


def assert_unit_rows(X: csr_matrix, dtype: type = np.float32) -> None:
    assert X.format == "csr"
    assert X.dtype == dtype
    # Recomputed on a copy without flags: the matrix may claim what is not so.
    copy = csr_matrix((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    assert copy.has_sorted_indices
    assert copy.has_canonical_format
    assert np.diff(X.indptr).min() >= 1
    assert (X.data > 0).all()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    np.testing.assert_allclose(norms, 1, atol=1e-5)


def assert_same(a: csr_matrix, b: csr_matrix) -> None:
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.data, b.data)


# ---- WordNet ---------------------------------------------------------------------------------


def test_data_and_licence_are_installed() -> None:
    folder = files("multimargin.datasets") / "data"
    assert (folder / "wordnet_hypernyms.tsv.xz").is_file()
    assert "Princeton University" in (folder / "wordnet_LICENSE.txt").read_text(encoding="utf-8")


def test_wheel_lists_data_and_licence() -> None:
    listed = importlib.metadata.files("multimargin")
    if not listed:
        pytest.skip("multimargin is imported from a source tree, not installed")
    names = {entry.as_posix() for entry in listed}
    if "multimargin/datasets/__init__.py" not in names:
        pytest.skip("editable install: the package's own files are not listed")
    assert "multimargin/datasets/data/wordnet_hypernyms.tsv.xz" in names
    assert "multimargin/datasets/data/wordnet_LICENSE.txt" in names


def test_wordnet_sizes(wordnet: Bunch) -> None:
    assert wordnet.X_train.shape == (65025, 37436)
    assert wordnet.X_test.shape == (22672, 37436)
    assert wordnet.target_names.shape == (12582,)
    assert len(wordnet.texts_train) == wordnet.y_train.size == 65025
    assert len(wordnet.texts_test) == wordnet.y_test.size == 22672
    assert wordnet.X_train.nnz / 65025 == pytest.approx(12, abs=0.1)
    assert_unit_rows(wordnet.X_train)
    assert_unit_rows(wordnet.X_test)


def test_wordnet_labels(wordnet: Bunch) -> None:
    assert wordnet.y_train[0] == "entity.n#n00001740"
    assert wordnet.texts_train[0].startswith("physical entity: ")
    np.testing.assert_array_equal(np.unique(wordnet.y_train), wordnet.target_names)
    assert np.isin(wordnet.y_test, wordnet.target_names).all()


def test_wordnet_vectorizer_knows_training_only(wordnet: Bunch) -> None:
    assert_same(wordnet.vectorizer.transform(wordnet.texts_train[:50]), wordnet.X_train[:50])
    assert_same(wordnet.vectorizer.transform(wordnet.texts_test[-50:]), wordnet.X_test[-50:])
    counts = np.bincount(wordnet.X_train.indices, minlength=37436)
    assert counts.min() >= 2
    column = wordnet.vectorizer.vocabulary_["entity"]
    assert wordnet.feature_names[column] == "entity"


def test_wordnet_licence_is_reachable(wordnet: Bunch) -> None:
    assert "Permission to use, copy, modify and distribute" in wordnet.license
    assert wordnet.license in wordnet.DESCR
    assert "licence" in (load_wordnet_hypernyms.__doc__ or "")


def test_wordnet_subsets(wordnet: Bunch) -> None:
    test = load_wordnet_hypernyms(subset="test")
    assert_same(test.data, wordnet.X_test)
    np.testing.assert_array_equal(test.target, wordnet.y_test)
    assert test.texts == wordnet.texts_test
    X, y = load_wordnet_hypernyms(subset="all", return_X_y=True, min_df=3, dtype=np.float64)
    assert X.shape[1] < 37436
    assert_unit_rows(X, np.float64)
    assert y[0] == wordnet.y_train[0]
    assert y[-1] == wordnet.y_test[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subset": "valid"}, "subset must be 'train', 'test' or 'all'; got 'valid'"),
        ({"min_df": 0}, "min_df must be an integer of at least 1, got 0"),
        ({"min_df": 0.5}, "min_df must be an integer"),
        ({"dtype": np.int32}, "dtype must be numpy.float32 or numpy.float64, got int32"),
        ({"min_df": 10**6}, "leaves no feature"),
    ],
)
def test_wordnet_rejects(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_wordnet_hypernyms(**options)


@pytest.mark.skipif(not WORDNET.is_dir(), reason=f"{WORDNET} is not on this machine")
def test_wordnet_features_match_reference(wordnet: Bunch) -> None:
    import lzma

    from sklearn.datasets import load_svmlight_file

    with lzma.open(WORDNET / "test.libsvm.xz") as packed:
        reference, _ = load_svmlight_file(packed, n_features=37436, dtype=np.float32)
    with lzma.open(WORDNET / "features.txt.xz", "rt") as packed:
        assert packed.read().split() == wordnet.feature_names.tolist()
    # The reference has five digits, and differs in one training definition.
    assert abs(reference - wordnet.X_test).max() < 1e-3


# ---- Generator -------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    n_classes=st.integers(1, 60),
    extra=st.integers(0, 200),
    n_features=st.integers(200, 3000),
    words=st.floats(1, 15),
    branching=st.integers(2, 20),
    topic_share=st.floats(0.01, 0.99),
    sibling_share=st.floats(0, 1),
    exponent=st.floats(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_generator_invariants(
    n_classes: int,
    extra: int,
    n_features: int,
    words: float,
    branching: int,
    topic_share: float,
    sibling_share: float,
    exponent: float,
    seed: int,
) -> None:
    n_samples = n_classes + extra
    X, y, parents = make_hierarchical_text(
        n_samples,
        n_features,
        n_classes,
        words_per_sample=words,
        branching=branching,
        topic_share=topic_share,
        sibling_share=sibling_share,
        class_exponent=exponent,
        random_state=seed,
        return_hierarchy=True,
    )
    assert X.shape == (n_samples, n_features)
    assert_unit_rows(X)
    assert X.indices.min() >= 0
    assert X.indices.max() < n_features
    np.testing.assert_array_equal(np.unique(y), np.arange(n_classes))
    assert np.bincount(parents).max() <= branching
    np.testing.assert_array_equal(np.unique(parents), np.arange(-(-n_classes // branching)))


@pytest.mark.parametrize("words", [1, 5, 40, 120, 1000])
def test_generator_hits_words_per_sample(words: int) -> None:
    X, _ = make_hierarchical_text(800, 20000, 50, words_per_sample=words, random_state=3)
    assert X.nnz / 800 == pytest.approx(words, rel=0.05)


def test_generator_is_seeded() -> None:
    X, y = make_hierarchical_text(500, 1000, 40, random_state=7)
    again, y_again = make_hierarchical_text(500, 1000, 40, random_state=7)
    assert_same(X, again)
    np.testing.assert_array_equal(y, y_again)
    state, y_state = make_hierarchical_text(
        500, 1000, 40, random_state=np.random.RandomState(7), return_hierarchy=False
    )
    assert_same(X, state)
    np.testing.assert_array_equal(y, y_state)
    other, y_other = make_hierarchical_text(500, 1000, 40, random_state=8)
    assert (y != y_other).any()
    assert X.nnz != other.nnz or (X.indices != other.indices).any()


@pytest.mark.parametrize("tokens", [1, 97, 5000])
def test_generator_does_not_depend_on_chunks(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = make_hierarchical_text(300, 1000, 40, random_state=7)
    monkeypatch.setattr(_generator, "_CHUNK_TOKENS", tokens)
    parts, _ = make_hierarchical_text(300, 1000, 40, random_state=7)
    assert_same(whole, parts)


def test_generator_double_precision() -> None:
    single, _ = make_hierarchical_text(300, 1000, 40, random_state=1)
    double, _ = make_hierarchical_text(300, 1000, 40, random_state=1, dtype=np.float64)
    assert double.dtype == np.float64
    np.testing.assert_array_equal(single.indices, double.indices)
    np.testing.assert_allclose(single.data, double.data, rtol=1e-6)


def test_generator_frequencies_are_uneven() -> None:
    X, y = make_hierarchical_text(20000, 10000, 500, random_state=0)
    sizes = np.sort(np.bincount(y))[::-1]
    assert sizes[0] > 10 * np.median(sizes)
    frequency = np.sort(np.bincount(X.indices, minlength=10000))[::-1]
    assert frequency[0] > 0.5 * 20000
    assert frequency[:100].sum() > 0.3 * X.nnz
    _, level = make_hierarchical_text(20000, 1000, 500, class_exponent=0, random_state=0)
    assert np.bincount(level).max() < 100


@pytest.mark.parametrize("seed", [0, 1])
def test_generator_is_learnable_and_confuses_siblings(seed: int) -> None:
    X, y, parents = make_hierarchical_text(random_state=seed, return_hierarchy=True)
    assert X.shape == (4000, 5000)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    predicted = LinearSVC().fit(X_train, y_train).predict(X_test)
    wrong = predicted != y_test
    assert 0.2 < wrong.mean() < 0.6
    # By chance, 7 of the 99 other classes are siblings.
    assert np.mean(parents[predicted[wrong]] == parents[y_test[wrong]]) > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 99}, "n_samples must be at least n_classes.*n_samples=99 and n_classes=100"),
        ({"n_samples": 1.5}, "n_samples must be an integer of at least 1, got 1.5"),
        ({"n_classes": 0}, "n_classes must be an integer of at least 1, got 0"),
        ({"n_features": True}, "n_features must be an integer"),
        ({"n_features": 2**31}, "n_features must fit in 32 bits"),
        ({"branching": 1}, "branching must be an integer of at least 2, got 1"),
        ({"words_per_sample": 0.5}, "words_per_sample must be at least 1"),
        ({"words_per_sample": np.nan}, "words_per_sample must be a finite number"),
        ({"words_per_sample": 1251}, "at most a quarter of n_features=5000.*got 1251"),
        ({"words_per_sample": 1200, "topic_share": 0.99}, "would need samples of more than"),
        ({"topic_share": 0}, "topic_share must lie strictly between 0 and 1; got 0"),
        ({"topic_share": 1.0}, "topic_share must lie strictly"),
        ({"sibling_share": 1.1}, "sibling_share must lie in"),
        ({"sibling_share": "much"}, "sibling_share must be a finite number; got 'much'"),
        ({"class_exponent": -1}, "class_exponent must be 0 or more"),
        ({"dtype": np.float16}, "dtype must be numpy.float32 or numpy.float64, got float16"),
    ],
)
def test_generator_rejects(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_hierarchical_text(**options)


def test_texts_are_those_of_the_features() -> None:
    texts, tfidf = multimargin.datasets.load_wordnet_texts(), load_wordnet_tfidf()
    assert texts.texts_train == tfidf.texts_train
    assert texts.y_train.tolist() == tfidf.y_train.tolist()
    assert len(texts.texts_test) == len(tfidf.texts_test) + 1
    assert texts.license == tfidf.license


def test_public_names() -> None:
    assert multimargin.datasets.__all__ == [
        "FetchError",
        "SetParts",
        "SetUnavailableError",
        "fetch_set",
        "load_lshtc",
        "load_set",
        "load_wordnet_hypernyms",
        "load_wordnet_texts",
        "load_wordnet_tfidf",
        "make_hierarchical_text",
        "make_wordnet_embeddings",
        "wordnet_parents",
    ]


def test_embeddings_are_unit_rows_of_the_largest_classes() -> None:
    X, y = make_wordnet_embeddings(3, 40, dtype=np.float64)
    _, sizes = np.unique(y, return_counts=True)
    assert X.dtype == np.float64 and X.shape == (len(y), 3) and len(sizes) == 40
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-6)
    _, all_sizes = np.unique(load_wordnet_hypernyms(return_X_y=True)[1], return_counts=True)
    assert sizes.sum() == np.sort(all_sizes)[-40:].sum()
    with pytest.raises(ValueError, match="n_classes must be an integer of at least 2"):
        make_wordnet_embeddings(3, 1)
