"""Encoders that need no package, and texts for them."""

import hashlib

import numpy as np

WORDS = {"pet": "dog cat hen bark", "flower": "rose tulip petal", "traffic": "car road lane"}
LABELS = list(WORDS)
SIZE = 8


def labelled(n, seed=0):
    """Texts that each have a word of their label, and two that say nothing."""
    rng = np.random.default_rng(seed)
    labels = [LABELS[i % 3] for i in range(n)]
    texts = [
        f"{rng.choice(WORDS[label].split())} number{i} word{rng.integers(5)}"
        for i, label in enumerate(labels)
    ]
    return texts, labels


def vector_of(word):
    """A vector for a word: near to each other for words of one label."""
    rng = np.random.default_rng(int(hashlib.md5(word.encode()).hexdigest()[:8], 16))
    vector = 0.3 * rng.normal(size=SIZE)
    for place, words in enumerate(WORDS.values()):
        if word in words.split():
            vector[place] += 3
    return vector


def encode(texts):
    """Embed texts; each is the sum of the vectors of its words."""
    return np.array([sum(map(vector_of, text.split()), np.zeros(SIZE)) for text in texts])


class Encoder:
    """Has ``.encode`` as sentence-transformers and model2vec do, and counts its texts."""

    def __init__(self, function=encode):
        self.function, self.calls = function, []

    def encode(self, texts):
        self.calls.append(len(texts))
        return self.function(texts)
