"""Coefficients in a model file: an array, or the three parts of a CSR matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.io._array_file import damaged
from multimargin.io._atomic import StrPath
from multimargin.models._coef import canonical
from multimargin.models.file._disk_dtype import from_disk, to_disk
from multimargin.models.file._strings import Arrays


def pack_coef(coef: Any, arrays: Arrays, weights: str | None) -> dict[str, Any]:
    if isinstance(coef, np.ndarray):
        dense: NDArray[Any] = coef
        # The order in memory decides the order of summation and so the last bits.
        order = "F" if dense.flags.f_contiguous and not dense.flags.c_contiguous else "C"
        arrays["coef"] = to_disk(dense.T if order == "F" else dense, weights)
        return {"format": "dense", "order": order}
    matrix = canonical(coef)
    n_stored = int(matrix.indptr[-1])
    index = index_type(n_stored, matrix.shape)
    arrays["coef.data"] = to_disk(matrix.data[:n_stored], weights)
    arrays["coef.indices"] = matrix.indices[:n_stored].astype(index, copy=False)
    arrays["coef.indptr"] = matrix.indptr.astype(index, copy=False)
    return {"format": "csr"}


def index_type(stored: int, shape: tuple[int, int]) -> type[np.int32] | type[np.int64]:
    return np.int32 if max(stored, *shape) <= np.iinfo(np.int32).max else np.int64


def csr_of(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], columns: int) -> Any:
    """A CSR matrix of these arrays: the constructor would scan them, and might copy indices."""
    matrix = sp.csr_matrix((len(indptr) - 1, columns), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def unpack_coef(
    path: StrPath, shape: tuple[int, int], about: dict[str, Any], arrays: Arrays, verify: bool
) -> Any:
    if about["format"] == "dense":
        dense = arrays["coef"].T if about["order"] == "F" else arrays["coef"]
        if dense.shape != shape or dense.dtype.kind != "f":
            damaged(path, f"coefficients of shape {dense.shape} instead of {shape}")
        return from_disk(dense)
    if about["format"] != "csr":
        damaged(path, f"coefficients in the unknown format {about['format']!r}")
    data, indices, indptr = (arrays[f"coef.{part}"] for part in ("data", "indices", "indptr"))
    _check_csr(path, shape, data, indices, indptr)
    if verify and indices.size:
        _check_indices(path, shape[1], indices, indptr)
    matrix = csr_of(from_disk(data), indices, indptr, shape[1])
    # To sort or to merge them would write to the map, so scipy is told that they are in order.
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _check_csr(path: StrPath, shape: tuple[int, int], data: Any, indices: Any, indptr: Any) -> None:
    """Check the parts of a CSR matrix without reading all of the file."""
    index = indices.dtype
    if data.dtype.kind != "f" or index != indptr.dtype or index not in (np.int32, np.int64):
        damaged(path, f"sparse parts of types {data.dtype}, {index}, {indptr.dtype}")
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (shape[0] + 1,):
        shapes = f"{data.shape}, {indices.shape}, {indptr.shape}"
        damaged(path, f"sparse parts of shapes {shapes} for {shape}")
    if indptr[0] != 0 or indptr[-1] != data.size or (indptr[1:] < indptr[:-1]).any():
        damaged(path, "the row pointers of the coefficients are out of order")


def _check_indices(path: StrPath, n_columns: int, indices: Any, indptr: Any) -> None:
    if int(indices.min()) < 0 or int(indices.max()) >= n_columns:
        damaged(path, f"a column index of the coefficients is not within 0..{n_columns - 1}")
    rising = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    # Where a new row begins the index may fall. Rows at either end can be empty.
    rising[starts[(starts > 0) & (starts < indices.size)] - 1] = True
    if not rising.all():
        damaged(path, "the column indices of the coefficients are not sorted")
