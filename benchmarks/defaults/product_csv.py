"""Product titles and categories of a shop: ``python -m benchmarks.defaults.product_csv``."""

from __future__ import annotations

import argparse
import csv
import io
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common.command_line import (
    positive,
    print_columns,
    print_machine,
    run_command,
    seed,
    writable,
)
from multimargin import TextClassifier
from multimargin.io._atomic import atomic_write

TITLES, CATEGORIES = 50_000, 3_000
HELD_OUT = 0.1  # of the titles
_SIBLINGS = 6  # categories of a shelf
_SHELVES = 12  # of a department
_CATEGORY_EXPONENT, _WORD_EXPONENT = 0.6, 1.0
_WRONG = 0.05  # share of labels that are those of another category
_NEAR = 0.5  # share of the wrong ones that are of the same shelf
_WORDS = (5, 6, 7, 8)  # in a title
# Where a word of a title comes from, besides the first one, which is a brand.
_CATEGORY_WORDS, _SHELF_WORDS, _DEPARTMENT_WORDS = 8, 20, 60
_SHARES = {"category": 0.34, "shelf": 0.14, "department": 0.1, "colour": 0.07, "size": 0.08}
_MODEL_SHARE = 0.09  # of words that are model numbers, such as kx4210; the rest are common words
_COMMON_WORDS, _BRANDS, _DEPARTMENT_BRANDS = 12_000, 1_500, 60
_COLOURS = ["black", "white", "blue", "red", "grey", "green", "pink", "silver", "brown", "beige"]
_SIZES = [
    *(f"{n}ml" for n in (50, 100, 200, 250, 330, 500, 750, 1000)),
    *(f"{n}cm" for n in (10, 15, 20, 30, 40, 60, 80, 100, 120)),
    *(f"{n}g" for n in (50, 100, 200, 250, 400, 500, 1000)),
    *("xs", "xl", "xxl", "small", "medium", "large"),
    *(f"{n}pk" for n in (2, 3, 4, 6, 10, 12)),
]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ONSETS = [*"bcdfghjklmnprstvwz", "br", "cl", "dr", "fl", "gr", "pl", "pr", "sh", "sl", "st", "tr"]
_VOWELS = [*"aeiou", "ai", "ea", "oo"]
_CODAS = ["", "", *"nrlstx", "nd", "st"]
_EPILOG = """\
Titles have five to eight words: a brand, then words of the category, of its shelf and its
department, which siblings share, colours, sizes, model numbers and common words, all but the
numbers Zipf-distributed; so are the sizes of categories. One label in twenty is wrong. The same
seed writes the same file. --compare trains TextClassifier as it is, and scikit-learn's
TfidfVectorizer and LinearSVC as they are, on nine titles in ten, and prints seconds (features and
training, one thread) and the error on the rest.
"""


@dataclass(frozen=True)
class Products:
    """Titles and the category of each, in the order of the file."""

    titles: list[str]
    categories: list[str]


class _Zipf:
    """Ranks from 0, the k-th with a probability that falls as ``k ** -exponent``."""

    def __init__(self, count: int, exponent: float) -> None:
        mass = np.arange(1, count + 1, dtype=np.float64) ** -exponent
        self._ends = np.cumsum(mass / mass.sum())
        self._ends[-1] = 1.0

    def of(self, uniform: Any) -> Any:
        """The ranks of numbers from [0, 1)."""
        return np.searchsorted(self._ends, uniform, side="right")


def _invented(count: int, rng: np.random.Generator) -> list[str]:
    """Different words that can be pronounced."""
    words: dict[str, None] = {}
    while len(words) < count:
        syllables = 2 if rng.random() < 0.7 else 3
        parts = [
            pool[int(rng.random() * len(pool))]
            for _ in range(syllables)
            for pool in (_ONSETS, _VOWELS, _CODAS)
        ]
        words.setdefault("".join(parts))
    return list(words)


