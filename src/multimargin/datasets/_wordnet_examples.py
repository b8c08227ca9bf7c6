"""Definitions to ask a WordNet model: on its page, and in ``multimargin demo``."""

from __future__ import annotations

from typing import Any

# A class that only models of WordNet have.
_OF_WORDNET = "dog.n#n02084071"
DEFINITIONS = (
    "a small dog kept as a pet",
    "a stringed instrument that is played with a bow",
    "someone who bakes bread for a living",
    "a port city in southern France",
    "an inflammation of the skin",
)


def examples_of(model: Any) -> tuple[str, ...]:
    """Return the definitions for a model of WordNet, nothing for others."""
    return DEFINITIONS if _OF_WORDNET in model.classes_ else ()
