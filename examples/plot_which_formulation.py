"""
Which formulation, at which C
=============================

The four formulations on real text: dictionary definitions, and the kinds of things they define.
Each has its own scale of C, so they are compared over a range of it, never at one value.
"""

# %%
# Kinds with sixty definitions or more, from the data in the package.

import time

import matplotlib.pyplot as plt
import numpy as np

from multimargin import MulticlassSVC
from multimargin.datasets import load_wordnet_tfidf

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
large = kinds[sizes >= 60]
train, test = np.isin(data.y_train, large), np.isin(data.y_test, large)
X_train, y_train = data.X_train[train], data.y_train[train]
X_test, y_test = data.X_test[test], data.y_test[test]
print(f"{X_train.shape[0]:,} definitions for training, {X_test.shape[0]:,} for testing")
print(f"{len(large)} kinds, {X_train.shape[1]:,} words")

# %%
# All at the default ``tol``, a gap of at most 1%.

FORMULATIONS = {
    "ww": "Weston–Watkins",
    "cs": "Crammer–Singer",
    "ovr": "one-vs-rest",
    "llw": "Lee–Lin–Wahba",
}
Cs = [0.03, 0.1, 0.3, 1, 3, 10, 100]
error, density, seconds = ({name: [] for name in FORMULATIONS} for _ in range(3))
for name in FORMULATIONS:
    for C in Cs:
        model = MulticlassSVC(name, C=C, fit_intercept=False, random_state=0)
        began = time.perf_counter()
        model.fit(X_train, y_train)
        seconds[name].append(time.perf_counter() - began)
        error[name].append(1 - model.score(X_test, y_test))
        density[name].append(model.model_density_)

print("                  best error   at C   density   seconds of all fits")
for name, title in FORMULATIONS.items():
    best = int(np.argmin(error[name]))
    print(
        f"{title:16} {error[name][best]:10.1%} {Cs[best]:8} {density[name][best]:9.1%}"
        f" {sum(seconds[name]):12.1f}"
    )

# %%
# Weston–Watkins and Crammer–Singer end up about equally good and equally sparse; the latter wants a
# larger C, as a sample pays for one class instead of for several. One-vs-rest is quick to train,
# has more weights, and ends a little behind. Lee–Lin–Wahba wants a far larger C than the others
# before it begins to learn.

figure, axes = plt.subplots(1, 2, figsize=(10, 4))
for name, title in FORMULATIONS.items():
    axes[0].semilogx(Cs, error[name], "o-", label=title)
    axes[1].semilogx(Cs, density[name], "o-", label=title)
axes[0].set(title="Test error", xlabel="C", ylim=(0, 0.55))
axes[1].set(title="Share of weights that are not zero", xlabel="C", ylim=(0, 0.55))
for ax in axes:
    ax.grid(True)
    ax.yaxis.set_major_formatter("{x:.0%}")
axes[0].legend()
plt.show()
