"""The weights of a model by feature: in memory for one process, in a file for several.

A model file has the weights of a class together, which suits many samples at once. One text needs
the weights of its few words in all classes: by class that is a pass over the whole model, 12 ms for
the 12,582 classes of the demo; by feature it is some thousand numbers, 0.2 ms.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin._array_file import read_arrays, write_arrays

_KIND = "weights-by-feature"


class Columns(NamedTuple):
    """Sparse weights by feature: those of feature j are ``weights[starts[j]:starts[j + 1]]``."""

    outputs: NDArray[np.intp]
    weights: NDArray[Any]
    starts: NDArray[np.intp]


def columns_of(coef: Any) -> Columns:
    """The weights of a sparse matrix of shape (n_outputs, n_features) by feature."""
    matrix = sp.csc_matrix(coef)
    # In the type that NumPy indexes with: any other is converted at every use.
    return Columns(matrix.indices.astype(np.intp), matrix.data, matrix.indptr.astype(np.intp))


def write_columns(coef: Any, model_path: str, path: Path) -> None:
    """Write sparse weights by feature to a file that several processes can map."""
    meta = {"kind": _KIND, "model": _identity(model_path)}
    write_arrays(path, meta, columns_of(coef)._asdict(), durable=False)


def read_columns(path: str, model_path: str) -> Columns | None:
    """Map what `write_columns` has written; None if the model file is another one by now."""
    meta, arrays = read_arrays(path)
    if meta["model"] != _identity(model_path):
        return None
    return Columns(*(arrays[name] for name in Columns._fields))


def _identity(path: str) -> list[int]:
    """What changes when a file is replaced."""
    about = os.stat(path)  # noqa: PTH116
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns]
