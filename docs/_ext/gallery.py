"""How the gallery is arranged, and how its figures look."""

from __future__ import annotations

from typing import Any

# From the first fit to the life of a model. What is not named here comes last.
READING_ORDER = (
    "plot_first_fit.py",
    "plot_text.py",
    "plot_embeddings.py",
    "plot_formulations.py",
    "plot_which_formulation.py",
    "plot_path.py",
    "plot_explain.py",
    "plot_calibration.py",
    "plot_support.py",
    "plot_prune.py",
    "plot_update.py",
    "plot_round_robin.py",
    "plot_active_set.py",
)

FIGURES = {
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "lines.linewidth": 2,
    # Okabe and Ito's colours, which colour-blind readers can tell apart.
    "axes.prop_cycle": (
        "cycler('color', ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9'])"
    ),
}


def by_reading_order(name: str) -> tuple[int, str]:
    """Sort key of an example."""
    place = READING_ORDER.index(name) if name in READING_ORDER else len(READING_ORDER)
    return place, name


def reset_figures(_configuration: dict[str, Any], _file: str) -> None:
    """Same look for all figures, so that the examples need not speak of it."""
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.rcdefaults()
    plt.rcParams.update(FIGURES)
