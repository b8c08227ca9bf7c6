"""One-hot features of one column of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin.text._raw_columns import value_text
from multimargin.text._words import Words


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
