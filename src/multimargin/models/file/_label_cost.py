"""Costs between labels in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin.io._array_file import ModelFileError, damaged
from multimargin.io._atomic import StrPath
from multimargin.models._label_tree import LabelTree
from multimargin.models.file._params import NotPlainError, decoded, encoded
from multimargin.models.file._strings import Arrays

_PARTS = ("data", "indices", "indptr")


def pack_label_cost(path: StrPath, given: Any, arrays: Arrays) -> dict[str, Any]:
    """Add the parameter `label_cost` to the arrays of a file, and return its metadata."""
    given = LabelTree(given) if isinstance(given, Mapping) else given
    if isinstance(given, LabelTree):
        try:
            return {"kind": "tree", "cost": given.cost, "parents": encoded(given.parents)}
        except NotPlainError:
            text = "nodes of label_cost cannot be saved; texts, numbers and tuples of them can"
            raise ModelFileError(f"{path}: {text}") from None
    if not hasattr(given, "tocsr"):
        arrays["label_cost"] = np.ascontiguousarray(given, dtype=np.float64)
        return {"kind": "array"}
    matrix: Any = given.tocsr().astype(np.float64)
    arrays |= {f"label_cost.{part}": np.asarray(getattr(matrix, part)) for part in _PARTS}
    return {"kind": "exceptions", "classes": matrix.shape[0]}


def unpack_label_cost(path: StrPath, about: dict[str, Any], arrays: Arrays) -> Any:
    """The parameter that `pack_label_cost` was given; a tree for a mapping."""
    try:
        if about["kind"] == "tree":
            return LabelTree(decoded(about["parents"]), about["cost"])
        if about["kind"] == "array":
            return np.array(arrays["label_cost"], dtype=np.float64)
        parts = tuple(np.array(arrays[f"label_cost.{part}"]) for part in _PARTS)
        matrix: Any = sp.csr_matrix(parts, shape=(about["classes"],) * 2)
        matrix.check_format(full_check=True)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        damaged(path, f"label_cost: {error}")
    return matrix