class _Shop:
    """The words of every category, and how titles are made of them."""

    def __init__(self, categories: int, rng: np.random.Generator) -> None:
        self._rng, self._count = rng, categories
        shelves = -(-categories // _SIBLINGS)
        departments = -(-shelves // _SHELVES)
        self._vocabulary = {
            "category": self._pools(categories, _CATEGORY_WORDS),
            "shelf": self._pools(shelves, _SHELF_WORDS),
            "department": self._pools(departments, _DEPARTMENT_WORDS),
        }
        # The words of a category that siblings have in another order.
        for category in range(categories):
            shelf = self._vocabulary["shelf"][category // _SIBLINGS]
            own = self._vocabulary["category"][category]
            own[2::2] = [shelf[int(rng.random() * len(shelf))] for _ in own[2::2]]
        self._common = _invented(_COMMON_WORDS, rng)
        brands = _invented(_BRANDS, rng)
        self._brands = [
            [brands[int(rng.random() * _BRANDS)] for _ in range(_DEPARTMENT_BRANDS)]
            for _ in range(departments)
        ]
        self.names = [
            f"{self._place(c, 'department')[0]} > {self._place(c, 'shelf')[0]} > {own[0]}".title()
            for c, own in enumerate(self._vocabulary["category"])
        ]
        pools = (_CATEGORY_WORDS, _SHELF_WORDS, _DEPARTMENT_WORDS, _DEPARTMENT_BRANDS)
        sizes = (*pools, _COMMON_WORDS, len(_COLOURS), len(_SIZES))
        self._ranks = {size: _Zipf(size, _WORD_EXPONENT) for size in sizes}

    def _pools(self, count: int, size: int) -> list[list[str]]:
        words = _invented(count * size, self._rng)
        return [words[at : at + size] for at in range(0, count * size, size)]

    def _place(self, category: int, kind: str) -> list[str]:
        siblings = {"category": 1, "shelf": _SIBLINGS, "department": _SIBLINGS * _SHELVES}
        return self._vocabulary[kind][category // siblings[kind]]

    def _word(self, pool: Sequence[str]) -> str:
        return pool[int(self._ranks[len(pool)].of(self._rng.random()))]

    def title(self, category: int) -> str:
        """A title of a product of the category."""
        words = [self._word(self._brands[category // (_SIBLINGS * _SHELVES)])]
        length = _WORDS[int(self._rng.random() * len(_WORDS))]
        while len(words) < length:
            pool = self._pool(category)
            words.append(self._word(pool) if pool else self._model_number())
        return " ".join(words).capitalize()

    def _pool(self, category: int) -> Sequence[str]:
        left = self._rng.random()
        for kind, share in _SHARES.items():
            left -= share
            if left < 0:
                own = {"colour": _COLOURS, "size": _SIZES}.get(kind)
                return own or self._place(category, kind)
        return () if left < _MODEL_SHARE else self._common

    def _model_number(self) -> str:
        first, second = (_LETTERS[int(self._rng.random() * len(_LETTERS))] for _ in range(2))
        return f"{first}{second}{1000 + int(self._rng.random() * 9000)}"

    def label(self, category: int) -> str:
        """The name of the category, or in one of twenty cases that of another one."""
        wrong, near, which = self._rng.random(3)
        if wrong < _WRONG:
            first = category // _SIBLINGS * _SIBLINGS
            shelf = range(first, min(first + _SIBLINGS, self._count))
            pool = shelf if near < _NEAR else range(self._count)
            category = pool[int(which * len(pool))]
        return self.names[category]


def make_products(
    titles: int = TITLES, categories: int = CATEGORIES, random_state: int = 0
) -> Products:
    """Make titles of products and their categories; the same numbers make the same titles."""
    rng = np.random.default_rng(random_state)
    shop = _Shop(categories, rng)
    popular = np.argsort(rng.random(categories), kind="stable")  # not by the alphabet
    drawn = popular[_Zipf(categories, _CATEGORY_EXPONENT).of(rng.random(titles))]
    return Products([shop.title(int(c)) for c in drawn], [shop.label(int(c)) for c in drawn])


def as_csv(products: Products) -> bytes:
    """The file: columns id, title, category."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "title", "category"])
    rows = zip(products.titles, products.categories, strict=True)
    writer.writerows([number, *row] for number, row in enumerate(rows, start=1))
    return file.getvalue().encode()


def held_out(count: int, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and, one in ten, those to test on; both in the order of the file."""
    order = np.argsort(np.random.default_rng(random_state).random(count), kind="stable")
    tested = int(HELD_OUT * count)
    return np.sort(order[tested:]), np.sort(order[:tested])


def compared(
    products: Products, contestants: dict[str, Callable[[], Any]]
) -> list[tuple[str, float, float]]:
    """Name, seconds to train and error on held-out titles of each."""
    texts, labels = np.array(products.titles, object), np.array(products.categories)
    train, test = held_out(len(texts))
    results = []
    for name, make in contestants.items():
        model, began = make(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(list(texts[train]), labels[train])
        seconds = time.perf_counter() - began
        error = 1 - float(np.mean(model.predict(list(texts[test])) == labels[test]))
        results.append((name, seconds, error))
    return results


def _linear_svc() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0))


def _contestants() -> dict[str, Callable[[], Any]]:
    return {
        "TextClassifier()": lambda: TextClassifier(n_jobs=1, random_state=0),
        "TfidfVectorizer(), LinearSVC()": _linear_svc,
    }


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults.product_csv", description=__doc__, epilog=_EPILOG
    )
    add = parser.add_argument
    add("out", type=writable, metavar="OUT.csv", help="the file to write: id, title, category")
    add("--titles", type=positive, default=TITLES, metavar="N", help="rows (default: 50000)")
    add("--categories", type=positive, default=CATEGORIES, metavar="K", help="default: 3000")
    add("--seed", type=seed, default=0, metavar="N", help="default: 0")
    add("--compare", action="store_true", help="train and test on it, too (see below)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file, and compare if asked to; returns the exit status."""
    args = _parse(argv)
    products = make_products(args.titles, args.categories, args.seed)
    with atomic_write(args.out) as file:
        file.write(as_csv(products))
    there = len(set(products.categories))
    print(f"wrote {args.out}: {args.titles:,} titles, {there:,} categories", flush=True)
    if args.compare:
        print_machine()
        lines: list[tuple[str, ...]] = [("", "seconds", "error")]
        for name, seconds, error in compared(products, _contestants()):
            lines.append((name, f"{seconds:.1f}", f"{error:.1%}"))
        print_columns(lines, right=frozenset({1, 2}))
    return 0


if __name__ == "__main__":
    run_command(main)
