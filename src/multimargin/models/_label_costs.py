"""Costs between labels, from what users give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.models._label_tree import LabelTree
from multimargin.solvers._label_costs import LabelCosts

_FORMS = "None, an array of n_classes x n_classes costs, a sparse matrix of exceptions, or a tree"
_LARGEST = 1e12  # far beyond what single precision has digits for


def label_costs(given: Any, classes: NDArray[Any]) -> LabelCosts | None:
    """The costs between classes; None where all are 1, or a ValueError.

    `given` is the parameter `label_cost` of `MulticlassSVC`.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        given = LabelTree(given)
    if isinstance(given, LabelTree):
        return LabelCosts("tree", given.arrays(classes.tolist()))
    if sp.issparse(given):
        return _exceptions(given, classes)
    return _dense(given, classes)


def _dense(given: Any, classes: NDArray[Any]) -> LabelCosts | None:
    try:
        cost = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"label_cost must be {_FORMS}, got {given!r}") from None
    if cost.ndim != 2:
        raise ValueError(f"label_cost must be {_FORMS}, got {given!r}")
    _check_shape(cost.shape, classes)
    bad = ~((cost >= 0) & (cost <= _LARGEST))
    bad[np.diag_indices_from(bad)] = cost.diagonal() != 0
    if bad.any():
        own, other = np.argwhere(bad)[0]
        _refuse(cost[own, other], classes[own], classes[other])
    if (cost.sum() == cost.size - len(cost)) and np.isin(cost, (0, 1)).all():
        return None
    return LabelCosts("dense", (cost,))


def _exceptions(given: Any, classes: NDArray[Any]) -> LabelCosts | None:
    _check_shape(given.shape, classes)
    cost: Any = sp.csr_matrix(given, dtype=np.float64, copy=True)
    cost.sum_duplicates()
    own = np.repeat(np.arange(len(classes)), np.diff(cost.indptr))
    bad = np.where(
        own == cost.indices, cost.data != 0, ~((cost.data >= 0) & (cost.data <= _LARGEST))
    )
    if bad.any():
        at = int(bad.argmax())
        _refuse(cost.data[at], classes[own[at]], classes[cost.indices[at]])
    if np.all((cost.data == 1) | (own == cost.indices)):
        return None
    whole = (cost.indices.astype(np.int64), cost.indptr.astype(np.int64))
    return LabelCosts("exceptions", (cost.data, *whole))


def _check_shape(shape: tuple[int, ...], classes: NDArray[Any]) -> None:
    if shape != (len(classes),) * 2:
        given = " x ".join(map(str, shape))
        raise ValueError(f"label_cost is {given}, but the samples have {len(classes)} classes")


def _refuse(cost: float, own: Any, other: Any) -> None:
    names = f"{np.array(own).item()!r} and {np.array(other).item()!r}"
    if own == other:
        raise ValueError(f"label_cost must be 0 on the diagonal, got {cost:g} for {names}")
    raise ValueError(
        f"label_cost must hold numbers from 0 to {_LARGEST:g}, got {cost:g} for {names}"
    )
