"""
What holds a model up
=====================

Margins say how safe each sample is from being taken for another class. The *support set*, from the
dual variables, says which samples and classes the model rests on: without all the others it would
be the same. Together with the confusions they show where labels are doubtful and where classes
overlap.
"""

# %%
# Definitions of some kinds of things, as in :doc:`plot_text`. ``warm_start=True`` keeps the dual
# variables.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from multimargin import TextClassifier
from multimargin.datasets import load_wordnet_texts
from multimargin.inspection import class_report, confusions, margins, support_set

data = load_wordnet_texts()
sizes = Counter(data.y_train.tolist())


def large_kinds(texts, labels):
    """Texts of kinds with many definitions, and their labels without WordNet's numbers."""
    kept = [i for i, label in enumerate(labels) if sizes[label] >= 60]
    return [texts[i] for i in kept], np.array([labels[i].partition("#")[0] for i in kept])


texts, labels = large_kinds(data.texts_train, data.y_train)
test_texts, test_labels = large_kinds(data.texts_test, data.y_test)
model = TextClassifier("ww", C=0.1, fit_intercept=False, warm_start=True, random_state=0)
model.fit(texts, labels)

# %%
# Margins
# -------
# A margin is the score of the right class less that of its best rival: negative for an error, and 1
# or more where nothing is lost.

seen, unseen = margins(model, texts, labels), margins(model, test_texts, test_labels)
print(f"training error {seen.error:.1%}, test error {unseen.error:.1%}")

figure, ax = plt.subplots(figsize=(8, 3.6))
bins = np.linspace(-2, 3, 60)
ax.hist(seen.margin, bins, density=True, alpha=0.6, label="training")
ax.hist(unseen.margin, bins, density=True, alpha=0.6, label="test")
ax.axvline(0, color="black", linewidth=1)
ax.axvline(1, color="black", linewidth=1, linestyle=":")
ax.set(xlabel="margin", yticks=[], title="Errors are left of 0; the loss ends at 1")
ax.legend()
plt.show()

# %%
# The training texts of the smallest margins are worth a look: here labels may be wrong, or two
# kinds hard to tell apart.

for place in seen.hardest(3):
    print(f"{seen.margin[place]:+.2f}  {labels[place]}, but looks like {seen.rival[place]}:")
    print(f"       {texts[place][:90]}")

# %%
# The support set
# ---------------

held_by = support_set(model, labels)
print(f"{len(held_by.samples):,} of {len(texts):,} texts hold the model up,")
print(f"each against {len(held_by) / len(held_by.samples):.1f} of {len(model.classes_) - 1} kinds")

# %%
# Confusions
# ----------
# Which kinds are mixed up in the test texts?

found = confusions(model, test_texts, test_labels, k=5)
for pair in found.pairs:
    print(f"{pair.a} as {pair.b}: {pair.a_as_b}, {pair.b} as {pair.a}: {pair.b_as_a}")

found.plot()
plt.show()

# %%
# And which are hard?

report = class_report(model, test_texts, test_labels)
print(report.sorted_by("f1").head(8))
