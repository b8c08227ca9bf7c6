"""Model files of which each rank writes its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.distributed._parallel_file import Piece, write_arrays_together
from multimargin.distributed._rows import OwnedRows
from multimargin.io._atomic import StrPath
from multimargin.models._coef import canonical
from multimargin.models.file._coef import index_type
from multimargin.models.file._content import metadata, pack_names
from multimargin.models.file._disk_dtype import check_disk_dtype, to_disk
from multimargin.models.file._strings import Arrays
from multimargin.parallel._collectives import allgather_value, raise_on_all
from multimargin.parallel._communicator import Communicator


def save_owned(
    model: Any,
    owned: OwnedRows,
    path: StrPath,
    comm: Communicator,
    preprocessing: Mapping[str, Any] | None,
    weights: str | None,
) -> None:
    """Write the file that `multimargin.save_model` writes for the whole model; called by all ranks.

    The model has no coefficients and is the same on all ranks; `owned` are this rank's rows.
    """
    check_disk_dtype(weights)
    meta = metadata(model, preprocessing, weights)
    begin, _ = owned.range_of(comm.rank)
    if sp.issparse(owned.coef):
        meta["coef"] = {"format": "csr"}
        pieces = _csr_pieces(owned, begin, comm, weights)
    else:
        meta["coef"] = {"format": "dense", "order": "C"}
        columns = owned.coef.shape[1]
        with raise_on_all(comm):
            kept = to_disk(owned.coef, weights)
        pieces = {"coef": _piece((owned.rows, columns), begin * columns, kept)}
    pieces["intercept"] = _piece((owned.rows,), begin, owned.intercept)
    names: Arrays = {}
    pack_names(path, model, meta, names)
    for name, array in names.items():  # few, and known to all: rank 0 writes them
        pieces[name] = _piece(array.shape, 0, array if comm.rank == 0 else array[:0])
    write_arrays_together(comm, path, meta, pieces)


def _piece(shape: tuple[int, ...], begin: int, data: NDArray[Any]) -> Piece:
    return Piece(data.dtype, shape, begin, data)


def _csr_pieces(
    owned: OwnedRows, begin: int, comm: Communicator, weights: str | None
) -> dict[str, Piece]:
    matrix = canonical(owned.coef)
    own = int(matrix.indptr[-1])
    with raise_on_all(comm):
        data = to_disk(matrix.data[:own], weights)
    counts = allgather_value(comm, own)
    before, total = sum(counts[: comm.rank]), sum(counts)
    index = index_type(total, (owned.rows, matrix.shape[1]))
    starts = matrix.indptr[:-1].astype(np.int64) + before
    if comm.rank == comm.size - 1:  # behind the last row
        starts = np.append(starts, total)
    return {
        "coef.data": _piece((total,), before, data),
        "coef.indices": _piece((total,), before, matrix.indices[:own].astype(index, copy=False)),
        "coef.indptr": _piece((owned.rows + 1,), begin, starts.astype(index, copy=False)),
    }
