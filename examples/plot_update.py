"""
New samples, new classes
========================

Data grow. With ``warm_start=True`` an estimator remembers its dual variables, and ``fit`` on more
samples, or on more classes, starts from them. The result is as exact as that of a fit from nothing,
with the same certificate; it is only there sooner.
"""

# %%
# Definitions of WordNet, of kinds with sixty or more. They arrive in six parts: first nine
# tenths, then a few more each time, among them kinds that the model has never seen.

import time

import matplotlib.pyplot as plt
import numpy as np

from multimargin import MulticlassSVC
from multimargin.datasets import load_wordnet_tfidf

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
kept = np.isin(data.y_train, kinds[sizes >= 60])
X, y = data.X_train[kept], data.y_train[kept]

rng = np.random.default_rng(0)
places = np.unique(y, return_inverse=True)[1]
# A sample cannot arrive before its kind does, and some kinds arrive late.
arrival = np.maximum(
    rng.random(len(y)), 2 * rng.permutation(places.max() + 1)[places] / places.max() - 1
)
parts = [arrival <= end for end in (0.9, 0.92, 0.94, 0.96, 0.98, 1.0)]

# %%
# One model is kept up to date; next to it, each time, one is trained from nothing.

SETTINGS = {"C": 1.0, "tol": 1e-3, "fit_intercept": False, "random_state": 0}
kept_up = MulticlassSVC(warm_start=True, **SETTINGS)
rows = []
for part in parts:
    began = time.perf_counter()
    kept_up.fit(X[part], y[part])
    warm_seconds = time.perf_counter() - began

    began = time.perf_counter()
    cold = MulticlassSVC(**SETTINGS).fit(X[part], y[part])
    cold_seconds = time.perf_counter() - began

    apart = abs(kept_up.primal_objective_ - cold.primal_objective_) / cold.primal_objective_
    rows.append((part.sum(), len(cold.classes_), warm_seconds, cold_seconds, apart))
    print(
        f"{part.sum():5,} samples of {len(cold.classes_)} kinds, "
        f"{kept_up.n_known_samples_:5,} known: gap {kept_up.dual_gap_:.1e}, "
        f"objectives differ by {apart:.1e}"
    )

# %%

samples, classes, warm_seconds, cold_seconds, _ = np.array(rows).T
figure, ax = plt.subplots(figsize=(8, 3.8))
place = np.arange(len(rows))
ax.bar(place - 0.2, cold_seconds, 0.4, label="from nothing")
ax.bar(place + 0.2, warm_seconds, 0.4, label="kept up to date")
ax.set(
    xticks=place,
    xticklabels=[f"{n:,.0f}\n{k:.0f} kinds" for n, k in zip(samples, classes, strict=True)],
    ylabel="seconds",
    title="Time of a fit",
)
ax.legend()
plt.show()
