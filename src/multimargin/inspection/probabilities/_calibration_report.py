"""How far the probabilities of a model can be relied on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multimargin.inspection._labels import known_places
from multimargin.inspection._plots import AGAINST, FOR
from multimargin.io._figure_file import axes_or_new
from multimargin.io._text_table import text_table
from multimargin.models.probabilities._softmax import SUM

_BINS = 15
_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def calibration_report(model: Any, X: Any, y: ArrayLike) -> CalibrationReport:
    """Compare the probabilities of a calibrated model with what is true.

    Parameters
    ----------
    model : MulticlassSVC
        After `calibrate`, or fitted with `calibration`.
    X : samples, as `model.predict` takes them
        No array of samples x classes is made.
    y : array-like of shape (n_samples,)
        Their labels. One that the model does not know counts as an error; the log-loss, which
        would be infinite, leaves it out.

    Returns
    -------
    CalibrationReport

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import calibration_report
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0, calibration="cv").fit(X[:900] / 16, y[:900])
    >>> report = calibration_report(model, X[900:] / 16, y[900:])
    >>> report.calibration_error < 0.05, report.accuracy_of(0.5) > report.accuracy_of(1.0)
    (True, True)
    """
    if not hasattr(model, "calibration_"):
        raise ValueError("the model is not calibrated: calibrate(X, y), or fit with calibration=")
    made, n_classes = model.calibration_, len(model.classes_)
    X, y = model._checked(X), np.asarray(y)
    if len(y) != X.shape[0]:
        raise ValueError(f"there are {X.shape[0]} samples but {len(y)} labels")
    own = known_places(model.classes_, y)
    scores, shape, known = model._scores(), made.shape, own >= 0
    best, top, _ = scores.top_with_sums(X, 1, shape)
    sums, own_score = scores.sums(X, own, shape)
    own_score[~known] = 0
    logs = made.logs_of_some(own_score[:, None], sums, n_classes)[:, 0]
    # Squares of e are those of twice the inverse temperature.
    twice, _ = scores.sums(X, own, shape._replace(beta=2 * shape.beta))
    even = made.floor / n_classes
    squares = (1 - made.floor) ** 2 * twice[:, SUM] / sums[:, SUM] ** 2
    squares += even * (2 * (1 - made.floor) + made.floor)
    confidence = made.of_some(top, sums, n_classes)[:, 0]
    hit = best[:, 0] == own
    bins = np.minimum((confidence * _BINS).astype(np.intp), _BINS - 1)
    count = np.bincount(bins, minlength=_BINS)
    with np.errstate(invalid="ignore"):
        mean, accuracy = (np.bincount(bins, each, _BINS) / count for each in (confidence, hit))
    order = np.argsort(-confidence, kind="stable")
    last = np.maximum(1, np.round(np.array(_SHARES) * len(order))).astype(np.intp) - 1
    return CalibrationReport(
        n_samples=len(own),
        log_loss=-float(logs[known].mean()) if known.any() else float("nan"),
        brier=float((squares + 1 - np.where(known, 2 * np.exp(logs), 0)).mean()),
        calibration_error=float(np.nansum(count * np.abs(mean - accuracy)) / len(own)),
        count=count,
        confidence=mean,
        accuracy=accuracy,
        share=np.array(_SHARES),
        least=confidence[order][last],
        share_accuracy=(np.cumsum(hit[order]) / np.arange(1, len(own) + 1))[last],
    )


@dataclass(frozen=True)
class CalibrationReport:
    """Probabilities of a model next to what is true: `calibration_report`.

    Attributes
    ----------
    n_samples : int
    log_loss : float
        Mean of minus the logarithm of the probability of the true label.
    brier : float
        Mean sum over all classes of the squared difference between the probability and 1 for the
        true class, 0 for others. From 0 to 2.
    calibration_error : float
        Mean difference between the probability of the predicted class and how often it is right, in
        15 bins of equal width.
    count, confidence, accuracy : ndarray of shape (15,)
        Samples in each bin, the mean probability of their predicted classes, and the share that is
        right; NaN in bins without samples.
    share, least, share_accuracy : ndarray of shape (11,)
        Of this share of the samples, the surest, the smallest probability of the predicted class,
        and the share that is right: what is left when the others go to a person.
    """

    n_samples: int
    log_loss: float
    brier: float
    calibration_error: float
    count: NDArray[np.intp]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    share: NDArray[np.float64]
    least: NDArray[np.float64]
    share_accuracy: NDArray[np.float64]

    def accuracy_of(self, share: float) -> float:
        """Return the accuracy of the surest share of the samples, between those that are known."""
        return float(np.interp(share, self.share[::-1], self.share_accuracy[::-1]))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        met = self.count > 0
        bins = (self.count[met], self.confidence[met], self.accuracy[met])
        surest = (self.share, self.least, self.share_accuracy)
        return {
            "log_loss": self.log_loss,
            "brier": self.brier,
            "calibration_error": self.calibration_error,
            "reliability": table_rows(("samples", "probability", "accuracy"), bins),
            "coverage": table_rows(("share", "probability", "accuracy"), surest),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy over probability on `ax` or a new figure; return the axes."""
        ax = axes_or_new(ax)
        met = self.count > 0
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
        sizes = 12 + 240 * self.count[met] / self.count.max()
        ax.plot(self.confidence[met], self.accuracy[met], color=FOR, alpha=0.4)
        ax.scatter(self.confidence[met], self.accuracy[met], s=sizes, color=FOR, alpha=0.7)
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
        title = f"calibration error {self.calibration_error:.3f}, log-loss {self.log_loss:.3f}"
        ax.set_title(title, fontsize="medium")
        return ax

    def plot_coverage(self, ax: Any = None) -> Any:
        """Draw accuracy over the share of samples that is answered; return the axes."""
        ax = axes_or_new(ax)
        ax.plot(self.share, self.share_accuracy, color=FOR, marker="o", label="right")
        ax.plot(self.share, self.least, color=AGAINST, label="least probability")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="share of the samples, the surest")
        ax.legend(frameon=False, fontsize="small", loc="lower left")
        ax.set_title("accuracy over coverage", fontsize="medium")
        return ax

    def __str__(self) -> str:
        rows = [
            [f"{100 * row['share']:.0f} %", f"{row['probability']:.4f}", f"{row['accuracy']:.4f}"]
            for row in self.as_dict()["coverage"]
        ]
        table = text_table(["surest", "probability at least", "accuracy"], rows, left=())
        return (
            f"{table}\nlog-loss {self.log_loss:.4f}, Brier score {self.brier:.4f}, calibration "
            f"error {self.calibration_error:.4f} of {self.n_samples:,} samples"
        )


def table_rows(names: tuple[str, ...], columns: tuple[NDArray[Any], ...]) -> list[dict[str, Any]]:
    cells = zip(*(column.tolist() for column in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in cells]
