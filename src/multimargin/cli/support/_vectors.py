"""Vectors as data: a .npy or .npz file, or a column of lists of numbers in a Parquet file."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from multimargin.cli.support._labels import read_columns, read_labelled
from multimargin.io._compressed import DataFileError
from multimargin.tables._parquet import column_names, read_vectors
from multimargin.tables._selection import Selection
from multimargin.text._raw_columns import value_text

_FILES = (".npy", ".npz")
_ENTRIES_AT_ONCE = 1 << 22


class Vectors(NamedTuple):
    """Rows of numbers, their labels if these were asked for, and columns that are kept."""

    X: NDArray[Any]
    y: Any
    kept: dict[str, NDArray[Any]]
    skipped: int


def is_vectors(args: argparse.Namespace) -> bool:
    """Tell whether DATA holds vectors, by options and name."""
    return args.vector is not None or Path(args.data).suffix.lower() in _FILES


def read_vector_data(
    args: argparse.Namespace,
    *,
    labelled: bool,
    norm: str = "none",
    keep: Sequence[str] | None = (),
) -> Vectors:
    """Read the vectors of DATA; an array of a .npy file stays on the disk, and is used there.

    `norm` "l2" scales each to unit length. `keep` names columns of a Parquet file, None all.
    """
    if args.vector is None:
        X, y = _from_arrays(args, labelled)
        found = Vectors(X, y, {}, 0)
    elif Path(args.data).suffix.lower() in _FILES:
        raise ValueError(f"--vector is for Parquet files: {args.data} has no columns")
    else:
        found = _from_parquet(args, labelled, keep)
    X = _checked(args.data, found.X)
    if labelled and len(found.y) != len(X):
        raise DataFileError(f"{args.data}: {len(X):,} vectors, but {len(found.y):,} labels")
    return found._replace(X=normalize(X) if norm == "l2" else X)


def _from_arrays(args: argparse.Namespace, labelled: bool) -> tuple[NDArray[Any], Any]:
    arrays = _loaded(args.data)
    if isinstance(arrays, np.ndarray):
        X, y = arrays, None
    else:
        if "X" not in arrays:
            listed = ", ".join(map(repr, arrays)) or "none"
            raise DataFileError(
                f"{args.data}: there is no array 'X' with vectors; there are {listed}"
            )
        X, y = arrays["X"], arrays.get("y")
    if not labelled:
        return X, None
    if args.labels is not None:
        y = _labels(args)
    if y is None:
        raise ValueError(
            f"{args.data} has no labels: give them, --labels FILE (.npy, or a table with --label "
            "COLUMN)"
        )
    if y.ndim != 1 or y.dtype.kind not in "biufSU":
        raise DataFileError(
            f"the labels are {y.dtype} of shape {y.shape}: give one for each vector"
        )
    return X, y


def _labels(args: argparse.Namespace) -> NDArray[Any]:
    if Path(args.labels).suffix.lower() == ".npy":
        return np.asarray(_loaded(args.labels))
    if args.label is None:
        raise ValueError(f"say which column of {args.labels} holds the labels: --label COLUMN")
    # Rows without a label have vectors all the same, so none is left out.
    table = argparse.Namespace(**vars(args) | {"data": args.labels, "skip_unlabelled": False})
    return read_labelled(table, [], args.label)[1]


def _loaded(name: str) -> Any:
    """Return the array of a .npy file, mapped, or those of a .npz file by their names."""
    try:
        found = np.load(name, mmap_mode="r", allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            return dict(found)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataFileError(f"{name}: damaged, or no arrays of numbers: {error}") from None


def _from_parquet(args: argparse.Namespace, labelled: bool, keep: Sequence[str] | None) -> Vectors:
    X = read_vectors(args.data, args.vector)
    if keep is None:
        keep = [name for name in column_names(args.data) if name != args.vector]
    kept = {}
    if keep:
        table = read_columns(args, Selection([], keep))
        kept = {name: table[name] for name in keep if name in table}
    if not labelled:
        return Vectors(X, None, kept, 0)
    if args.label is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    _, y, skipped = read_labelled(args, [], args.label)
    if skipped:
        labels = read_columns(args, Selection([args.label]))[args.label]
        X = X[[bool(value_text(label).strip()) for label in labels]]
    return Vectors(X, y, kept, skipped)


def _checked(name: str, X: NDArray[Any]) -> NDArray[Any]:
    """Return vectors in a type of the core, in place where they have one."""
    if X.ndim != 2 or not X.size or X.dtype.kind not in "fiu":
        raise DataFileError(
            f"{name}: {X.dtype} of shape {X.shape}: vectors are numbers, with a row for each sample"
        )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32)
    rows = max(1, _ENTRIES_AT_ONCE // X.shape[1])
    for begin in range(0, len(X), rows):
        finite = np.isfinite(X[begin : begin + rows]).all(axis=1)
        if not finite.all():
            row = begin + int(np.argmin(finite)) + 1
            raise DataFileError(f"{name}: row {row:,}: the vector holds NaN or infinity")
    return X
