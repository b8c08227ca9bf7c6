"""LIBSVM text of which each host reads its part."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.distributed._host_pool import solving_ranks
from multimargin.io._compressed import MAGIC_BYTES, compression
from multimargin.io._svmlight import NO_EXAMPLES, DataFileError, parse_part
from multimargin.parallel._collectives import allgather_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._divided_rows import DividedRows, divided_rows, rows_elsewhere


def load_divided(
    path: str, comm: Communicator, scale: Any, **options: Any
) -> tuple[DividedRows, NDArray[Any]] | None:
    """Read a part of the file per host; None where there is one host. Called by all ranks.

    The `options` are of `parse_part`; ``scale(X)`` treats the rows that were read.
    """
    solving = solving_ranks(comm)
    hosts = int(comm.allreduce(np.array([0 if solving is None else solving.size]), "max")[0])
    if hosts == 1:
        return None
    part: Any = None
    with raise_on_all(comm):
        if solving is not None:
            part = _read(path, solving.rank, hosts, options)
            part = scale(part[0]), part[1]
    if solving is not None:
        X = divided_rows(part[0], solving)
        names, codes = _labels(path, part[1], solving)
        told = [X.starts, np.array([X.shape[1]]), codes]
    if solving is not comm:  # those who sleep know of the samples what is small
        host = comm.host
        told = host.broadcast(told if host.rank == 0 else None)
        names = allgather_value(host, names if host.rank == 0 else None)[0]
        if host.rank > 0:
            X = rows_elsewhere(told[0], int(told[1][0]), options["dtype"])
    return X, np.asarray(names)[told[2]]


def _read(path: str, rank: int, ranks: int, options: dict[str, Any]) -> tuple[Any, NDArray[Any]]:
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if compression(path, file.read(MAGIC_BYTES)) is not None:
            raise DataFileError(f"{path}: hosts cannot read parts of a compressed file: unpack it")
        if size == 0:
            raise DataFileError(NO_EXAMPLES.format(path))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            begin, end = (_line_from(text, size * k // ranks) for k in (rank, rank + 1))
            with memoryview(text)[begin:end] as some:
                return parse_part(path, some, lambda: text[:begin].count(b"\n"), **options)


def _line_from(text: mmap.mmap, position: int) -> int:
    """Return where the first line begins that does not begin before a position."""
    if position == 0:
        return 0
    found = text.find(b"\n", position - 1)
    return len(text) if found < 0 else found + 1


def _labels(path: str, y: NDArray[Any], comm: Communicator) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the labels that there are, and the place of each sample's among them."""
    names, codes = np.unique(y, return_inverse=True)
    given = allgather_value(comm, names.tolist())
    if not any(given):
        raise DataFileError(NO_EXAMPLES.format(path))
    if len({type(name) for each in given for name in each}) > 1:
        raise DataFileError(
            f"{path}: some labels are whole numbers and others are not, which parts of the file "
            "do not show: give all of them names"
        )
    union = sorted(set().union(*given))
    place = np.searchsorted(np.asarray(union), names) if len(names) else names.astype(np.int64)
    parts = comm.allgather([place[codes].astype(np.int64)])
    return union, np.concatenate([part for (part,) in parts])
