"""The columns that make features: tf-idf of texts, standardised numbers, one-hot categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from multimargin.text._raw_columns import (
    BadValue,
    BadValuesError,
    is_missing,
    says_missing,
    value_text,
)
from multimargin.text._words import Words

_LARGEST = 1e150  # number; squares of it can be added in double precision
_LISTED = 5  # values that an error names


@dataclass(frozen=True)
class TextOptions:
    """How a text becomes words, and how their counts are weighted."""

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | None = None
    stop_words: str | tuple[str, ...] | None = None
    sublinear_tf: bool = True

    def counter(self, **more: Any) -> CountVectorizer:
        """Return scikit-learn's vectorizer of counts, with its default of what a word is."""
        given = {**vars(self), **more}
        del given["sublinear_tf"]
        if isinstance(self.stop_words, tuple):
            given["stop_words"] = list(self.stop_words)
        return CountVectorizer(**given, dtype=np.float32)


@dataclass(eq=False)
class TextColumn:
    """A fitted vectorizer of one column, whose name is None for texts without columns.

    `words` are the features, `idf` their inverse document frequencies, if these are used, and
    `length` that of their rows.
    """

    name: str | None
    options: TextOptions
    words: Words
    idf: NDArray[Any] | None
    length: float = 1.0
    _counter: CountVectorizer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_counter": None}

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def fitted(
        cls,
        name: str | None,
        options: TextOptions,
        values: Sequence[Any],
        *,
        use_idf: bool,
        **limits: Any,
    ) -> tuple[TextColumn, sp.csr_matrix]:
        """Return the column learned from its values, and their features.

        `limits` are ``min_df``, ``max_df`` and ``max_features`` of scikit-learn's vectorizers.
        """
        counter = options.counter(**limits)
        where = "" if name is None else f"column {name!r}: "
        texts = checked_texts(values, name)
        try:
            counts = counter.fit_transform(texts)
        except ValueError as error:
            raise ValueError(f"{where}the texts give no features: {error}") from error
        counts.sort_indices()  # the order of words in rows of new texts, and so of their sums
        words = Words.of(counter.get_feature_names_out().tolist())
        column = cls(name, options, words, _idf(counts) if use_idf else None)
        return column, column._weighted(counts)

    def transform(self, values: Sequence[Any]) -> sp.csr_matrix:
        """Return features of texts, float32, rows of unit length; unknown words are left out."""
        if self._counter is None:
            self._counter = self.options.counter(vocabulary=self.words.places)
        return self._weighted(self._counter.transform(checked_texts(values, self.name)))

    def _weighted(self, counts: Any) -> sp.csr_matrix:
        """Replace counts by weights.

        As scikit-learn's, but always in single precision, so that a model from a file, or of
        another version of scikit-learn, has the same bits.
        """
        data = counts.data
        if self.options.sublinear_tf:
            np.log(data, out=data)
            data += np.float32(1)
        if self.idf is not None:
            data *= self.idf[counts.indices]
        matrix: sp.csr_matrix = normalize(sp.csr_matrix(counts), norm="l2", copy=False)
        return self.scaled(matrix)

    def scaled(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Bring rows of unit length to `length`, in place."""
        rows.data *= np.float32(self.length)
        return rows


def _idf(counts: Any) -> NDArray[np.float32]:
    n_texts, n_words = counts.shape
    frequency = np.bincount(counts.indices, minlength=n_words)
    # One more text than there are, with every word in it: no division by zero.
    idf: NDArray[Any] = np.log((1.0 + n_texts) / (1.0 + frequency)) + 1.0
    return idf.astype(np.float32)


def checked_texts(values: Sequence[Any], name: str | None) -> list[str]:
    """Return the texts; a missing one is empty."""
    texts: list[str] = []
    for row, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        elif is_missing(value):
            texts.append("")
        else:
            got = f"{type(value).__name__} {str(value)[:40]!r}"
            raise BadValuesError([BadValue(name, row, f"a text must be a str, got {got}")])
    return texts


@dataclass(eq=False)
class NumberColumns:
    """Columns of numbers, less their mean and divided by their standard deviation.

    A missing number is the mean, which is zero then. `mean` and `scale` have a number per column.
    """

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def fitted(
        cls, names: tuple[str, ...], columns: Sequence[Sequence[Any]]
    ) -> tuple[NumberColumns, sp.csr_matrix]:
        """Return the columns learned from their values, and their features."""
        mean, scale = np.zeros(len(names)), np.ones(len(names))
        numbers = _numbers(names, columns)
        for j, column in enumerate(numbers):
            known = column[~np.isnan(column)]
            if len(known):
                mean[j], scale[j] = known.mean(), known.std()
                if known.min() == known.max():  # rounding would be all that is left
                    mean[j], scale[j] = known[0], 1.0
                elif scale[j] <= 1e-12 * abs(mean[j]):
                    scale[j] = 1.0
        fitted = cls(names, mean, scale)
        return fitted, fitted._standardised(numbers)

    def transform(self, columns: Sequence[Sequence[Any]]) -> sp.csr_matrix:
        """Return the features of new values, float32."""
        return self._standardised(_numbers(self.names, columns))

    def _standardised(self, numbers: Sequence[NDArray[np.float64]]) -> sp.csr_matrix:
        values = (np.column_stack(numbers) - self.mean) / self.scale
        values[np.isnan(values)] = 0.0
        far = np.argwhere(np.abs(values) > np.finfo(np.float32).max ** 0.5)
        if len(far):
            first = [self._too_far(j, int(row), numbers[j][row]) for row, j in far[:_LISTED]]
            raise BadValuesError(first, len(far))
        return sp.csr_matrix(values.astype(np.float32))

    def _too_far(self, j: int, row: int, number: float) -> BadValue:
        far = f"{number:g} is too far from the numbers of the training data"
        return BadValue(self.names[j], row, f"{far}, whose mean is {self.mean[j]:g}")


def _numbers(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[NDArray[np.float64]]:
    """Read all columns before an error lists what cannot be read, in the order of the rows."""
    numbers = [np.empty(len(values)) for values in columns]
    bad, count = [], 0
    for name, values, out in zip(names, columns, numbers, strict=True):
        in_column = 0
        for row, value in enumerate(values):
            out[row], reason = _number(value)
            if reason:
                in_column += 1
                if in_column <= _LISTED:
                    bad.append(BadValue(name, row, reason))
        count += in_column
    if count:
        raise BadValuesError(sorted(bad, key=lambda each: each.row)[:_LISTED], count)
    return numbers


def _number(value: Any) -> tuple[float, str]:
    """Return a number, NaN for a missing one, and what is wrong with it, if anything is."""
    if is_missing(value) or (isinstance(value, str) and says_missing(value)):
        return np.nan, ""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan, f"{str(value)[:40]!r} is not a number"
    if abs(number) > _LARGEST:
        return np.nan, f"{number:g} is too large; at most {_LARGEST:g} can be used"
    return number, ""


@dataclass(eq=False)
class CategoryColumn:
    """A feature for each value that was there in training; none for others and missing ones."""

    name: str
    values: Words

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def fitted(cls, name: str, values: Sequence[Any]) -> tuple[CategoryColumn, sp.csr_matrix]:
        """Return the column learned from its values, and their features."""
        texts = [value_text(value) for value in values]
        column = cls(name, Words.of(sorted({text for text in texts if text})))
        return column, column._one_hot(texts)

    def transform(self, values: Sequence[Any]) -> sp.csr_matrix:
        """Return the features of new values, float32."""
        return self._one_hot([value_text(value) for value in values])

    def _one_hot(self, texts: Sequence[str]) -> sp.csr_matrix:
        places = self.values.places
        found = [places.get(text, -1) if text else -1 for text in texts]
        place = np.array(found, dtype=np.int32)
        known = place >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])
        return sp.csr_matrix(
            (np.ones(int(known.sum()), dtype=np.float32), place[known], indptr),
            shape=(len(texts), len(self)),
        )
