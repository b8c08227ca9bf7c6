"""Models of one text; and texts made of the features with the largest weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.serving._limits import Limits
from multimargin.serving.samples._kind import SampleKind, checked_text
from multimargin.serving.samples._spans import Span, Spans
from multimargin.solvers._layout import as_core_csr

# Of an example: words, characters, and features to take them from, the largest weights first.
_WORDS = 4
_CHARS = 24
_CANDIDATES = 30


class Texts(SampleKind):
    """Samples are strings."""

    takes: ClassVar[Literal["text", "row"]] = "text"
    many: ClassVar[str] = "texts"
    nothing: ClassVar[str] = (
        "The model knows nothing of this text, so nothing tells the classes apart: the scores are "
        "the intercepts alone."
    )
    blank: ClassVar[str] = "a text"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._column = next(iter(model.features_._texts), None)  # none: embeddings alone
        if self._column is not None:
            self.analyzer = self._column.options.analyzer
            self._spans = Spans(self._column.options.counter())

    def checked(self, value: Any, field: str, limits: Limits) -> str:
        return checked_text(value, field, limits)

    def features(self, samples: Sequence[str]) -> sp.csr_matrix:
        return as_core_csr(self.model._checked(list(samples)))

    def spans(self, sample: str, names: Sequence[str]) -> dict[str, list[Span]]:
        return (
            super().spans(sample, names)
            if self._column is None
            else self._spans.find(sample, names)
        )

    def unknown(self, sample: str) -> list[str]:
        if self._column is None:
            return []
        return self._spans.unknown(sample, self._column.words.places)

    def typical(self, place: int) -> str | None:
        if self._column is None:
            return None
        features, weights = self.weights.row(place)
        words = features < len(self._column)
        return strongest_text(self._column, features[words], weights[words]) or None


def strongest_text(column: Any, features: NDArray[Any], weights: NDArray[np.float64]) -> str:
    """Return a text of the features of a `TextColumn` with the largest weights, "" if none is > 0.

    ``features`` are places among the words of the column.
    """
    order = np.argsort(-weights, kind="stable")[:_CANDIDATES]
    strings = column.words.strings
    strong = [strings[features[place]] for place in order if weights[place] > 0]
    return _of_words(strong) if column.options.analyzer == "word" else _of_characters(strong)


def _of_words(strong: Iterable[str]) -> str:
    """Join features of one word or several, without those that repeat a word."""
    words: list[str] = []
    for feature in strong:
        more = feature.split(" ")
        if not set(more) & set(words):
            words += more
        if len(words) >= _WORDS:
            break
    return " ".join(words)


def _of_characters(strong: list[str]) -> str:
    """Extend the strongest piece by those that overlap it in all but one character."""
    text, rest = (strong[0], strong[1:]) if strong else ("", [])
    while len(text) < _CHARS:
        for piece in rest:
            shared = len(piece) - 1
            if shared >= 2 and text.endswith(piece[:-1]):
                text += piece[-1]
            elif shared >= 2 and text.startswith(piece[1:]):
                text = piece[0] + text
            else:
                continue
            rest.remove(piece)
            break
        else:
            break
    return text.strip()
