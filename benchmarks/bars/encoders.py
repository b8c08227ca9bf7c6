"""The bars of embeddings: both kinds of features next to each, and many dense samples."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.bars.outcome import Facts, Options, Outcome, Row, without_figure
from benchmarks.common.data import default_folder
from benchmarks.defaults.product_csv import held_out, make_products
from multimargin import MulticlassSVC, TextClassifier
from multimargin.datasets import SetUnavailableError, load_set, load_wordnet_texts

_DIMENSION = 256  # of the encoders below
_CLASSES = 1_000  # of WordNet, the largest, where all would take minutes
_GENERATED = (200_000, 384, 800)  # samples, numbers, classes
_NOISE = np.float32(4)  # of a sample, as a multiple of the means: one in seven is then wrong
_SECONDS = 180.0

Texts = tuple[list[str], np.ndarray, list[str], np.ndarray]


def encoders(options: Options) -> Outcome:
    """Both kinds of features on three sets, and 200,000 x 384 embeddings of 800 classes."""
    outcome = Outcome()
    sets: dict[str, Callable[[], Texts]] = {
        "wordnet-hypernym": lambda: _wordnet(_CLASSES if options.quick else None),
        "products": _products,
        "clinc150": lambda: _clinc(options.folder or default_folder()),
    }
    for name, load in sets.items():
        try:
            _compare(outcome, name, load())
        except (SetUnavailableError, FileNotFoundError) as error:
            outcome.rows.append(without_figure(name, f"skipped: {error}"))
    _train_generated(outcome)
    return outcome


def _compare(outcome: Outcome, name: str, texts: Texts) -> None:
    """Train with each kind of features, and compare errors on the test texts."""
    train, y, test, y_test = texts
    encoder = _letters(train)
    errors, facts, figures = {}, {}, {}
    for kind in ("tfidf", "embedding", "both"):
        began, work = time.perf_counter(), time.process_time()
        model = TextClassifier(encoder=encoder, features=kind, n_jobs=2, random_state=0)
        model.fit(train, y)
        seconds, work = time.perf_counter() - began, time.process_time() - work
        errors[kind] = float(np.mean(model.predict(test) != y_test))
        facts[kind] = {"error": errors[kind], "seconds": seconds, "processor_seconds": work}
        figures[kind] = f"{errors[kind]:.2%} ({seconds:.1f} s, {work:.1f} s of processors)"
    outcome.runs.append(Facts({"set": name, **facts}))
    for kind in ("tfidf", "embedding"):
        outcome.rows.append(Row(f"{name}: error with {kind}", figures[kind], errors[kind]))
    better = min(errors["tfidf"], errors["embedding"])
    # As many test texts as chance may take from the better of two equal ones, two in three times.
    chance = (better * (1 - better) / len(test)) ** 0.5
    row = Row(
        f"{name}: error with both",
        figures["both"],
        errors["both"],
        f"<= {better:.2%}, or by chance",
        errors["both"] <= better + chance,
    )
    outcome.rows.append(row)


def _letters(texts: Sequence[str]) -> Callable[[list[str]], Any]:
    """Make an encoder of pieces of words: singular vectors of their tf-idf weights."""
    pieces = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), max_features=40_000, sublinear_tf=True
    )
    svd = TruncatedSVD(_DIMENSION, random_state=0, n_iter=2)
    svd.fit(pieces.fit_transform(texts))
    return lambda batch: svd.transform(pieces.transform(batch))


def _wordnet(classes: int | None) -> Texts:
    data = load_wordnet_texts()
    names, sizes = np.unique(data.y_train, return_counts=True)
    largest = names[np.argsort(-sizes, kind="stable")[:classes]]

    def of_largest(texts: list[str], y: np.ndarray) -> tuple[list[str], np.ndarray]:
        kept = np.flatnonzero(np.isin(y, largest))
        return [texts[row] for row in kept], y[kept]

    return (
        *of_largest(data.texts_train, data.y_train),
        *of_largest(data.texts_test, data.y_test),
    )


def _products() -> Texts:
    made = make_products()
    titles, categories = np.array(made.titles, dtype=object), np.array(made.categories)
    train, test = held_out(len(titles))
    return titles[train].tolist(), categories[train], titles[test].tolist(), categories[test]


def _clinc(folder: Path) -> Texts:
    """Return the words of each utterance, whose order the set does not have."""
    X, y, X_test, y_test = load_set("clinc150", folder)
    if X_test is None or y_test is None:
        raise SetUnavailableError("clinc150 has no test file")
    import lzma

    with lzma.open(folder / "clinc150" / "features.txt.xz", "rt", encoding="utf-8") as file:
        words = np.array(file.read().splitlines())
    texts = (
        [" ".join(words[rows.indices[a:b]]) for a, b in itertools.pairwise(rows.indptr)]
        for rows in (X, X_test)
    )
    return next(texts), y, next(texts), y_test


def _train_generated(outcome: Outcome) -> None:
    samples, numbers, classes = _GENERATED
    X, y = generated(samples, numbers, classes)
    began, work = time.perf_counter(), time.process_time()
    model = MulticlassSVC(n_jobs=2, random_state=0).fit(X, y)
    seconds, work = time.perf_counter() - began, time.process_time() - work
    title = f"{samples:,} x {numbers} embeddings, {classes} classes, two threads, to 1%"
    facts = {"seconds": seconds, "processor_seconds": work, "gap": model.dual_gap_}
    outcome.runs.append(Facts({"set": title, **facts}))
    figure = f"{seconds:.1f} s ({work:.1f} s of processors)"
    reached = seconds < _SECONDS and model.converged_
    outcome.rows.append(Row(title, figure, seconds, f"< {_SECONDS:.0f} s", reached))


def generated(
    samples: int, numbers: int, classes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of unit length around a mean for each class, some of them with a wrong label.

    Variances fall as those of encoders do, so that few of the numbers say most. Classes have
    different sizes.
    """
    rng = np.random.default_rng(seed)
    deviations = (np.arange(1, numbers + 1) ** -0.5).astype(np.float32)
    means = rng.standard_normal((classes, numbers), dtype=np.float32) * deviations
    y = (rng.random(samples) ** 1.3 * classes).astype(np.int64)
    X = rng.standard_normal((samples, numbers), dtype=np.float32)
    X *= _NOISE * deviations
    X += means[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    wrong = np.flatnonzero(rng.random(samples) < 0.03)
    y[wrong] = rng.integers(0, classes, len(wrong))
    return X, y
