"""The vectors that an encoder makes of a column of texts, as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from multimargin.text._columns import checked_texts
from multimargin.text._encoder import TextEncoder


@dataclass(eq=False)
class EmbeddingColumn:
    """Embeddings of one column of texts, whose name is None for texts without columns.

    Vectors of unit length less the `mean` of those of training, which is what most encoders give to
    all texts alike, and then of `length`.
    """

    name: str | None
    encoder: TextEncoder
    mean: NDArray[np.float32]
    length: float = 1.0

    def __len__(self) -> int:
        return len(self.mean)

    @classmethod
    def fitted(
        cls,
        name: str | None,
        source: Any,
        values: Sequence[Any],
        *,
        shows: bool = False,
    ) -> tuple[EmbeddingColumn, NDArray[np.float32]]:
        """Return the column learned from its values, and their features."""
        encoder = TextEncoder(source)
        vectors = _embedded(encoder, name, values, shows)
        mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        column = cls(name, encoder, mean)
        return column, column._placed(vectors)

    def transform(self, values: Sequence[Any], *, shows: bool = False) -> NDArray[np.float32]:
        """Return the features of new values, a dense array."""
        return self._placed(_embedded(self.encoder, self.name, values, shows))

    def _placed(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        vectors -= self.mean
        normalize(vectors, copy=False)
        return self.scaled(vectors)

    def scaled(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Bring rows of unit length to `length`, in place."""
        rows *= np.float32(self.length)
        return rows


def _embedded(
    encoder: TextEncoder, name: str | None, values: Sequence[Any], shows: bool
) -> NDArray[np.float32]:
    """Return vectors of unit length, in an array of their own."""
    vectors: NDArray[np.float32] = normalize(
        encoder.embed(checked_texts(values, name), name, shows=shows)
    )
    return vectors
