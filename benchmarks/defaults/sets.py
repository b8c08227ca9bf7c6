"""The sets of the study, each in samples to fit, to choose C by, and to test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.common import data
from benchmarks.defaults.product_csv import held_out, make_products
from multimargin.datasets import make_hierarchical_text
from multimargin.text._features import TextFeatures

_VALIDATION, _TESTED = 0.2, 0.25  # of training samples, and of all where there is no test part
_MOST_TESTED = 5_000


@dataclass(frozen=True)
class Trial:
    """A set: what is fitted, what chooses C, and what is tested; a label is a position."""

    fit: tuple[sp.csr_matrix, np.ndarray]
    validation: tuple[sp.csr_matrix, np.ndarray]
    test: tuple[sp.csr_matrix, np.ndarray]

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.fit[1]))

    @property
    def squared_norm(self) -> float:
        """Of a sample, on average."""
        X = self.fit[0]
        return float(X.multiply(X).sum()) / X.shape[0]


@dataclass(frozen=True)
class Source:
    """Where a set comes from; the numbers of rules are chosen on half of the sets."""

    load: Callable[[Path], data.DataSet]
    chooses: bool
    samples: int | None = None  # drawn of all, before C is chosen
    noise: float = 0.0  # share of wrong labels, but for test samples
    large: bool = False  # finalists only


def _by_name(name: str) -> Callable[[Path], data.DataSet]:
    return lambda folder: data.load(name, folder)


def _generated(*sizes: int, words: int, topic: float) -> Callable[[Path], data.DataSet]:
    def load(_: Path) -> data.DataSet:
        X, y = make_hierarchical_text(
            *sizes, words_per_sample=words, topic_share=topic, random_state=0
        )
        return data.DataSet(X, y, None, None, "make_hierarchical_text")

    return load


def _products(titles: int, categories: int) -> Callable[[Path], data.DataSet]:
    def load(_: Path) -> data.DataSet:
        made = make_products(titles, categories)
        texts, labels = np.array(made.titles, object), np.array(made.categories)
        train, test = held_out(titles)
        features = TextFeatures()
        X = sp.csr_matrix(features.fit_transform(list(texts[train])))
        X_test = sp.csr_matrix(features.transform(list(texts[test])))
        y = np.unique(labels, return_inverse=True)[1]
        return data.DataSet(X, y[train], X_test, y[test], "make_products")

    return load


_SHORT = _generated(14_000, 8_000, 500, words=7, topic=0.8)
_LONG = _generated(6_000, 20_000, 100, words=120, topic=0.12)

SETS = {
    "clinc150": Source(_by_name("clinc150"), chooses=True, samples=12_000),
    "dmoz-108": Source(_by_name("dmoz-108"), chooses=False, samples=12_000),
    "products, 1,000": Source(_products(15_000, 1_000), chooses=True),
    "short rows, 5 % noise": Source(_SHORT, chooses=False, noise=0.05),
    "news20": Source(_by_name("news20"), chooses=True, samples=12_000),
    "LSHTC1 short": Source(_by_name(data.LSHTC), chooses=False),
    "long rows, 5 % noise": Source(_LONG, chooses=True, noise=0.05),
    "letter": Source(_by_name("letter"), chooses=False, samples=8_000),
    "LSHTC1 long": Source(_by_name("lshtc1-dryrun-task1-part"), chooses=True),
    "wordnet, 12,000": Source(_by_name(data.WORDNET), chooses=False, samples=12_000),
    "usps": Source(_by_name("usps"), chooses=True),
    "short rows": Source(_SHORT, chooses=False),
    "short rows, 20 % noise": Source(_SHORT, chooses=True, noise=0.2),
    "embeddings": Source(_by_name(data.EMBEDDINGS), chooses=False, samples=10_000),
    "satimage": Source(_by_name("satimage"), chooses=True),
    "long rows, 20 % noise": Source(_LONG, chooses=False, noise=0.2),
    "long rows": Source(_LONG, chooses=True),
    "dna": Source(_by_name("dna"), chooses=False),
    "ten classes, 5 % noise": Source(
        _generated(8_000, 8_000, 10, words=12, topic=0.4), chooses=True, noise=0.05
    ),
    "products, 3,000": Source(_products(50_000, 3_000), chooses=False, large=True),
    "wordnet": Source(_by_name(data.WORDNET), chooses=False, large=True),
    "dmoz-108, all": Source(_by_name("dmoz-108"), chooses=False, large=True),
}


def trial(name: str, folder: Path) -> Trial:
    """Load a set and divide it; raise DataUnavailableError if it is not there.

    Divisions, draws and wrong labels are seeded by nothing but the sizes.
    """
    source = SETS[name]
    found = source.load(folder)
    rng = np.random.default_rng(0)
    X, y = found.X, found.y
    if found.X_test is None or found.y_test is None:
        order = rng.permutation(len(y))
        tested = int(_TESTED * len(y))
        X_test, y_test = X[order[:tested]], y[order[:tested]]
        X, y = X[order[tested:]], y[order[tested:]]
    else:
        X_test, y_test = found.X_test, found.y_test
    drawn = rng.permutation(len(y))[: source.samples]
    X, y = X[drawn], with_noise(y[drawn], source.noise, rng)
    few = rng.permutation(len(y_test))[:_MOST_TESTED]
    held = int(_VALIDATION * len(y))
    return Trial((X[held:], y[held:]), (X[:held], y[:held]), (X_test[few], y_test[few]))


def with_noise(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Replace a share of the labels by those of other samples."""
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    noisy = y.copy()
    noisy[wrong] = y[rng.permutation(len(y))[: len(wrong)]]
    return noisy
