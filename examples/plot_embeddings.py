"""
Words, embeddings, or both
==========================

An *encoder* turns a text into a vector, so that texts with similar meanings are near to each other.
`TextClassifier` takes one beside the words of a text, or in their place. What do embeddings add,
and which training texts stand behind a decision?
"""

# %%
# Definitions of some kinds of things, as in :doc:`plot_text`.

import time
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from multimargin import TextClassifier
from multimargin.datasets import load_wordnet_texts

data = load_wordnet_texts()
sizes = Counter(data.y_train.tolist())


def large_kinds(texts, labels):
    """Texts of kinds with many definitions, and their labels without WordNet's numbers."""
    kept = [i for i, label in enumerate(labels) if sizes[label] >= 60]
    return [texts[i] for i in kept], np.array([labels[i].partition("#")[0] for i in kept])


texts, labels = large_kinds(data.texts_train, data.y_train)
test_texts, test_labels = large_kinds(data.texts_test, data.y_test)

# %%
# An encoder
# ----------
# Any function from a list of texts to an array is one. This one, made here, knows pieces of words,
# and which of them are found together in all definitions, whatever their labels. A language model
# is used by its name instead: ``encoder="all-MiniLM-L6-v2"``, with the extra ``embeddings``.

pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), max_features=10_000)
encoder = make_pipeline(pieces, TruncatedSVD(64, n_iter=2, random_state=0))
encoder.fit(data.texts_train[::5])

# %%
# Three kinds of features
# -----------------------
# With few training texts, many words of a new text were never seen. Both kinds side by side are no
# worse than the better one: lengths are measured on the training texts.

kinds = ("tfidf", "embedding", "both")
shares = (0.1, 0.3, 1.0)
errors = {kind: [] for kind in kinds}
order = np.random.default_rng(0).permutation(len(texts))
for share in shares:
    some = order[: int(share * len(texts))]
    for kind in kinds:
        model = TextClassifier(encoder=encoder.transform, features=kind, random_state=0)
        began = time.perf_counter()
        model.fit([texts[i] for i in some], labels[some])
        seconds = time.perf_counter() - began
        errors[kind].append(100 * (1 - model.score(test_texts, test_labels)))
        print(f"{len(some):5} texts, {kind:9} {errors[kind][-1]:.1f} % wrong, {seconds:.1f} s")

figure, ax = plt.subplots(figsize=(7, 3.6))
for kind in kinds:
    ax.plot([int(share * len(texts)) for share in shares], errors[kind], "o-", label=kind)
ax.set(xscale="log", xlabel="training texts", ylabel="test error in %")
ax.legend()
plt.show()

# %%
# Which training texts decided?
# -----------------------------
# A number of an embedding means nothing by itself. But scores are sums over training texts: each
# has as a part its similarity with the new text, times its dual variables, which
# ``warm_start=True`` keeps.

model = TextClassifier(encoder=encoder.transform, warm_start=True, random_state=0)
model.fit(texts, labels)
why = model.explain_by_samples(test_texts[7], texts, labels, k=6)
print(test_texts[7])
print(why)

# %%
# By features, the embedding is one of them: its part is that of all its numbers.

print(model.explain(test_texts[7], k=4))
