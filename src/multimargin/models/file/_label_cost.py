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
    if not sp.issparse(given):
        arrays[_COST] = np.ascontiguousarray(given, dtype=np.float64)
        return {"kind": "array"}
    matrix: Any = sp.csr_matrix(given, dtype=np.float64)
    for part in _PARTS:
        arrays[f"{_COST}.{part}"] = np.asarray(getattr(matrix, part))
    return {"kind": "exceptions", "classes": matrix.shape[0]}


def _pack_tree(path: StrPath, tree: LabelTree, arrays: Arrays) -> dict[str, Any]:
    nodes = tree.nodes
    place = {node: k for k, node in enumerate(nodes)}
    kinds = {str if isinstance(node, str) else int for node in nodes if _is_plain(node)}
    if not all(map(_is_plain, nodes)):
        bad = next(node for node in nodes if not _is_plain(node))
        raise ModelFileError(
            f"{os.fspath(path)}: the tree of label_cost has the node {bad!r}, which cannot be "
            "saved; nodes that are texts or whole numbers can"
        )
    # Labels are looked up as texts, too, where the nodes are of both kinds.
    named = np.array(nodes if kinds == {int} else list(map(str, nodes)))
    about = pack_labels(path, _NODES, named, arrays)
    arrays[_PARENTS] = np.array(
        [place.get(tree.parents.get(node), -1) for node in nodes], dtype=np.int64
    )
    return {"kind": "tree", "cost": tree.cost, "nodes": about}


def _is_plain(node: Any) -> bool:
    return isinstance(node, str | int | np.integer) and not isinstance(node, bool)


def unpack_label_cost(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    """The parameter that `pack_label_cost` was given; a tree for a mapping."""
    try:
        if about["kind"] == "array":
            return np.array(arrays[_COST], dtype=np.float64)
        if about["kind"] == "exceptions":
            parts = tuple(np.array(arrays[f"{_COST}.{part}"]) for part in _PARTS)
            matrix = sp.csr_matrix(parts, shape=(about["classes"],) * 2)
            matrix.check_format(full_check=True)
            return matrix
        if about["kind"] == "tree":
            nodes = unpack_labels(path, _NODES, about["nodes"], arrays).tolist()
            named = [*nodes, None]
            places = np.array(arrays[_PARENTS])
            if places.shape != (len(nodes),) or not np.all((places >= -1) & (places < len(nodes))):
                damaged(path, "the parents of label_cost are no nodes")
            parents = zip(nodes, places.tolist(), strict=True)
            return LabelTree(((node, named[at]) for node, at in parents), about["cost"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        damaged(path, f"label_cost: {error}")
    damaged(path, f"label_cost of the unknown kind {about['kind']!r}")
