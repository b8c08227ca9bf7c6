"""
A first fit, and its certificate
================================

Training has a promise: at the end the objective is within ``tol`` of the best possible one, and
the model carries the proof. Here is what that looks like on some thousand dictionary definitions
and the kinds of things they define.
"""

# %%
# The data are part of the package: each row is a definition, its label the word one step up in
# WordNet's hierarchy. To keep this short, only kinds with forty definitions or more take part.

import numpy as np

from multimargin import MulticlassSVC
from multimargin.datasets import load_wordnet_tfidf

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
large = kinds[sizes >= 40]
train, test = np.isin(data.y_train, large), np.isin(data.y_test, large)
X_train, y_train = data.X_train[train], data.y_train[train]
X_test, y_test = data.X_test[test], data.y_test[test]
print(f"{X_train.shape[0]:,} definitions, {len(large)} kinds, {X_train.shape[1]:,} words")

# %%
# ``tol=1e-3`` asks for far more than prediction needs (the default is 0.01), to have something to
# see.

model = MulticlassSVC(C=1.0, tol=1e-3, random_state=0).fit(X_train, y_train)
print(f"relative duality gap {model.dual_gap_:.1e} after {model.n_iter_} passes")
print(f"test error {1 - model.score(X_test, y_test):.1%}")
print(f"{model.model_density_:.1%} of the weights are not zero")

# %%
# ``history_`` has an entry for each *scan*: a look at all classes of all samples, which yields the
# exact primal and dual objective. The optimum lies between the two curves, whatever the solver did
# before, so their distance is a certificate and no estimate.

import matplotlib.pyplot as plt

scans = model.history_
passes = [scan["passes"] for scan in scans]
figure, (objectives, gap) = plt.subplots(1, 2, figsize=(10, 3.8))

objectives.plot(
    passes, [scan["primal"] for scan in scans], "o-", label="primal: at least this good"
)
objectives.plot(passes, [scan["dual"] for scan in scans], "o-", label="dual: not better than this")
objectives.fill_between(
    passes,
    [scan["primal"] for scan in scans],
    [scan["dual"] for scan in scans],
    alpha=0.15,
    color="gray",
)
objectives.set(xlabel="passes over the data", yscale="log", title="The optimum is in between")
objectives.legend()

gap.semilogy(passes, [scan["gap"] for scan in scans], "o-", color="C2")
gap.axhline(0.01, color="gray", linestyle=":")
gap.annotate("the default tol", (passes[-1], 0.01), ha="right", va="bottom", color="gray")
gap.set(xlabel="passes over the data", title="Relative duality gap", xlim=(0, None))
gap.grid(True)
plt.show()
