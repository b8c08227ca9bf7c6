"""Texts that the page of the WordNet model offers, and that `multimargin demo` asks."""

from __future__ import annotations

from typing import Any

# A class that only the WordNet model of `multimargin demo` has.
_OF_WORDNET = "dog.n#n02084071"
DEFINITIONS = (
    "a small dog kept as a pet",
    "a stringed instrument that is played with a bow",
    "someone who bakes bread for a living",
    "a port city in southern France",
    "an inflammation of the skin",
)


def examples_of(model: Any) -> tuple[str, ...]:
    """Examples for a model whose kind is known, or none."""
    return DEFINITIONS if _OF_WORDNET in model.classes_ else ()
