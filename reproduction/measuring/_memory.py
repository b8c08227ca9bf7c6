"""Memory: how much a fit would take, and how much the machine has."""

from __future__ import annotations

from multimargin.datasets._catalog import CatalogEntry
from multimargin.io._memory import available

_FLOAT = 4  # bytes
_OVR_ALPHA = 2**31  # bytes of dual variables that one-vs-rest keeps for a time limit, at most
# Measured: 130 on lshtc1-dryrun-task2 at log C = -3, 170 on wordnet-hypernym at -2.
_ACTIVE_PAIR = 200  # bytes
_CANDIDATES = 64  # classes that a sample starts with


def needed(formulation: str, penalty: float, size: CatalogEntry) -> int:
    """Return an upper estimate of the bytes that a fit takes beside the data.

    Lee-Lin-Wahba holds its weights twice in the end, and weights and dual variables in double
    precision; above C = 1 it may turn to Newton steps, with seven more arrays of weights and three
    of dual variables.
    One-vs-rest holds its weights with their places, which takes twice as much, and as an array
    (7.2 GB in all on wordnet-hypernym at log C = -3, four times the weights), and dual variables
    if they are few. Weston-Watkins and Crammer-Singer hold pairs of a sample and a class whose
    dual variable is not zero; in the former a sample's sum to about 1 and none exceeds C, so that
    small C makes many.
    """
    alphas = _FLOAT * size.n_train * size.n_classes
    weights = _FLOAT * size.n_features * size.n_classes
    if formulation == "llw":
        return 4 * weights + 2 * alphas if penalty <= 1 else 18 * weights + 8 * alphas
    if formulation == "ovr":
        return 4 * weights + (alphas if alphas <= _OVR_ALPHA else 0)
    per_sample = _CANDIDATES + (1 / penalty if formulation == "ww" else 0)
    return int(_ACTIVE_PAIR * size.n_train * min(size.n_classes, per_sample))


_USABLE = 0.8  # of the memory


def usable() -> int:
    """Return the bytes that a fit may take here, with room left for others."""
    return int(_USABLE * available())


def gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"
