"""
The active set
==============

With 12,582 classes a sample has 12,581 dual variables. At the optimum nearly all of them are zero:
a definition of a dog is never mistaken for a chemical. The solver keeps the few that matter, the
*active set*, works on them, and now and then scans everything for what it has overlooked.
"""

# %%
# A problem of middle size, with a hierarchy: eight siblings share most of their words.
# ``warm_start=True`` keeps the dual variables after the fit.

import matplotlib.pyplot as plt
import numpy as np

from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text
from multimargin.inspection import support_set

X, y = make_hierarchical_text(3000, 4000, 240, random_state=0)
model = MulticlassSVC("ww", tol=1e-3, fit_intercept=False, warm_start=True, random_state=0)
model.fit(X, y)

pairs = X.shape[0] * (len(model.classes_) - 1)
print(f"{pairs:,} dual variables")
for scan in model.history_:
    print(
        f"after {scan['passes']:3} passes: {scan['active']:7,} pairs are active "
        f"({scan['active'] / pairs:.1%}), gap {scan['gap']:.2%}"
    )

# %%
# Which classes hold a sample? Each dot is a sample (sorted by its class) and another class whose
# dual variable is not zero. Most are near the diagonal: siblings, which the generator numbers one
# after the other.

held_by = support_set(model, y, tol=0)
own, other = held_by.label, held_by.against

figure, (dots, counts) = plt.subplots(1, 2, figsize=(10, 4.6))
dots.scatter(other, own, s=1.5, alpha=0.35, linewidth=0)
dots.set(
    xlabel="class that competes",
    ylabel="class of the sample",
    title="Dual variables that are not zero",
    xlim=(0, 240),
    ylim=(240, 0),
)
per_sample = np.bincount(held_by.sample, minlength=len(y))
counts.hist(per_sample, bins=np.arange(per_sample.max() + 2) - 0.5, color="C2")
counts.axvline(per_sample.mean(), color="black", linestyle=":")
counts.annotate(
    f" mean {per_sample.mean():.1f} of {len(model.classes_) - 1}",
    (per_sample.mean(), 0.95),
    xycoords=("data", "axes fraction"),
)
counts.set(xlabel="competing classes of a sample", ylabel="samples", title="A sample leans on few")
plt.show()
