"""The text format of the LSHTC challenges: LIBSVM text with several labels in a line.

The compiled reader of LIBSVM text reads the features. It refuses the labels of this format and
features that a line repeats, so these are rewritten here, line by line: 394,754 lines of 90
features (334 MB, the size of LSHTC-2011) took 14 s on two busy cores, and a minute with a repeated
feature in every line.
"""

from __future__ import annotations

import mmap
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from multimargin import _core
from multimargin.io._compressed import DataFileError
from multimargin.io._svmlight import canonical_csr, check_n_threads, float_type, open_bytes

MultiLabel = Literal["error", "first", "drop", "all"]
_Piece = tuple[int, list[bytes]]  # the number of the first of some whole lines, and the lines

_LABELS = re.compile(rb"[ \t]*([+-]?[0-9]+)((?:[ \t]*,[ \t]*[+-]?[0-9]+)*)[ \t]*")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEADER = b"Data"  # the first line of the files at Kaggle
# Rewritten at a time: bounds the memory of the copies. All threads parse it, 1 MiB at a time.
_PIECE_BYTES = 32 << 20
_SHOWN = 40


class _Rows(NamedTuple):
    data: NDArray[Any]
    indices: NDArray[np.int32]
    lengths: NDArray[np.int64]
    labels: NDArray[Any]
    lines: NDArray[np.int64]  # where in the file each of them is
    width: int  # highest column + 1


