"""
Why this class?
===============

A score is a sum over words, so each word has an exact part in it. ``explain`` lists what spoke for
the predicted class and against the runner-up; ``top_features`` what a class looks for in general.
"""

# %%
# Definitions of some kinds of things, as in :doc:`plot_text`.

from collections import Counter

import matplotlib.pyplot as plt

from multimargin import TextClassifier
from multimargin.datasets import load_wordnet_texts

wordnet = load_wordnet_texts()
sizes = Counter(wordnet.y_train.tolist())
kept = [i for i, label in enumerate(wordnet.y_train) if sizes[label] >= 60]
texts = [wordnet.texts_train[i] for i in kept]
labels = [wordnet.y_train[i].partition("#")[0] for i in kept]
model = TextClassifier(C=1.0, fit_intercept=False, random_state=0).fit(texts, labels)

# %%
# Printed, an explanation is a table. It adds up: the contributions, what is not listed and the
# intercept are the difference of the two scores.

why = model.explain("a small tree with white flowers and edible fruit", k=8)
print(why)

# %%
# The other way round: ``rank="size"`` also lists what spoke against the prediction, and ``label``
# asks about a class of your choice.

for label, score in why.best:
    print(f"{score:+.3f}  {label}")

why.plot()
plt.show()

# %%
# What does a class look for in general? The largest and the most negative of its weights.

print(model.top_features("tree.n", k=6))

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
for ax, label in zip(axes, ["tree.n", "writer.n"], strict=True):
    model.top_features(label, k=7).plot(ax)
plt.show()
