"""Margins and losses of samples: how far each is from being taken for another class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multimargin.formulations import FORMULATIONS
from multimargin.inspection._labels import native, places_of
from multimargin.inspection._plots import AGAINST, FOR, PLAIN
from multimargin.io._figure_file import axes_or_new
from multimargin.models._label_costs import label_costs
from multimargin.models.label_sets._sets import require_one_label
from multimargin.solvers._label_costs import LabelCosts

# Scores held at a time.
_MOST_AT_A_TIME = 2**22


@dataclass(frozen=True)
class Margins:
    """The margin and the loss of each sample, as `margins` returns them.

    Attributes
    ----------
    margin : ndarray of shape (n_samples,)
        Score of the sample's class less the score of its best rival, as `predict_topk` gives
        them: negative for an error.
    rival : ndarray of shape (n_samples,)
        The best other class.
    score, rival_score : ndarray of shape (n_samples,)
    loss : ndarray of shape (n_samples,)
        Loss by the model's formulation, not yet multiplied by C and weights.
    """

    margin: NDArray[np.float64]
    rival: NDArray[Any]
    score: NDArray[np.float64]
    rival_score: NDArray[np.float64]
    loss: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.margin)

    @property
    def error(self) -> float:
        """Share of samples whose rival is ahead."""
        return float((self.margin < 0).mean())

    def hardest(self, k: int = 10) -> NDArray[np.intp]:
        """Return the places of at most ``k`` samples, the smallest margin first."""
        return np.argsort(self.margin, kind="stable")[:k]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {name: [native(one) for one in column] for name, column in vars(self).items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw a histogram of the margins, on `ax` or a new figure; return the axes."""
        ax = axes_or_new(ax)
        low, high = float(self.margin.min()), float(self.margin.max())
        # With an edge at 0, so that no bar holds both colours.
        width = max(1e-9, (high - low) / 40)
        edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.5)
        wrong = self.margin < 0
        text = f"another class is ahead: {wrong.sum():,}"
        ax.hist(self.margin[wrong], edges, color=AGAINST, label=text)
        ax.hist(self.margin[~wrong], edges, color=FOR, label=f"right: {(~wrong).sum():,}")
        ax.axvline(1, color=PLAIN, linestyle="--", linewidth=1, label="margin 1")
        ax.set(xlabel="margin to the best other class", ylabel="samples")
        ax.legend(frameon=False, fontsize="small")
        return ax

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.margin, [0.1, 0.5, 0.9])
        inside = float(((self.margin >= 0) & (self.margin < 1)).mean())
        return (
            f"{len(self):,} samples: {100 * self.error:.1f} % are nearer to another class, "
            f"{100 * inside:.1f} % are right by a margin below 1\n"
            f"margin {middle:.3f} in the middle, {low:.3f} .. {high:.3f} for the middle 80 %; "
            f"mean loss {self.loss.mean():.4f}"
        )


def margins(model: Any, X: Any, y: ArrayLike) -> Margins:
    """Measure how far samples are from being taken for another class.

    Parameters
    ----------
    model : MulticlassSVC
        Fitted.
    X : array-like of shape (n_samples, n_features), or what the model's `predict` takes
    y : array-like of shape (n_samples,)
        Their labels, all of them classes of the model.

    Returns
    -------
    Margins
        Of the training samples, ``1/2 ||w||^2 + sum(C * weight * loss)`` is `primal_objective_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import margins
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(C=10, tol=1e-6, random_state=0).fit(X, y)
    >>> found = margins(model, X, y)
    >>> int((found.margin < 0).sum()), found.rival[found.hardest(3)].tolist()
    (4, [2, 2, 2])
    """
    features = model._checked(X)
    require_one_label(model, "margins")
    own = _places(model.classes_, np.asarray(y), features.shape[0])
    n = len(own)
    columns = {name: np.empty(n) for name in ("score", "rival_score", "loss")}
    rival = np.empty(n, dtype=np.intp)
    scorer = model._scores()
    costs = label_costs(model.label_cost, model.classes_)
    step = max(1, _MOST_AT_A_TIME // len(model.classes_))
    for begin in range(0, n, step):
        some = slice(begin, min(n, begin + step))
        scores = scorer.scores(features[some], begin).astype(np.float64)
        columns["loss"][some] = _losses(model, scores, own[some], costs)
        at = np.arange(len(scores))
        columns["score"][some] = scores[at, own[some]]
        scores[at, own[some]] = -np.inf
        rival[some] = scores.argmax(axis=1)
        columns["rival_score"][some] = scores.max(axis=1)
    return Margins(
        margin=columns["score"] - columns["rival_score"], rival=model.classes_[rival], **columns
    )


def _places(classes: NDArray[Any], y: NDArray[Any], n_samples: int) -> NDArray[np.intp]:
    if y.shape != (n_samples,):
        raise ValueError(f"y has the shape {y.shape}, but there are {n_samples} samples")
    places = places_of(classes, y)
    if (places < 0).any():
        unknown = native(y[places.argmin()])
        raise ValueError(
            f"y has labels that are no classes of the model, such as {unknown!r}: leave out these "
            "samples, whose margin is not defined"
        )
    return places


def _losses(
    model: Any, scores: NDArray[np.float64], own: NDArray[np.intp], costs: LabelCosts | None
) -> NDArray[np.float64]:
    formulation = FORMULATIONS[model.formulation]
    if formulation.weight_rows(scores.shape[1]) < scores.shape[1]:
        # One binary problem for two classes is the second one's.
        scores, own = scores[:, 1:], own - 1
    asked = 1.0 if costs is None else costs.between(own[:, None], np.arange(scores.shape[1]))
    losses = formulation.losses(formulation.margins(scores, own, asked), model.loss)
    return np.asarray(losses, dtype=np.float64)
