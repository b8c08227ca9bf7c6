"""Tables of texts and labels, as files."""

import csv

import numpy as np

WORDS = {"New York": "skyscraper subway", "rose": "petal thorn", "dog": "bark tail"}
LABELS = list(WORDS) * 10  # of 30 rows
TRAIN = ["train", "train.csv", "m", "--text", "text", "--label", "label", "--quiet"]


def rows(n, seed):
    """Rows of three labels; the text has a word of its label, and noise."""
    rng = np.random.default_rng(seed)
    noise = [f"word{i}" for i in range(9)]
    for i in range(n):
        label = list(WORDS)[i % 3]
        words = [rng.choice(WORDS[label].split()), *rng.choice(noise, 3)]
        yield " ".join(words), str(rng.integers(9)), "ab"[i % 2], label


def write(path, table, header=("text", "price", "kind", "label"), **options):
    with path.open("w", newline="", **options) as file:
        csv.writer(file).writerows([header, *table])
