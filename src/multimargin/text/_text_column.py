"""Tf-idf features of one column of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from multimargin.text._raw_columns import BadValueError, is_missing
from multimargin.text._words import Words


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
        stop = list(self.stop_words) if isinstance(self.stop_words, tuple) else self.stop_words
        return CountVectorizer(
            analyzer=self.analyzer,
            ngram_range=self.ngram_range,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            stop_words=stop,
            dtype=np.float32,
            **more,
        )


@dataclass(eq=False)
class TextColumn:
    """A fitted vectorizer of one column, whose name is None for texts without columns.

    `words` are the features, `idf` their inverse document frequencies, if these are used.
    """

    name: str | None
    options: TextOptions
    words: Words
    idf: NDArray[Any] | None
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
        texts = _checked(values, name)
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
        return self._weighted(self._counter.transform(_checked(values, self.name)))

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
        return matrix


def _idf(counts: Any) -> NDArray[np.float32]:
    n_texts, n_words = counts.shape
    frequency = np.bincount(counts.indices, minlength=n_words)
    # One more text than there are, with every word in it: no division by zero.
    idf: NDArray[Any] = np.log((1.0 + n_texts) / (1.0 + frequency)) + 1.0
    return idf.astype(np.float32)


def _checked(values: Sequence[Any], name: str | None) -> list[str]:
    """Return the texts; a missing one is empty."""
    texts: list[str] = []
    for row, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        elif is_missing(value):
            texts.append("")
        else:
            got = f"{type(value).__name__} {str(value)[:40]!r}"
            raise BadValueError(name, row, f"a text must be a str, got {got}")
    return texts
