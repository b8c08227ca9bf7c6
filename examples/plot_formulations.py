"""
Four formulations, four opinions
================================

All four minimise ``½ Σ‖w_c‖² + C Σ loss``. They differ in what a sample loses, and that is enough
to draw other borders. Two features make it visible.
"""

# %%
# Three clouds, of which the one in the middle has a neighbour on either side, and a fourth class
# far away.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs

from multimargin import MulticlassSVC

centers = [[-3.0, 0.4], [0.0, -0.4], [3.0, 0.4], [0.0, 5.0]]
X, y = make_blobs([90, 90, 90, 30], centers=centers, cluster_std=0.95, random_state=3)

TITLES = {
    "ww": "Weston–Watkins: every other class\nthat comes close costs",
    "cs": "Crammer–Singer: the closest\nother class costs",
    "llw": "Lee–Lin–Wahba: other classes\nhave to score below −1",
    "ovr": "one-vs-rest: each class by itself\nagainst all others",
}
models = {
    name: MulticlassSVC(name, C=0.1, tol=1e-4, intercept_scaling=10, random_state=0).fit(X, y)
    for name in TITLES
}
for name, model in models.items():
    print(f"{name:4} training error {1 - model.score(X, y):.1%}, gap {model.dual_gap_:.1e}")

# %%
# Weston–Watkins and Crammer–Singer compare classes with each other: it suffices that the right one
# scores higher. One-vs-rest asks for a line that separates the middle class from all the others.
# There is none, and its region shrinks. Lee–Lin–Wahba asks each *wrong* class to score below −1,
# whatever the right one scores. With two features that is asked too much: two classes never win.

xx, yy = np.meshgrid(np.linspace(-6.5, 6.5, 400), np.linspace(-4, 8, 400))
grid = np.column_stack([xx.ravel(), yy.ravel()])
colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"]

figure, axes = plt.subplots(2, 2, figsize=(9, 7.6), sharex=True, sharey=True)
for (name, model), ax in zip(models.items(), axes.flat, strict=True):
    best = model.predict(grid).reshape(xx.shape)
    ax.contourf(xx, yy, best, levels=np.arange(-0.5, 4), cmap=ListedColormap(colours), alpha=0.25)
    ax.contour(xx, yy, best, levels=np.arange(0.5, 3), colors="white", linewidths=2)
    for c, colour in enumerate(colours):
        ax.scatter(*X[y == c].T, s=16, color=colour, edgecolor="white", linewidth=0.4)
    ax.set_title(TITLES[name])
    ax.text(
        0.02,
        0.02,
        f"training error {1 - model.score(X, y):.1%}",
        transform=ax.transAxes,
        va="bottom",
    )
    ax.tick_params(length=0, labelleft=False, labelbottom=False)
plt.show()

# %%
# In two dimensions the difference is large. With thousands of words there is nearly always some
# direction that separates a class from all others, and one-vs-rest recovers:
# :doc:`/formulations` has figures.
