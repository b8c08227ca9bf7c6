"""
Along the path of C
===================

How strictly should a model follow its training data? ``multimargin.path`` fits a whole range of C,
each fit from the one before, every model with its certificate; ``multimargin.tune`` compares
formulations as well, by cross-validation.
"""

# %%
# Definitions of WordNet, of kinds with sixty or more.

import matplotlib.pyplot as plt
import numpy as np

import multimargin
from multimargin.datasets import load_wordnet_tfidf

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
large = kinds[sizes >= 60]
train, test = np.isin(data.y_train, large), np.isin(data.y_test, large)
X, y = data.X_train[train], data.y_train[train]
X_test, y_test = data.X_test[test], data.y_test[test]

# %%
# Eight values of C, measured on samples that are not trained on. (Without a list of them there are
# ten that suit the number of classes.)

path = multimargin.path(
    X,
    y,
    [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    validation=(X_test, y_test),
    formulation="ww",
    keep="all",
    fit_intercept=False,
    random_state=0,
)
print("       C    error   macro-F1   density       gap")
for point in path:
    print(
        f"{point.C:8.3g} {point.measures['error']:8.1%} {point.measures['macro_f1']:10.3f}"
        f" {point.density:9.1%} {point.gap:9.1e}"
    )
print(f"best: C = {path.best().C:.3g}")

# %%
# With a larger C the training error goes to zero. The test error does not follow: that is where to
# stop. The model is sparser there, too, than at a very small C, where every sample leans on many
# classes.

Cs = [point.C for point in path]
figure, (errors, weights) = plt.subplots(1, 2, figsize=(10, 4))
errors.semilogx(Cs, [point.measures["error"] for point in path], "o-", label="test")
errors.semilogx(Cs, [1 - point.model.score(X, y) for point in path], "o-", label="training")
errors.axvline(path.best().C, color="gray", linestyle=":")
errors.set(xlabel="C", title="Error", ylim=(-0.01, None))
errors.legend()
weights.semilogx(Cs, [point.density for point in path], "o-", color="C2")
weights.set(xlabel="C", title="Share of weights that are not zero", ylim=(0, None))
for ax in (errors, weights):
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.grid(True)
plt.show()

# %%
# ``tune`` compares formulations, each at its own values of C.

found = multimargin.tune(
    X,
    y,
    formulations=["ww", "cs", "ovr"],
    Cs=[0.1, 0.3, 1, 3, 10],
    holdout=0.25,
    fit_intercept=False,
    random_state=0,
)
best = found.best()
print(f"best on held-out samples: {best.formulation}, C = {best.C:g}, error {best.mean():.1%}")

found.plot()
plt.show()
