"""
Probabilities that can be relied on
===================================

Scores of a support vector machine are no probabilities. ``calibrate`` learns from held-out samples
how scores become probabilities, and ``calibration_report`` shows how far they can be relied on.
"""

# %%
# Definitions of WordNet, of kinds with thirty or more; a tenth of them is held out.

import matplotlib.pyplot as plt
import numpy as np

from multimargin import Calibration, MulticlassSVC
from multimargin.datasets import load_wordnet_tfidf
from multimargin.inspection import calibration_report, coverage_report

data = load_wordnet_tfidf()
kinds, sizes = np.unique(data.y_train, return_counts=True)
large = kinds[sizes >= 30]
train, test = np.isin(data.y_train, large), np.isin(data.y_test, large)
X, y = data.X_train[train], data.y_train[train]
held_out = np.random.default_rng(0).random(len(y)) < 0.1
model = MulticlassSVC("ww", fit_intercept=False, random_state=0).fit(X[~held_out], y[~held_out])

# %%
# A softmax of the scores, as they are, is far too unsure. One temperature mends some of it; with a
# curvature and a floor, which are learnt where they pay, probabilities are what they say.

X_test, y_test = data.X_test[test], data.y_test[test]
model.calibration_ = Calibration(temperature=1.0)
reports = {"softmax": calibration_report(model, X_test, y_test)}
model.calibrate(X[held_out], y[held_out], method="temperature")
reports["temperature"] = calibration_report(model, X_test, y_test)
model.calibrate(X[held_out], y[held_out])
reports["calibrate"] = calibration_report(model, X_test, y_test)
for name, report in reports.items():
    print(f"{name:12} log-loss {report.log_loss:.3f}  error {report.calibration_error:.3f}")

# %%
# The surer the model is, the more often it is right. Whoever answers half of the samples, the
# surest ones, and sends the others to a person, knows how many of the answers will be right.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
reports["softmax"].plot(axes[0])
reports["calibrate"].plot(axes[1])
for ax, name in zip(axes, ("softmax", "calibrate"), strict=False):
    ax.set_title(f"{name}\n{ax.get_title()}", fontsize="medium")
reports["calibrate"].plot_coverage(axes[2])
plt.show()

# %%
# Probabilities come with the best classes, without an array of samples x classes.

labels, scores, probabilities = model.predict_topk(X_test[:3], k=3, proba=True)
for row in zip(labels, probabilities, strict=True):
    print("   ".join(f"{label} {share:.0%}" for label, share in zip(*row, strict=True)))
print(reports["calibrate"])

# %%
# Or it gives as few labels as are needed to have the right one among them, eight times in ten.

sets = model.predict_set(X_test, coverage=0.8)
for i in np.flatnonzero(sets.sizes > 1)[:3]:
    print(", ".join(sets[i]))
print(coverage_report(model, X_test, y_test, coverage=0.8))
