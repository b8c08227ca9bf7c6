"""LIBSVM text of which each host reads and keeps a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.distributed._host_pool import solving_ranks
from multimargin.io._svmlight import NO_EXAMPLES, DataFileError
from multimargin.parallel._collectives import allgather_value, broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._divided_rows import DividedRows, divided_rows, rows_elsewhere


def load_divided(
    path: str, comm: Communicator, read: Callable[[int, int], tuple[Any, NDArray[Any]]]
) -> tuple[DividedRows, NDArray[Any]] | None:
    """Read a part of a file per host; None where there is one host. Called by all ranks.

    ``read(k, p)`` returns part k of p.
    """
    solving, host = solving_ranks(comm), comm.host
    size = 0 if solving is None else solving.size
    hosts = int(comm.allreduce(np.array([size]), "max")[0])
    if hosts == 1:
        return None
    _core.give_memory_back()
    with raise_on_all(comm):
        part = None if solving is None else read(solving.rank, hosts)
    X: Any = None
    names: Any = None
    codes: Any = None
    if solving is not None and part is not None:
        X = divided_rows(part[0], solving)
        names, codes = _labels(path, part[1], solving)
    if solving is not comm:  # the others of a host know of the samples what is small
        told = None if X is None else [names, X.shape[1], X.dtype.str]
        names, columns, dtype = broadcast_value(host, told)
        starts, codes = host.broadcast(None if X is None else [X.starts, codes])
        X = rows_elsewhere(starts, columns, dtype) if X is None else X
    return X, np.asarray(names)[codes]


def _labels(path: str, y: NDArray[Any], comm: Communicator) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the labels that there are, and the place of each sample's among them."""
    mine, codes = np.unique(y, return_inverse=True)
    given = allgather_value(comm, mine.tolist())
    names = {name for each in given for name in each}
    if not names:
        raise DataFileError(NO_EXAMPLES.format(path))
    if len({type(name) for name in names}) > 1:
        raise DataFileError(
            f"{path}: some labels are whole numbers and others are not, which a part of the file "
            "does not show: give all of them names"
        )
    union = sorted(names)
    place = np.searchsorted(np.asarray(union), mine) if len(mine) else codes
    parts = comm.allgather([place[codes].astype(np.int64)])
    return union, np.concatenate([part for (part,) in parts])
