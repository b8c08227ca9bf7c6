"""Data with many classes: WordNet definitions inside the package, and a generator.

Nothing here uses the network: the definitions are part of the installed package, and the
generator makes data of the size and shape of large text hierarchies from a seed.
"""

from ._generator import make_hierarchical_text
from ._wordnet import load_wordnet_hypernyms, load_wordnet_tfidf

__all__ = ["load_wordnet_hypernyms", "load_wordnet_tfidf", "make_hierarchical_text"]
