"""
From raw texts to classes
=========================

:class:`~multimargin.TextClassifier` takes texts as they are, makes TF-IDF features of them, and
keeps how it made them in its model file.
"""

# %%
# Dictionary definitions as texts; their labels are kinds of things, such as ``tree.n``. Sixty
# definitions of a kind or more, to keep this short.

from collections import Counter

import matplotlib.pyplot as plt

from multimargin import TextClassifier
from multimargin.datasets import load_wordnet_texts

data = load_wordnet_texts()
sizes = Counter(data.y_train.tolist())


def large_kinds(texts, labels):
    """Texts of kinds with many definitions, and their labels without WordNet's numbers."""
    kept = [i for i, label in enumerate(labels) if sizes[label] >= 60]
    return [texts[i] for i in kept], [labels[i].partition("#")[0] for i in kept]


texts, labels = large_kinds(data.texts_train, data.y_train)
test_texts, test_labels = large_kinds(data.texts_test, data.y_test)
print(f"{len(texts):,} texts, {len(set(labels))} kinds. The first one: {labels[0]}")
print(texts[0])

# %%
# One line trains; ``predict_topk`` answers with the best kinds and their scores.

model = TextClassifier(C=1.0, fit_intercept=False, random_state=0).fit(texts, labels)
print(f"test error {1 - model.score(test_texts, test_labels):.1%}")

questions = [
    "a small tree with edible fruit",
    "Russian novelist who wrote of crime and of punishment",
    "inflammation of a joint",
]
best, scores = model.predict_topk(questions, k=3)
for question, row in zip(questions, best, strict=True):
    print(f"{question}: {', '.join(row)}")

# %%
# What are features? Words by default. Pairs of words (``ngram_range=(1, 2)``) know phrases; pieces
# of words (``analyzer="char_wb"``) survive misspellings and endings.

WAYS = {
    "words": {},
    "words and pairs": {"ngram_range": (1, 2), "min_df": 2},
    "3 to 5 letters": {"analyzer": "char_wb", "ngram_range": (3, 5), "min_df": 3},
    "words, no stop words": {"stop_words": "english"},
}
error, features = {}, {}
for name, options in WAYS.items():
    way = TextClassifier(C=1.0, fit_intercept=False, random_state=0, **options)
    way.fit(texts, labels)
    error[name] = 1 - way.score(test_texts, test_labels)
    features[name] = way.n_features_in_

figure, ax = plt.subplots(figsize=(8, 2.9))
bars = ax.barh(list(error), [100 * value for value in error.values()], height=0.6)
for bar, name in zip(bars, error, strict=True):
    ax.annotate(
        f" {error[name]:.1%} with {features[name]:,} features",
        (bar.get_width(), bar.get_y() + bar.get_height() / 2),
        va="center",
    )
ax.invert_yaxis()
ax.set(title="Test error in percent", xlim=(0, 45))
ax.tick_params(left=False)
plt.show()

# %%
# The model file holds words and weights and no code: any process that loads it takes raw texts.

import tempfile
from pathlib import Path

from multimargin import load_model, save_model

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "kinds"
    save_model(model, path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    print(load_model(path).predict(questions))
