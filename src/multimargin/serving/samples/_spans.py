"""Find features in texts: the vectorizer's n-grams, with their places."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Container, Iterator
from typing import Any

from multimargin.serving._schema import MOST_SPANS, MOST_UNKNOWN

_BLANKS = re.compile(r"\s\s+")

Span = tuple[int, int]


class Spans:
    """Finds the features of a CountVectorizer, fitted or not, in texts."""

    def __init__(self, counter: Any) -> None:
        self._preprocess: Callable[[str], str] = counter.build_preprocessor()
        self._shortest, self._longest = counter.ngram_range
        self._stop_words: frozenset[str] = frozenset(counter.get_stop_words() or ())
        self._token = re.compile(counter.token_pattern)
        self._pieces = {
            "word": self._words,
            "char": self._characters,
            "char_wb": self._characters_within_words,
        }[counter.analyzer]

    def find(self, text: str, features: Collection[str]) -> dict[str, list[Span]]:
        """Return begin and end of each occurrence of the features, in characters of the text."""
        clean, origin = self._aligned(text)
        found: dict[str, list[Span]] = {feature: [] for feature in features}
        for feature, begin, end in self._pieces(clean):
            spans = found.get(feature)
            if spans is not None and len(spans) < MOST_SPANS and begin < end:
                spans.append((origin[begin], origin[end - 1] + 1))
        return found

    def unknown(self, text: str, known: Container[str]) -> list[str]:
        """Return words of the text that are not known; none where features are no single words."""
        if self._pieces != self._words or self._shortest > 1:
            return []
        words = dict.fromkeys(self._token.findall(self._preprocess(text)))
        unknown = (word for word in words if word not in known and word not in self._stop_words)
        return list(itertools.islice(unknown, MOST_UNKNOWN))

    def _aligned(self, text: str) -> tuple[str, range | list[int]]:
        """Return the text as the vectorizer reads it, and the origin of each character."""
        clean = self._preprocess(text)
        if len(clean) == len(text):
            return clean, range(len(text))
        parts = [self._preprocess(character) for character in text]
        if sum(map(len, parts)) != len(clean):  # not letter by letter: as near as can be
            last = max(0, len(text) - 1)
            return clean, [min(place, last) for place in range(len(clean))]
        return clean, [place for place, part in enumerate(parts) for _ in part]

    def _words(self, text: str) -> Iterator[tuple[str, int, int]]:
        words = [
            (match[0], match.start(), match.end())
            for match in self._token.finditer(text)
            if match[0] not in self._stop_words
        ]
        for first, (_, begin, _) in enumerate(words):
            longest = min(self._longest, len(words) - first)
            for count in range(self._shortest, longest + 1):
                run = words[first : first + count]
                yield " ".join(word for word, _, _ in run), begin, run[-1][2]

    def _characters(self, text: str) -> Iterator[tuple[str, int, int]]:
        shrunk, place = _shrunk(text)
        for begin in range(len(shrunk)):
            for count in range(self._shortest, min(self._longest, len(shrunk) - begin) + 1):
                yield shrunk[begin : begin + count], place[begin], place[begin + count - 1] + 1

    def _characters_within_words(self, text: str) -> Iterator[tuple[str, int, int]]:
        for match in re.finditer(r"\S+", text):
            padded = f" {match[0]} "
            low, high = match.span()
            for count in range(self._shortest, self._longest + 1):
                for begin in range(max(1, len(padded) - count + 1)):
                    first = low + begin - 1  # the padding is no character of the text
                    yield padded[begin : begin + count], max(low, first), min(high, first + count)
                if len(padded) <= count:
                    break  # such a short word counts once


def _shrunk(text: str) -> tuple[str, list[int]]:
    """Return the text with runs of blanks as one, and the origin of each character."""
    parts: list[str] = []
    place: list[int] = []
    done = 0
    for match in _BLANKS.finditer(text):
        parts += (text[done : match.start()], " ")
        place += range(done, match.start() + 1)
        done = match.end()
    parts.append(text[done:])
    place += range(done, len(text))
    return "".join(parts), place
