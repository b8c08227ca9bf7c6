"""Costs between labels from files: hierarchies, and lists of costs."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.io._compressed import DataFileError
from multimargin.models._label_tree import LabelTree, lines_of
from multimargin.models._measures import as_class


def tree_of(args: argparse.Namespace) -> LabelTree | None:
    if args.hierarchy is None:
        if args.hierarchy_cost != "distance":
            raise ValueError("--hierarchy-cost needs --hierarchy FILE")
        return None
    if args.label_cost is not None:
        raise ValueError("--hierarchy and --label-cost exclude each other: give one of them")
    return LabelTree.load(args.hierarchy, args.hierarchy_cost)


def label_cost_of(args: argparse.Namespace, classes: NDArray[Any]) -> Any:
    """Return the costs of --hierarchy or --label-cost, as estimators take them; None for none."""
    if args.label_cost is None:
        return tree_of(args)
    name, place = args.label_cost, {label: k for k, label in enumerate(classes.tolist())}
    found: dict[tuple[int, int], float] = {}
    for number, fields in lines_of(name):
        where = f"{name}:{number}"
        if len(fields) != 3:
            raise DataFileError(f"{where}: {' '.join(fields)!r} is not like 'label other cost'")
        pair = [place.get(as_class(label, classes), -1) for label in fields[:2]]
        if -1 in pair:
            raise DataFileError(f"{where}: there is no label {fields[pair.index(-1)]!r}")
        if (pair[0], pair[1]) in found:
            raise DataFileError(f"{where}: a second cost of {fields[0]!r} and {fields[1]!r}")
        try:
            found[pair[0], pair[1]] = float(fields[2])
        except ValueError:
            raise DataFileError(f"{where}: the cost {fields[2]!r} is no number") from None
    if not found:
        raise DataFileError(f"{name}: no line such as 'label other cost'")
    own, other = np.array(list(found)).T
    return sp.csr_matrix((list(found.values()), (own, other)), shape=(len(classes),) * 2)
