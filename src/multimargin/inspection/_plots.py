"""Draw explanations, weights, margins and errors with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._figure_file import axes_or_new
from multimargin.io._text_table import elided

if TYPE_CHECKING:
    from multimargin.inspection._class_report import ClassReport
    from multimargin.inspection._confusions import Confusions
    from multimargin.inspection._explanation import Explanation
    from multimargin.inspection._margins import Margins
    from multimargin.inspection._top_features import TopFeatures

# Distinct for every kind of colour vision (Okabe and Ito).
_FOR, _AGAINST, _PLAIN = "#0072b2", "#d55e00", "#5c5c5c"
_NAME = 28  # characters of a name beside a bar
_MOST_IN_MATRIX = 25
_FEWEST_IN_A_MEAN = 5


def plot_explanation(explanation: Explanation, ax: Any = None) -> Any:
    """Draw contributions as bars, the largest on top, the rest and the intercept below."""
    bars = [(c.feature, c.contribution) for c in explanation.contributions]
    if explanation.n_rest:
        bars.append((f"{explanation.n_rest:,} other features", explanation.rest))
    bars.append(("intercept", explanation.intercept))
    ax = _axes(ax, height=1.4 + 0.3 * len(bars))
    _bars(ax, bars, quiet=len(bars) - len(explanation.contributions))
    ax.set_xlabel(
        f"for {_short(explanation.runner_up, 18)}  ←  contribution  →  "
        f"for {_short(explanation.label, 18)}",
        fontsize="small",
    )
    ax.set_title(
        f"{_short(explanation.label, 40)}, {explanation.standing} "
        f"{_short(explanation.runner_up, 40)} by {abs(explanation.difference):.3f}",
        fontsize="medium",
        wrap=True,
    )
    return ax


def plot_top_features(features: TopFeatures, ax: Any = None) -> Any:
    """Draw weights as bars, the largest on top and the most negative at the bottom."""
    bars = [*features.positive, *reversed(features.negative)]
    ax = _axes(ax, height=1.4 + 0.3 * max(1, len(bars)))
    _bars(ax, bars)
    ax.set_xlabel("weight")
    ax.set_title(_short(features.label, 60), fontsize="medium")
    return ax


def plot_margins(margins: Margins, ax: Any = None) -> Any:
    """Draw a histogram of the margins, errors in another colour."""
    ax = _axes(ax)
    values = margins.margin
    low, high = float(values.min()), float(values.max())
    # With an edge at 0, so that no bar holds both colours.
    width = max(1e-9, (high - low) / 40)
    edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.5)
    wrong = values < 0
    ax.hist(values[wrong], edges, color=_AGAINST, label=f"another class is ahead: {wrong.sum():,}")
    ax.hist(values[~wrong], edges, color=_FOR, label=f"right: {(~wrong).sum():,}")
    ax.axvline(1, color=_PLAIN, linestyle="--", linewidth=1, label="margin 1")
    ax.set_xlabel("margin to the best other class")
    ax.set_ylabel("samples")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_class_report(report: ClassReport, ax: Any = None) -> Any:
    """Draw F1 over support, a dot for each class, darker where classes coincide."""
    ax = _axes(ax)
    met = report.support > 0
    support, f1 = report.support[met], report.f1[met]
    # Supports are whole numbers and F1 of few samples has few values: spread coinciding dots.
    random = np.random.default_rng(0)
    spread = np.exp(random.uniform(-0.06, 0.06, len(support)) * (len(support) > 100))
    alpha = float(np.clip(30 / np.sqrt(max(1, len(support))), 0.08, 0.8))
    ax.scatter(support * spread, f1, s=14, color=_FOR, alpha=alpha, linewidths=0)
    sizes, means = _running_mean(support, f1)
    if len(sizes) > 1:
        ax.plot(
            sizes, means, color=_AGAINST, linewidth=2, label="mean of classes of about this size"
        )
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    ax.set_xlim(support.min() / 1.25, support.max() * 1.25)
    if support.max() >= 10 * support.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("samples of the class")
    ax.set_ylabel("F1")
    ax.set_title(
        f"accuracy {report.accuracy:.3f}, macro-F1 {report.macro_f1:.3f}", fontsize="medium"
    )
    return ax


def plot_confusions(found: Confusions, labels: Any = None, ax: Any = None) -> Any:
    """Draw the confusion matrix of some classes, as fractions of each row's samples."""
    chosen, title = _chosen(found, labels)
    counts = found.matrix(chosen)
    support = np.array([_support(found, label) for label in chosen])
    shares = counts / np.maximum(support, 1)[:, None]
    names = [_short(label, 24) for label in chosen]
    letters = max(map(len, names))
    side = 1.0 + 0.34 * len(chosen)
    ax = _axes(ax, height=side + 0.05 * letters + 0.4, width=side + 0.09 * letters + 2.0)
    image = ax.imshow(shares, cmap="cividis", vmin=0, vmax=1)
    ax.set_xticks(range(len(chosen)), names, rotation=45, ha="right", rotation_mode="anchor")
    rows = [f"{name}  ({n:,})" for name, n in zip(names, support, strict=True)]
    ax.set_yticks(range(len(chosen)), rows)
    ax.tick_params(length=0, labelsize="small")
    for row, column in zip(*np.nonzero(counts), strict=True):
        dark = shares[row, column] < 0.5
        ax.text(
            column,
            row,
            f"{counts[row, column]:,}",
            ha="center",
            va="center",
            fontsize="x-small",
            color="white" if dark else "black",
        )
    ax.set_xlabel("predicted")
    ax.set_ylabel("true (samples)")
    ax.set_title(title, fontsize="medium")
    ax.figure.colorbar(image, ax=ax, label="share of the true class", fraction=0.046, pad=0.03)
    return ax


