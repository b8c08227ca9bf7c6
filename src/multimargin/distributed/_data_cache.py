"""The data of a run, read once per host and shared by its ranks through a memory-mapped file."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.io._checksums import array_fingerprint, csr_arrays
from multimargin.io._svmlight import split_labels
from multimargin.models.file._coef import csr_of
from multimargin.parallel._collectives import allgather_value, broadcast_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.solvers._layout import as_core_csr

VARIABLE = "MULTIMARGIN_CACHE"
_PREFIX = "multimargin-cache"
_SPARE = 1 << 20  # bytes beside the arrays, for the header and the file system

Data = tuple[sp.csr_matrix, NDArray[Any]]


def shared(comm: Communicator, read: Callable[[], tuple[Any, Any]]) -> Data:
    """Read data once per host, for all ranks that run there. Called by all ranks.

    The first rank of each host reads and writes a file that all ranks of the host map. The file
    has lost its name by the time this returns, so that nothing is left when the run ends,
    however it ends. It lies in the folder that ``MULTIMARGIN_CACHE`` names, by default in the
    folder of temporary files. A rank that is alone on its host keeps the data in its memory.

    ``read`` returns a sparse matrix and labels, numbers or strings; an error that it raises on any
    rank is raised on all. The matrix comes back in canonical form, read-only where it is shared.
    """
    host = comm.host
    data: Data | None = None
    with raise_on_all(comm):
        if host.rank == 0:
            data = _checked(*read())
    _compare_hosts(comm, data)
    with contextlib.ExitStack() as stack:
        path = ""
        with raise_on_all(comm):
            if data is not None and host.size > 1:
                path = str(stack.enter_context(_cache_file(*data)))
        # The reader's own copy goes before others map theirs.
        data = data if host.size == 1 else None
        path = broadcast_value(host, path)
        with raise_on_all(comm):
            if data is None:
                data = _map(path)
    return data


def _checked(X: Any, y: Any) -> Data:
    if not sp.issparse(X):
        raise TypeError(f"X must be a sparse matrix, got {type(X).__name__}")
    matrix: Any = X
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows, y has shape {y.shape}; one label per row")
    # Canonical here, once, because nobody can change it later.
    return as_core_csr(sp.csr_matrix(matrix)), y


def _compare_hosts(comm: Communicator, data: Data | None) -> None:
    reads = allgather_value(comm, comm.host.rank == 0)
    if sum(reads) == 1:
        return
    name = None
    with raise_on_all(comm):
        if data is not None:
            X, (stored, kinds, begin) = data[0], _stored_labels(data[1])
            shape = [int(n) for n in X.shape]
            name = array_fingerprint([*csr_arrays(X), stored, begin], [shape, kinds])
            name = f"{name} (X of shape {tuple(shape)}, {X.dtype}, {X.nnz} entries)"
    names = allgather_value(comm, [name, socket.gethostname()])
    first, first_host = names[0]
    for rank, (other, host) in enumerate(names):
        if other not in (None, first):
            raise ValueError(
                f"hosts have read different data: {first} on rank 0 (on {first_host}), {other} "
                f"on rank {rank} (on {host}). Give all hosts the same file"
            )


@contextlib.contextmanager
def _cache_file(X: sp.csr_matrix, y: NDArray[Any]) -> Iterator[Path]:
    folder = Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    stored, kinds, begin = _stored_labels(y)
    names = ("data", "indices", "indptr", "y", "y.begin")
    arrays = dict(zip(names, (*csr_arrays(X), stored, begin), strict=True))
    meta = {"kind": "data", "columns": int(X.shape[1]), "labels": kinds}
    size = sum(array.nbytes for array in arrays.values()) + _SPARE
    with contextlib.ExitStack() as stack:
        try:
            _remove_stale(folder)
            if (free := shutil.disk_usage(folder).free) < size:
                facts = f"{size / 1e9:.2f} GB are needed, {free / 1e9:.2f} GB are free"
                raise OSError(errno.ENOSPC, facts)
            # A folder that nobody else can read.
            private = Path(tempfile.mkdtemp(prefix=f"{_owner_prefix(os.getpid())}-", dir=folder))
            stack.callback(shutil.rmtree, private, ignore_errors=True)
            write_arrays(private / "data", meta, arrays, durable=False)
        except OSError as error:
            raise OSError(
                error.errno,
                f"the data cannot be put where the ranks of {socket.gethostname()} share it: "
                f"{error.strerror or error}. {VARIABLE} names the folder; set it to another one",
                str(folder),
            ) from error
        yield private / "data"


def _owner_prefix(pid: int | str) -> str:
    # With the host: a folder may be shared by several, where the same number is another process.
    return f"{_PREFIX}-{re.sub('[^A-Za-z0-9.]', '_', socket.gethostname())}-{pid}"


def _remove_stale(folder: Path) -> None:
    """Remove files of readers on this host that were killed while they wrote."""
    ours = re.compile(re.escape(_owner_prefix("")) + r"(\d{1,18})-\w+")
    for path in folder.iterdir():
        match = ours.fullmatch(path.name)
        if match and not _runs(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _map(path: str) -> Data:
    try:
        meta, arrays = read_arrays(path)
    except OSError as error:
        raise OSError(
            error.errno,
            f"a rank on {socket.gethostname()} cannot read what another rank of this host has "
            f"written: {error.strerror}. Set {VARIABLE} to a folder that all ranks of a host see",
            path,
        ) from error
    X = csr_of(arrays["data"], arrays["indices"], arrays["indptr"], meta["columns"])
    X.has_canonical_format = True  # as `_checked` left it
    stored, given = meta["labels"]
    y, begin = arrays["y"].view(stored).astype(given, copy=False), arrays["y.begin"]
    return X, split_labels(y, begin) if len(begin) else y


def _stored_labels(y: NDArray[Any]) -> tuple[NDArray[Any], list[str], NDArray[np.int64]]:
    """Labels as numbers that a file can hold, and the types by which they come back.

    Of tuples of labels, also the places at which each begins; otherwise these are empty.
    """
    begin = np.empty(0, dtype=np.int64)
    if y.dtype == object and all(isinstance(each, tuple) for each in y):
        begin = np.cumsum([0, *map(len, y)], dtype=np.int64)
        y = np.array(list(chain.from_iterable(y)))
    kind = y.dtype.newbyteorder("<")
    if kind.kind == "O":
        if not all(isinstance(label, str) for label in y):
            raise ValueError("y must hold numbers or strings, got other objects")
        y = y.astype(str)
    y = np.ascontiguousarray(y, dtype=y.dtype.newbyteorder("<"))
    return y.view(np.uint8) if y.dtype.kind in "US" else y, [y.dtype.str, kind.str], begin
