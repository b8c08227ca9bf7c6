"""Distinct strings in rising order: the words of a vocabulary, the values of a category."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from multimargin.io._array_file import ModelFileError
from multimargin.models.file._strings import Packed, decoded_strings, encoded_strings


@dataclass(eq=False, repr=False)
class Words:
    """Distinct strings in rising order, each with its place.

    The strings of a model file stay bytes of the mapped file until they are asked for, so that
    opening a model of a million words costs nothing.
    """

    _strings: list[str] | None = None
    _packed: Packed | None = None
    _source: str = ""
    _places: dict[str, int] | None = None

    @classmethod
    def of(cls, strings: Iterable[str]) -> Words:
        """Make words of strings that are distinct and in rising order."""
        return cls(list(strings))

    @classmethod
    def packed(cls, packed: Packed, source: str) -> Words:
        """Make words of the strings of a model file; `source` names it in messages."""
        return cls(None, packed, source)

    def __len__(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return 0 if self._packed is None else len(self._packed[1]) - 1

    def __getstate__(self) -> dict[str, object]:
        # The places are made again; a pickle does not depend on what was asked before.
        return {**vars(self), "_places": None}

    @property
    def strings(self) -> list[str]:
        """All strings; ModelFileError if a file has some that are no UTF-8 or out of order."""
        if self._strings is None:
            self._strings = self._decoded()
        return self._strings

    @property
    def places(self) -> dict[str, int]:
        if self._places is None:
            self._places = {word: place for place, word in enumerate(self.strings)}
        return self._places

    def pack(self) -> Packed:
        """Return UTF-8 bytes and offsets, as `packed` takes them."""
        return encoded_strings(self.strings) if self._packed is None else self._packed

    def _decoded(self) -> list[str]:
        if self._packed is None:
            return []
        try:
            strings = decoded_strings(self._packed)
        except UnicodeDecodeError as error:
            raise ModelFileError(
                f"{self._source}: damaged: words that are no UTF-8: {error}"
            ) from None
        if any(a >= b for a, b in itertools.pairwise(strings)):
            raise ModelFileError(f"{self._source}: damaged: the words are not in rising order")
        return strings
