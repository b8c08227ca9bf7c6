"""Draw bars and confusion matrices with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._figure_file import axes_or_new
from multimargin.io._text_table import elided

if TYPE_CHECKING:
    from multimargin.inspection._confusions import Confusions

# Distinct for every kind of colour vision (Okabe and Ito).
FOR, AGAINST, PLAIN = "#0072b2", "#d55e00", "#5c5c5c"
_NAME = 28  # characters of a name beside a bar
_MOST_IN_MATRIX = 25


def short(label: Any, width: int) -> str:
    # A dollar sign would begin a formula.
    return elided(str(label), width).replace("$", r"\$")


def plot_bars(ax: Any, bars: list[tuple[str, float]], quiet: int = 0) -> Any:
    """Draw bars to both sides of zero with their numbers, the last ``quiet`` of them in grey."""
    ax = axes_or_new(ax, height=1.4 + 0.3 * max(1, len(bars)))
    values = np.array([value for _, value in bars])
    colours = [FOR if value > 0 else AGAINST for value in values]
    colours[len(bars) - quiet :] = [PLAIN] * quiet
    places = np.arange(len(bars))
    drawn = ax.barh(places, values, color=colours)
    ax.set_yticks(places, [short(name, _NAME) for name, _ in bars])
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.8)
    ax.bar_label(drawn, fmt="%+.3f", padding=4, fontsize="small")
    # Room for the numbers beyond the bars.
    reach = float(np.abs(values).max(initial=0)) or 1.0
    low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
    ax.set_xlim(low - 0.25 * reach if low < 0 else -0.05 * reach, high + 0.25 * reach)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_confusions(found: Confusions, labels: Any, ax: Any) -> Any:
    """Draw the confusion matrix of some classes, as fractions of each row's samples."""
    chosen, title = _chosen(found, labels)
    counts = found.matrix(chosen)
    support = np.asarray(found.counts.sum(axis=1)).reshape(-1)[_places(found, chosen)]
    shares = counts / np.maximum(support, 1)[:, None]
    names = [short(label, 24) for label in chosen]
    letters = max(map(len, names))
    side = 1.0 + 0.34 * len(chosen)
    ax = axes_or_new(ax, side + 0.09 * letters + 2.0, side + 0.05 * letters + 0.4)
    image = ax.imshow(shares, cmap="cividis", vmin=0, vmax=1)
    ax.set_xticks(range(len(chosen)), names, rotation=45, ha="right", rotation_mode="anchor")
    rows = [f"{name}  ({n:,})" for name, n in zip(names, support, strict=True)]
    ax.set_yticks(range(len(chosen)), rows)
    ax.tick_params(length=0, labelsize="small")
    centred = {"ha": "center", "va": "center", "fontsize": "x-small"}
    for row, column in zip(*np.nonzero(counts), strict=True):
        colour = "white" if shares[row, column] < 0.5 else "black"
        ax.text(column, row, f"{counts[row, column]:,}", color=colour, **centred)
    ax.set(xlabel="predicted", ylabel="true (samples)")
    ax.set_title(title, fontsize="medium")
    ax.figure.colorbar(image, ax=ax, label="share of the true class", fraction=0.046, pad=0.03)
    return ax


def _places(found: Confusions, labels: list[Any]) -> NDArray[np.intp]:
    return np.searchsorted(found.labels, labels)


def _chosen(found: Confusions, labels: Any) -> tuple[list[Any], str]:
    if labels is None and found.families and found.families[0].n_within:
        labels = found.families[0]
    if hasattr(labels, "parent"):
        chosen, within = list(labels.labels), f"{labels.n_within:,} of {labels.n_errors:,} errors"
        title = f"{short(labels.parent, 40)}: {within} stay in the family"
    elif labels is None:
        if not found.pairs:
            raise ValueError("nothing was confused: name the labels to draw")
        chosen = list(dict.fromkeys(label for pair in found.pairs for label in (pair.a, pair.b)))
        title = "most confused classes"
    else:
        chosen, title = list(labels), ""
    if len(chosen) > _MOST_IN_MATRIX:
        title += f" (the {_MOST_IN_MATRIX} most confused of {len(chosen):,})"
        # Sparse: a family may have thousands of classes.
        places = _places(found, chosen)
        block = found.counts[places][:, places]
        wrong = np.asarray(block.sum(axis=0)).reshape(-1) + np.asarray(block.sum(axis=1)).reshape(
            -1
        )
        order = np.argsort(2 * block.diagonal() - wrong, kind="stable")
        chosen = [chosen[i] for i in np.sort(order[:_MOST_IN_MATRIX])]
    return chosen, title
