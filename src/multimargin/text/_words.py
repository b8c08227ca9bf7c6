"""Distinct strings in rising order: the words of a vocabulary, the values of a category."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import ModelFileError


class Words:
    """Distinct strings in rising order, each with its place.

    Those of a model file are bytes of a mapped file until they are asked for, so that opening a
    model of a million words costs nothing.
    """

    def __init__(self) -> None:
        self._strings: list[str] | None = None
        self._packed: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = None
        self._places: dict[str, int] | None = None
        self._source = ""

    @classmethod
    def of(cls, strings: Iterable[str]) -> Words:
        """From strings that are distinct and in rising order."""
        words = cls()
        words._strings = list(strings)
        return words

    @classmethod
    def packed(cls, utf8: NDArray[np.uint8], offsets: NDArray[np.int64], source: str) -> Words:
        """From UTF-8 bytes, one string after the other, and where each begins.

        Parameters
        ----------
        utf8 : ndarray of uint8, shape (n_bytes,)
        offsets : ndarray of int64, shape (n_strings + 1,)
            From 0 to n_bytes, not falling: the caller has made sure of that.
        source : str
            Where they are from, for messages.
        """
        words = cls()
        words._packed, words._source = (utf8, offsets), source
        return words

    def __len__(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return 0 if self._packed is None else len(self._packed[1]) - 1

    def __getstate__(self) -> dict[str, object]:
        # The places are made again; a pickle does not depend on what was asked before.
        return {**vars(self), "_places": None}

    @property
    def strings(self) -> list[str]:
        """All of them.

        Raises
        ------
        ModelFileError
            If those of a file are no UTF-8, or not distinct and in rising order.
        """
        if self._strings is None:
            self._strings = self._decoded()
        return self._strings

    @property
    def places(self) -> dict[str, int]:
        """The place of each."""
        if self._places is None:
            self._places = {word: place for place, word in enumerate(self.strings)}
        return self._places

    def pack(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """UTF-8 bytes and offsets, as `packed` takes them."""
        if self._packed is not None:
            return self._packed
        encoded = [word.encode("utf-8", "surrogatepass") for word in self.strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets

    def _decoded(self) -> list[str]:
        if self._packed is None:
            return []
        text, ends = self._packed[0].tobytes(), self._packed[1].tolist()
        try:
            strings = [
                text[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)
            ]
        except UnicodeDecodeError as error:
            raise ModelFileError(
                f"{self._source}: damaged: words that are no UTF-8: {error}"
            ) from None
        if any(a >= b for a, b in itertools.pairwise(strings)):
            raise ModelFileError(f"{self._source}: damaged: the words are not in rising order")
        return strings
