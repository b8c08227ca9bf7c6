"""Costs between labels in a model file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin.io._array_file import ModelFileError, damaged
from multimargin.io._atomic import StrPath
from multimargin.models._label_tree import LabelTree
from multimargin.models.file._strings import Arrays, pack_labels, unpack_labels

_NODES, _PARENTS, _COST = "label_tree.nodes", "label_tree.parents", "label_cost"
_PARTS = ("data", "indices", "indptr")


def pack_label_cost(path: StrPath, given: Any, arrays: Arrays) -> dict[str, Any]:
    """Add the parameter `label_cost` to the arrays of a file, and return its metadata."""
    if isinstance(given, Mapping):
        given = LabelTree(given)
    if isinstance(given, LabelTree):
        return _pack_tree(path, given, arrays)
    if not hasattr(given, "tocsr"):
        arrays[_COST] = np.ascontiguousarray(given, dtype=np.float64)
        return {"kind": "array"}
    matrix: Any = given.tocsr().astype(np.float64)
    for part in _PARTS:
        arrays[f"{_COST}.{part}"] = np.asarray(getattr(matrix, part))
    return {"kind": "exceptions", "classes": matrix.shape[0]}


def _pack_tree(path: StrPath, tree: LabelTree, arrays: Arrays) -> dict[str, Any]:
    nodes = list(tree.parents)
    place = {node: k for k, node in enumerate(nodes)}
    for node in nodes:
        if not isinstance(node, str | int | np.integer):
            raise ModelFileError(
                f"{os.fspath(path)}: the tree of label_cost has the node {node!r}, which cannot be "
                "saved; nodes that are texts or whole numbers can"
            )
    # Labels are looked up as texts, too, where the nodes are of both kinds.
    texts = any(isinstance(node, str) for node in nodes)
    named = np.array(list(map(str, nodes)) if texts else nodes)
    about = pack_labels(path, _NODES, named, arrays)
    arrays[_PARENTS] = np.array(
        [place.get(parent, -1) for parent in tree.parents.values()], dtype=np.int64
    )
    return {"kind": "tree", "cost": tree.cost, "nodes": about}


def unpack_label_cost(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    """The parameter that `pack_label_cost` was given; a tree for a mapping."""
    unpack = {"array": _array, "exceptions": _exceptions, "tree": _tree}.get(str(about.get("kind")))
    if unpack is None:
        damaged(path, f"label_cost of the unknown kind {about.get('kind')!r}")
    try:
        return unpack(path, about, arrays)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        damaged(path, f"label_cost: {error}")


def _array(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    return np.array(arrays[_COST], dtype=np.float64)


def _exceptions(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    parts = tuple(np.array(arrays[f"{_COST}.{part}"]) for part in _PARTS)
    matrix: Any = sp.csr_matrix(parts, shape=(about["classes"],) * 2)
    matrix.check_format(full_check=True)
    return matrix


def _tree(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    nodes = unpack_labels(path, _NODES, about["nodes"], arrays).tolist()
    place = np.array(arrays[_PARENTS])
    if place.shape != (len(nodes),) or not np.all((place >= -1) & (place < len(nodes))):
        damaged(path, "the parents of label_cost are no nodes")
    named = [*nodes, None]  # -1: none
    return LabelTree(zip(nodes, (named[k] for k in place.tolist()), strict=True), about["cost"])