def load_lshtc(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    multilabel: MultiLabel = "error",
    dtype: DTypeLike = np.float32,
    n_threads: int | None = None,
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    """Read a file in the text format of the LSHTC challenges; `LabelTree.load` reads hierarchies.

    Each line is ``label, label, ... feature:value feature:value ...``: one or several integers,
    then features in any order. Values of a feature that a line repeats are added up. Blank lines
    are skipped, and so is a first line that says ``Data``.

    Parameters
    ----------
    path : str or path-like
        A plain file or one compressed by gzip, bzip2 or xz; the content decides, not the name.
    n_features : int, default=None
        Number of columns of the result; by default the highest feature of the file, plus one.
    multilabel : {"error", "first", "drop", "all"}, default="error"
        A line with more than one label, even the same one twice, is an error, a sample of its first
        label, or left out; or all lines have tuples of labels.
    dtype : dtype, default=numpy.float32
        ``numpy.float32`` or ``numpy.float64``.
    n_threads : int, default=None
        Threads to parse with; by default one per available processor. The result does not depend
        on it.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Feature f is column f, since numbers stand for words and may start at 0. Rows have sorted
        indices and no duplicates.
    y : ndarray of int64, or of tuples, of shape (n_samples,)

    Raises
    ------
    DataFileError
        If the file is malformed, empty, truncated or corrupt; it names the line.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import tempfile
    >>> from multimargin.datasets import load_lshtc
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"545, 32 18:2 8:1\\n7 8:3\\n")
    ...     file.flush()
    ...     X, y = load_lshtc(file.name, multilabel="first")
    >>> y.tolist(), X.shape
    ([545, 7], (2, 19))
    """
    if multilabel not in ("error", "first", "drop", "all"):
        raise ValueError(
            f"multilabel must be 'error', 'first', 'drop' or 'all', got {multilabel!r}"
        )
    if n_features is not None and not 1 <= n_features <= 2**31:
        raise ValueError(f"n_features must be between 1 and 2**31, got {n_features}")
    double, threads = float_type(dtype) == np.float64, check_n_threads(n_threads)
    name = os.fspath(path)
    with open_bytes(name) as source:
        parts = [_read(name, piece, multilabel, double, threads) for piece in _pieces(source)]
    return _joined(name, parts, n_features)


def _pieces(source: bytes | mmap.mmap) -> Iterator[_Piece]:
    """Cut the file at line ends, without a header."""
    begin = len(_BYTE_ORDER_MARK) if source[:3] == _BYTE_ORDER_MARK else 0
    first_line, started = 1, False
    while begin < len(source):
        end = source.find(b"\n", min(begin + _PIECE_BYTES, len(source)))
        end = len(source) if end < 0 else end + 1
        lines = source[begin:end].split(b"\n")
        if not lines[-1]:
            lines.pop()
        if not started:
            k = next((k for k, line in enumerate(lines) if line.strip()), None)
            started = k is not None
            if k is not None and lines[k].strip() == _HEADER:
                lines[k] = b""
        yield first_line, lines
        first_line += len(lines)
        begin = end


def _read(name: str, piece: _Piece, multilabel: MultiLabel, double: bool, threads: int) -> _Rows:
    """Parse the lines of a piece, as LIBSVM text whose labels do not matter."""
    labels: list[Any] = []
    features: list[bytes] = []
    numbers: list[int] = []
    first_line, lines = piece
    for number, line in enumerate(lines, first_line):
        if not line or line.isspace():
            continue
        cut = _end_of_labels(line)
        label = _label(line[:cut], multilabel, f"{name}:{number}")
        if label is None:
            continue
        labels.append(label)
        features.append(line[cut:])
        numbers.append(number)
    try:
        data, indices, indptr, width = _parse(features, double, threads)
    except _core.SvmlightParseError:
        # Most files repeat no feature in a line, so that only now each line is looked at; if
        # that is not what was wrong, the reader finds the same place again.
        try:
            data, indices, indptr, width = _parse(map(_merged, features), double, threads)
        except _core.SvmlightParseError as error:
            row, _, message = error.args
            raise DataFileError(f"{name}:{numbers[row - 1]}: {message}") from None
    return _Rows(
        data,
        indices,
        np.diff(indptr).astype(np.int64),
        np.fromiter(labels, object if multilabel == "all" else np.int64, len(labels)),
        np.array(numbers, dtype=np.int64),
        width,
    )


def _parse(features: Iterable[bytes], double: bool, threads: int) -> tuple[Any, Any, Any, int]:
    text = b"\n".join([b"0 " + row for row in features])
    data, indices, indptr, width, *_ = _core.parse_svmlight(
        text, double_precision=double, zero_based=True, n_threads=threads
    )
    return data, indices, indptr, width


def _end_of_labels(line: bytes) -> int:
    """Return where the token with the first colon begins."""
    colon = line.find(b":")
    if colon < 0:
        return len(line)
    return max(line.rfind(b" ", 0, colon), line.rfind(b"\t", 0, colon)) + 1


def _label(text: bytes, multilabel: MultiLabel, where: str) -> int | tuple[int, ...] | None:
    found = _LABELS.fullmatch(text.rstrip(b"\r"))
    if found is None:
        shown = text[:_SHOWN].decode("ascii", "backslashreplace").strip()
        problem = f"{shown!r} is not a list of labels" if shown else "the line has no label"
        raise DataFileError(
            f"{where}: {problem}; a line is one or several integers with commas between them, "
            "then feature:value pairs, such as '545, 32 8:1 18:2'"
        )
    if found[2]:
        if multilabel == "error":
            n_labels = 1 + found[2].count(b",")
            raise DataFileError(
                f"{where}: the line has {n_labels} labels; pass multilabel='first' to take the "
                "first of them, or multilabel='drop' to leave such lines out"
            )
        if multilabel == "drop":
            return None
    labels = tuple(map(int, text.split(b","))) if multilabel == "all" else (int(found[1]),)
    for label in labels:
        if not -(2**63) <= label < 2**63:
            raise DataFileError(f"{where}: the label {label} does not fit in 64 bits")
    return labels if multilabel == "all" else labels[0]


def _merged(row: bytes) -> bytes:
    """Return the features of a line; add up the values of repeated ones in double precision."""
    if b"_" in row:  # which Python's numbers may have and the format's may not
        return row
    try:
        pairs = [token.partition(b":") for token in row.split()]
        columns = [int(pair[0]) for pair in pairs]
        if len(set(columns)) == len(columns):
            return row
        repeated = {column for column, n in Counter(columns).items() if n > 1}
        sums = dict.fromkeys(repeated, 0.0)
        kept = []
        for column, pair in zip(columns, pairs, strict=True):
            if column in repeated:
                sums[column] += float(pair[2])
            else:
                kept.append(b"".join(pair))
    except ValueError:  # malformed: left to the reader, which says where and why
        return row
    kept += [b"%d:%r" % (column, value) for column, value in sums.items()]
    return b" ".join(kept)


def _joined(
    name: str, parts: list[_Rows], n_features: int | None
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    if not any(len(part.labels) for part in parts):
        raise DataFileError(
            f"{name}: no samples; expected lines like '545, 32 8:1 18:2', found nothing that is "
            "kept"
        )
    width = max(part.width for part in parts)
    if n_features is not None and width > n_features:
        raise DataFileError(_beyond(name, parts, n_features))
    columns = list(zip(*parts, strict=True))
    data, indices, lengths, labels = (np.concatenate(column) for column in columns[:4])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    if indptr[-1] < 2**31:  # scipy wants row pointers of 32 bits wherever they suffice
        indptr = indptr.astype(np.int32)
    return canonical_csr(data, indices, indptr, n_features or width), labels


def _beyond(name: str, parts: list[_Rows], n_features: int) -> str:
    part = next(part for part in parts if part.width > n_features)
    entry = int(np.argmax(part.indices >= n_features))
    row = int(np.searchsorted(np.cumsum(part.lengths), entry, side="right"))
    return (
        f"{name}:{part.lines[row]}: feature {part.indices[entry]} is beyond "
        f"n_features={n_features}; pass a larger n_features, or none to take the highest one"
    )
