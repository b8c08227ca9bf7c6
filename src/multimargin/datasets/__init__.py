"""Data with many classes: WordNet definitions inside the package, a generator, and sets by name.

`load_set` reads the sets of a catalogue (``multimargin data list``) from a folder; nothing but
`fetch_set` uses the network.
"""

from multimargin.datasets._download import FetchError
from multimargin.datasets._embeddings import make_wordnet_embeddings
from multimargin.datasets._fetch import fetch_set
from multimargin.datasets._generator import make_hierarchical_text
from multimargin.datasets._lshtc_format import load_lshtc
from multimargin.datasets._sets import SetParts, SetUnavailableError, load_set
from multimargin.datasets._wordnet import (
    load_wordnet_hypernyms,
    load_wordnet_texts,
    load_wordnet_tfidf,
    wordnet_parents,
)

__all__ = [
    "FetchError",
    "SetParts",
    "SetUnavailableError",
    "fetch_set",
    "load_lshtc",
    "load_set",
    "load_wordnet_hypernyms",
    "load_wordnet_texts",
    "load_wordnet_tfidf",
    "make_hierarchical_text",
    "make_wordnet_embeddings",
    "wordnet_parents",
]
