"""Data files: LIBSVM / SVMlight text, plain or compressed."""

from __future__ import annotations

import io
import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from multimargin import _core
from multimargin.io._atomic import atomic_write
from multimargin.io._compressed import MAGIC, DataFileError, packed, rewindable, unpacked
from multimargin.io._memory import available

__all__ = ["DataFileError", "dump_svmlight", "load_svmlight"]

_MAX_LABEL_BYTES = 1024
_CHUNK = 1 << 22
NO_EXAMPLES = (
    "{}: no examples; expected lines like '3 1:0.5 7:1.25', found nothing but blank lines and "
    "comments"
)


def load_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
    n_threads: int | None = None,
    ignore_extra_features: bool = False,
    multilabel: bool = False,
) -> tuple[sp.csr_matrix[Any], NDArray[Any]]:
    """Read a LIBSVM / SVMlight file.

    Each line is ``label index:value index:value ... # comment``. Blank lines and comment lines are
    skipped, ``qid:`` tokens are ignored, features may come in any order. A label is any token
    without whitespace, comma or ``#``, at most 1024 bytes of UTF-8.

    Parameters
    ----------
    path : str or path-like
        A plain file (which is memory-mapped) or one compressed by gzip, bzip2 or xz; the content
        decides, not the name.
    n_features : int, optional
        Number of columns of the result; by default the highest feature of the file. Pass it for
        test files, which often lack the last features of the training file.
    dtype : dtype, default=numpy.float32
        ``numpy.float32`` or ``numpy.float64``. Each value is the nearest one of that type to the
        decimal number in the file.
    zero_based : bool, default=False
        Whether feature indices start at 0. By default they start at 1 and an index 0 is an error.
    n_threads : int, optional
        Threads to parse with; by default one per available processor. The result does not depend
        on it.
    ignore_extra_features : bool, default=False
        Whether to drop features beyond ``n_features``, which is then required. By default they
        are an error.
    multilabel : bool, default=False
        Whether lines have any number of labels, ``3,7,12 index:value ...``. A line that begins with
        a feature has none.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n_examples, n_features)
        Rows with sorted indices and without duplicates. Zeros written in the file are stored.
    y : ndarray of shape (n_examples,)
        ``int64`` if every label has an integral value (``3``, ``+3`` and ``3.0`` are all 3),
        otherwise the text of every label. With ``multilabel=True`` tuples of such labels.

    Raises
    ------
    DataFileError
        If the file is malformed, empty, truncated or corrupt; or compressed, and of more than 100
        times its size, or more than there is room for.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> from multimargin import dump_svmlight, load_svmlight
    >>> dump_svmlight("train.svm", [[0.5, 0], [0, 2]], ["cat", "dog"])
    >>> X, y = load_svmlight("train.svm")
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0], [0.0, 2.0]], ['cat', 'dog'])
    """
    return load_part(
        path,
        n_features=n_features,
        dtype=dtype,
        zero_based=zero_based,
        n_threads=n_threads,
        ignore_extra_features=ignore_extra_features,
        multilabel=multilabel,
    )