# ---------------------------------------------------------------- parts


def _axes(ax: Any, *, height: float = 4.0, width: float = 6.4) -> Any:
    return axes_or_new(ax, width, height)


def _bars(ax: Any, bars: list[tuple[str, float]], quiet: int = 0) -> None:
    """Draw bars to both sides of zero with their numbers, the last ``quiet`` of them in grey."""
    values = np.array([value for _, value in bars])
    colours = [_FOR if value > 0 else _AGAINST for value in values]
    colours[len(bars) - quiet :] = [_PLAIN] * quiet
    places = np.arange(len(bars))
    ax.barh(places, values, color=colours)
    ax.set_yticks(places, [_short(name, _NAME) for name, _ in bars])
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.8)
    for place, value in zip(places, values, strict=True):
        ax.annotate(
            f"{value:+.3f}",
            (value, place),
            xytext=(4 if value >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize="small",
        )
    # Room for the numbers beyond the bars.
    reach = float(np.abs(values).max(initial=0)) or 1.0
    low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
    ax.set_xlim(low - 0.25 * reach if low < 0 else -0.05 * reach, high + 0.25 * reach)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _chosen(found: Confusions, labels: Any) -> tuple[list[Any], str]:
    """Return the classes to draw, and a title."""
    family = labels if hasattr(labels, "parent") else None
    if labels is None and found.families and found.families[0].n_within:
        family = found.families[0]
    if family is not None:
        chosen = list(family.labels)
        title = f"{_short(family.parent, 40)}: {family.n_within:,} of {family.n_errors:,} errors"
        title += " stay in the family"
    elif labels is None:
        if not found.pairs:
            raise ValueError("nothing was confused: name the labels to draw")
        chosen = list(dict.fromkeys(label for pair in found.pairs for label in (pair.a, pair.b)))
        title = "most confused classes"
    else:
        chosen, title = list(labels), ""
    if len(chosen) > _MOST_IN_MATRIX:
        kept = set(_most_confused(found, chosen))
        title += f" (the {_MOST_IN_MATRIX} most confused of {len(chosen):,})"
        chosen = [label for label in chosen if label in kept]
    return chosen, title


def _most_confused(found: Confusions, labels: list[Any]) -> list[Any]:
    # Sparse: a family may have thousands of classes.
    places = np.searchsorted(found.labels, labels)
    block = found.counts[places][:, places]
    wrong: NDArray[Any] = (
        np.asarray(block.sum(axis=0)).reshape(-1)
        + np.asarray(block.sum(axis=1)).reshape(-1)
        - 2 * block.diagonal()
    )
    return [labels[i] for i in np.argsort(-wrong, kind="stable")[:_MOST_IN_MATRIX]]


def _support(found: Confusions, label: Any) -> int:
    place = int(np.searchsorted(found.labels, label))
    return int(found.counts[[place]].sum())


def _running_mean(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return means of points of about the same ``x``, two to a doubling, none of few points."""
    part = np.floor(2 * np.log2(x)).astype(np.intp)
    count = np.bincount(part)
    many = count >= _FEWEST_IN_A_MEAN
    middle = np.exp(np.bincount(part, np.log(x))[many] / count[many])
    return middle, np.bincount(part, y)[many] / count[many]


def _short(label: Any, width: int = 24) -> str:
    # A dollar sign would begin a formula.
    return elided(str(label), width).replace("$", r"\$")
