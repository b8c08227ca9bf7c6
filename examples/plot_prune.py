"""
A smaller model, and what it costs
==================================

Most weights of a model are small, and many of them can go. ``pruning_costs`` shows what that saves
and what it costs on data that was not trained on; ``prune`` does it.
"""

# %%
# Definitions of WordNet, of kinds with sixty or more.

import matplotlib.pyplot as plt
import numpy as np

from multimargin import MulticlassSVC, prune, pruning_costs
from multimargin.datasets import load_wordnet_tfidf

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
large = kinds[sizes >= 60]
train, test = np.isin(data.y_train, large), np.isin(data.y_test, large)
X_test, y_test = data.X_test[test], data.y_test[test]
model = MulticlassSVC(C=1.0, fit_intercept=False, random_state=0)
model.fit(data.X_train[train], data.y_train[train])

# %%
# One line for each share of the weights that is kept.

shares = (1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
costs = pruning_costs(model, X_test, y_test, keep=shares)
print("  kept    weights  megabytes   error  same prediction")
for cost in costs:
    print(
        f"{cost.keep:6.0%} {cost.nonzeros:10,} {cost.bytes / 1e6:10.2f} {cost.error:7.1%}"
        f" {cost.agreement:16.1%}"
    )

# %%

figure, ax = plt.subplots(figsize=(8, 3.8))
megabytes = [cost.bytes / 1e6 for cost in costs]
ax.semilogx(megabytes, [cost.error for cost in costs], "o-")
for cost, size in zip(costs, megabytes, strict=True):
    ax.annotate(
        f"{cost.keep:.0%}", (size, cost.error), (0, 8), textcoords="offset points", ha="center"
    )
ax.set(xlabel="megabytes of weights", title="Test error, and the share of weights kept")
ax.set_ylim(0, 1.15 * max(cost.error for cost in costs))
ax.yaxis.set_major_formatter("{x:.0%}")
ax.grid(True)
plt.show()

# %%
# ``max_loss`` looks for the smallest model that loses no more than this share of the predictions.
# Choose it on data that is neither trained nor tested on; here, to be short, it is the test data.

small = prune(model, max_loss=0.005, X=X_test, y=y_test)
print(f"{small.coef_.nnz:,} weights: test error {1 - small.score(X_test, y_test):.1%}")