def load_part(
    path: str | os.PathLike[str],
    part: int = 0,
    parts: int = 1,
    *,
    n_features: int | None,
    dtype: DTypeLike,
    zero_based: bool,
    n_threads: int | None,
    ignore_extra_features: bool,
    multilabel: bool,
) -> tuple[sp.csr_matrix[Any], NDArray[Any]]:
    """Read one of several parts of a file, which may have no examples; otherwise as above."""
    double = float_type(dtype) == np.float64
    columns = _check_n_features(n_features, ignore_extra_features)
    threads = check_n_threads(n_threads)
    name = os.fspath(path)
    with open_bytes(name, mapped=parts > 1) as source:
        first, last = (_line_from(source, len(source) * k // parts) for k in (part, part + 1))
        try:
            data, indices, indptr, width, begin, labels = _core.parse_svmlight(
                memoryview(source)[first:last],
                n_features=columns,
                double_precision=double,
                zero_based=zero_based,
                ignore_extra_features=ignore_extra_features,
                multilabel=multilabel,
                n_threads=threads,
            )
        except _core.SvmlightParseError as error:
            line, column, message = error.args
            line += source[:first].count(b"\n")
            hint = _suffix_hint(name, source)
            raise DataFileError(f"{name}:{line}: column {column}: {message}{hint}") from None
    if len(indptr) == 1 and parts == 1:
        raise DataFileError(NO_EXAMPLES.format(name))
    if labels.ndim == 2:
        labels = labels.view(f"U{labels.shape[1]}").ravel()
    else:  # NumPy has two types of 64 bits: hand out the one that users get elsewhere
        labels = labels.view(np.int64)
    X = canonical_csr(data, indices, indptr, width if columns < 0 else columns)
    return X, split_labels(labels, begin) if multilabel else labels


def split_labels(labels: NDArray[Any], begin: NDArray[Any]) -> NDArray[np.object_]:
    """Return a tuple of the labels of each sample, which begin at these places."""
    flat, places = labels.tolist(), begin.tolist()
    sets = (tuple(flat[a:b]) for a, b in pairwise(places))
    return np.fromiter(sets, dtype=object, count=len(places) - 1)


def float_type(dtype: DTypeLike) -> np.dtype[Any]:
    asked = np.dtype(dtype)
    if asked not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {asked}")
    return asked


def canonical_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], width: int
) -> sp.csr_matrix[Any]:
    """Make a matrix whose rows are known to be sorted, without duplicates; no scan, no copy."""
    shape = (len(indptr) - 1, width)
    X = sp.csr_matrix((data, indices, indptr), shape=shape, copy=False)
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return X


def _check_n_features(n_features: int | None, ignore_extra_features: bool) -> int:
    """Return n_features as the parser takes it: -1 means from the data."""
    if n_features is None:
        if ignore_extra_features:
            raise ValueError(
                "ignore_extra_features=True needs n_features, the number of features to keep"
            )
        return -1
    if not 1 <= n_features <= 2**31:
        raise ValueError(f"n_features must be between 1 and 2**31, got {n_features}")
    return int(n_features)


def check_n_threads(n_threads: int | None) -> int:
    if n_threads is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:  # not every system has affinities
            return os.cpu_count() or 1
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, got {n_threads}")
    # More than this only costs memory.
    return min(int(n_threads), 1024)


