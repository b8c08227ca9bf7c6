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

# The length of an embedding beside tf-idf features of length 1. MEASUREMENT
BESIDE_TFIDF = 0.5


@dataclass(eq=False)
class EmbeddingColumn:
    """Embeddings of one column of texts, whose name is None for texts without columns.

    Vectors of unit length, less the `mean` of those of training, which most encoders give to all
    texts alike, and brought to the length `scale`.
    """

    name: str | None
    encoder: TextEncoder
    scale: float
    mean: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.mean)

    @classmethod
    def fitted(
        cls,
        name: str | None,
        source: Any,
        scale: float,
        values: Sequence[Any],
        *,
        shows: bool = False,
    ) -> tuple[EmbeddingColumn, NDArray[np.float32]]:
        """Return the column learned from its values, and their features."""
        encoder = TextEncoder(source)
        vectors = _embedded(encoder, name, values, shows)
        mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        column = cls(name, encoder, scale, mean)
        return column, column._placed(vectors)

    def transform(self, values: Sequence[Any], *, shows: bool = False) -> NDArray[np.float32]:
        """Return the features of new values: rows of the length `scale`, a dense array."""
        return self._placed(_embedded(self.encoder, self.name, values, shows))

    def _placed(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        vectors -= self.mean
        normalize(vectors, copy=False)
        vectors *= np.float32(self.scale)
        return vectors


def _embedded(
    encoder: TextEncoder, name: str | None, values: Sequence[Any], shows: bool
) -> NDArray[np.float32]:
    """Return vectors of unit length, in an array of their own."""
    vectors: NDArray[np.float32] = normalize(
        encoder.embed(checked_texts(values, name), name, shows=shows)
    )
    return vectors
