"""The weights of a model by feature: in memory for one process, in a file for several.

A model file has the weights of a class together, which suits many samples at once. One text needs
the weights of its few words in all classes: by class that is a pass over the whole model, 23 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multimargin._array_file import read_arrays, write_arrays

_KIND = "weights-by-feature"


def columns_of(coef: Any) -> Any:
    """The weights by feature; of a dense model the same memory, seen from the other side."""
    return coef.T if isinstance(coef, np.ndarray) else sp.csc_matrix(coef)


def write_columns(coef: Any, model_path: str, path: Path) -> None:
    """Write sparse weights by feature to a file that several processes can map."""
    columns = columns_of(coef)
    write_arrays(
        path,
        {"kind": _KIND, "shape": list(columns.shape), "model": _identity(model_path)},
        {"data": columns.data, "indices": columns.indices, "indptr": columns.indptr},
        durable=False,
    )


def read_columns(path: str, model_path: str) -> Any:
    """Map what `write_columns` has written; None if the model file is another one by now."""
    meta, arrays = read_arrays(path)
    if meta["model"] != _identity(model_path):
        return None
    columns = sp.csc_matrix(tuple(meta["shape"]), dtype=arrays["data"].dtype)
    # Part by part: the constructor would look at all indices, and sort them, in read-only memory.
    columns.data, columns.indices, columns.indptr = (
        arrays["data"],
        arrays["indices"],
        arrays["indptr"],
    )
    columns.has_sorted_indices = True
    columns.has_canonical_format = True
    return columns


def _identity(path: str) -> list[int]:
    """What changes when a file is replaced."""
    about = os.stat(path)  # noqa: PTH116
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns]