@contextmanager
def open_bytes(name: str, *, mapped: bool = False) -> Iterator[bytes | mmap.mmap]:
    """Yield the decompressed content of a file, mapped if it is plain, which it may have to be."""
    with rewindable(name) as (file, suffix):
        if mapped and (suffix is not None or isinstance(file, io.BytesIO)):
            raise DataFileError(f"{name}: only a plain file can be read in parts: unpack it")
        if suffix is not None:
            text = io.BytesIO()
            # The other half is for the samples in it; the text of a plain file takes none.
            with unpacked(name, file, suffix, memory=available() // 2) as content:
                shutil.copyfileobj(content, text, _CHUNK)
            yield text.getvalue()
        elif isinstance(file, io.BytesIO):
            yield file.getvalue()
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield content


def _line_from(source: bytes | mmap.mmap, position: int) -> int:
    """Return where the first line begins that does not begin before a position."""
    found = source.find(b"\n", position - 1) if position > 0 else -1
    return found + 1 if found >= 0 or position == 0 else len(source)


def _suffix_hint(name: str, source: bytes | mmap.mmap) -> str:
    suffix = Path(name).suffix.lower()
    if isinstance(source, mmap.mmap) and suffix in MAGIC:
        return f" (the name ends in {suffix} but the content is no {suffix[1:]} data: corrupt?)"
    return ""


def dump_svmlight(path: str | os.PathLike[str], X: Any, y: ArrayLike) -> None:
    """Write a LIBSVM / SVMlight file, with feature indices from 1.

    An existing file is replaced only after everything has been written.

    Parameters
    ----------
    path : str or path-like
        Where to write. The suffixes ``.gz``, ``.bz2`` and ``.xz`` compress.
    X : array-like or sparse matrix of shape (n_examples, n_features)
        Finite real values. Each is written with the fewest digits that read back as the same value
        of its type. Stored zeros of a sparse matrix are written.
    y : array-like of shape (n_examples,)
        Labels, written as ``str`` shows them. Text labels must be such that `load_svmlight` reads
        them back: no whitespace, control character, comma or ``#``, no ``qid:`` or ``number:`` at
        the start. If all of them spell integers, they are read back as integers.

    Raises
    ------
    ValueError
        If shapes disagree, a value is not finite or a label cannot be written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multimargin import dump_svmlight
    >>> dump_svmlight("train.svm", [[0.5, 0], [0, 2]], ["cat", "dog"])
    >>> print(Path("train.svm").read_text(), end="")
    cat 1:0.5
    dog 2:2.0
    """
    matrix = _check_matrix(X)
    labels = _label_texts(y)
    if len(labels) != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows but y has {len(labels)} labels")
    suffix = Path(path).suffix.lower()
    with atomic_write(path) as file, ExitStack() as stack:
        compress = suffix in MAGIC
        out = stack.enter_context(packed(file, suffix, "wb")) if compress else file
        out.writelines(_text_blocks(matrix, labels))


def _check_matrix(X: Any) -> sp.csr_matrix[Any]:
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have 2 dimensions, got {X.ndim}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}")
    matrix = sp.csr_matrix(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # never reorder the caller's own arrays
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ValueError("X has nan or infinite values, which the format cannot hold")
    return matrix


def _label_texts(y: ArrayLike) -> list[str]:
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must have 1 dimension, got {values.ndim}")
    if values.dtype.kind not in "biufUO":
        raise ValueError(f"y must hold integers, floats or str, got dtype {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y has nan or infinite labels")
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    texts = [str(label) for label in values]
    if values.dtype.kind not in "iuf":
        for text in set(texts):
            _check_label(text)
    return texts


def _check_label(text: str) -> None:
    number, colon, _ = text.partition(":")
    numbered = colon and (number == "qid" or (number.isascii() and number.isdigit()))
    odd = any(c in " ,#\x7f" or c < " " for c in text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # a lone surrogate
        size = 0
    if numbered or odd or text.startswith("\ufeff") or not 1 <= size <= _MAX_LABEL_BYTES:
        raise ValueError(
            f"label {text[:40]!r} cannot be written: a label is one to {_MAX_LABEL_BYTES} bytes of "
            "UTF-8 without whitespace, control characters, ',' or '#', and does not start with "
            "'qid:', 'number:' or a byte order mark"
        )


def _text_blocks(matrix: sp.csr_matrix[Any], labels: list[str]) -> Iterator[bytes]:
    for begin in range(0, len(labels), 512):
        end = min(begin + 512, len(labels))
        first, last = int(matrix.indptr[begin]), int(matrix.indptr[end])
        columns = (matrix.indices[first:last].astype(np.int64) + 1).tolist()
        texts = _value_texts(matrix.data[first:last])
        pairs = [f" {column}:{text}" for column, text in zip(columns, texts, strict=True)]
        bounds = (matrix.indptr[begin : end + 1] - first).tolist()
        rows = zip(labels[begin:end], bounds[:-1], bounds[1:], strict=True)
        yield "".join(f"{label}{''.join(pairs[a:b])}\n" for label, a, b in rows).encode()


def _value_texts(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if values.dtype.kind in "iu" or values.dtype == np.float64:
        return [repr(value) for value in values.tolist()]
    # str of a NumPy scalar is the shortest text for its own precision.
    return [str(value) for value in values]
