"""Data for a model that is there: read and treated as its training data was."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._arguments import n_jobs
from multimargin.cli.support._labels import note_skipped, read_columns, read_labelled
from multimargin.cli.support._messages import note
from multimargin.distributed._fit import NORMS
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.tables._read import FORMATS, table_format

# Options that say what a table holds; a model of LIBSVM text takes none of them.
_TABLE_OPTIONS = ("text", "label", "format", "encoding", "skip_unlabelled")
# What `train` may record with a model of LIBSVM text, and a model without it was trained with.
_PREPROCESSING: dict[str, Any] = {"normalize": "none", "zero_based": False, "dtype": "float32"}
_ALLOWED: dict[str, Collection[Any]] = {
    "normalize": NORMS,
    "zero_based": (False, True),
    "dtype": ("float32", "float64"),
}


def read_data_for(
    model: distributed.DistributedModel, args: argparse.Namespace, *, labelled: bool
) -> tuple[Any, Any]:
    """Read samples and labels of DATA, treated as the model's training data. Called by all ranks.

    The samples are a CSR matrix; or a table or texts for a model that has `features_`. Labels of a
    table are None unless `labelled`; then every row must have one. Features that the model has
    never seen have no coefficients and are left out.
    """
    if hasattr(model, "features_"):
        return _read_table_for(model, args, labelled=labelled)
    for name in _TABLE_OPTIONS:
        if getattr(args, name, None):
            raise ValueError(
                f"--{name.replace('_', '-')} is for models of tables; {args.model} takes LIBSVM "
                "text"
            )
    if table_format(args.data) is not None:
        raise ValueError(
            f"{args.data} is a table, but {args.model} was trained on LIBSVM text and knows no "
            "words"
        )
    _check_recorded(model.preprocessing_, _ALLOWED, args.model)
    return distributed.load(
        args.data,
        **_PREPROCESSING | dict(model.preprocessing_),
        n_features=model.n_features_in_,
        n_threads=args.threads,
        ignore_extra_features=True,
        comm=model.comm,
    )


def model_and_data(
    args: argparse.Namespace, comm: Communicator, *, labelled: bool, verify: bool = True
) -> tuple[distributed.DistributedModel, Any, Any]:
    """Open MODEL and read DATA for it, as `read_data_for` does. Called by all ranks."""
    # All of it is about to be read anyway, and a wrong index would be a wrong memory access.
    model = distributed.load_model(args.model, verify=verify, n_jobs=n_jobs(args), comm=comm)
    return model, *read_data_for(model, args, labelled=labelled)


def features_of(model: distributed.DistributedModel, X: Any) -> Any:
    """Return the features of what `read_data_for` read; note the samples that have none."""
    if not hasattr(model, "features_"):
        return X
    with raise_on_all(model.comm):
        matrix: Any = model.features_.transform(X)
    empty = int((np.diff(matrix.indptr) == 0).sum())
    if empty and model.comm.rank == 0:
        note(
            f"note: {empty:,} of {matrix.shape[0]:,} rows have no word that the model knows; their "
            "scores are the intercepts"
        )
    return matrix


def _read_table_for(
    model: Any, args: argparse.Namespace, *, labelled: bool
) -> tuple[Any, NDArray[Any] | None]:
    """Read the columns that the model takes and, if they are wanted, the labels."""
    recorded = model.preprocessing_
    _check_recorded({k: v for k, v in recorded.items() if k != "label"}, {}, args.model)
    if args.format is None and table_format(args.data) is None:
        raise ValueError(
            f"{args.data}: {args.model} takes tables, and the name does not tell which this is: "
            f"give --format {'|'.join(FORMATS)}"
        )
    wanted, renamed = _columns(model, args.model, args.text)
    label = (args.label or recorded.get("label")) if labelled else None
    if labelled and label is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    y, skipped = None, 0
    with raise_on_all(model.comm):
        if label is None:
            table = read_columns(args, wanted)
        else:
            table, y, skipped = read_labelled(args, wanted, label)
    note_skipped(skipped, model.comm)
    return (table if renamed is None else table[renamed]), y


def _check_recorded(
    recorded: Mapping[str, Any], allowed: Mapping[str, Collection[Any]], model_path: str
) -> None:
    """Refuse preprocessing that this command cannot repeat."""
    for name, value in recorded.items():
        if value not in allowed.get(name, ()):
            raise ValueError(
                f"{model_path}: the model was trained on samples with {name}={value!r}, which "
                "this command cannot repeat; load the model in Python with multimargin.load_model"
            )


def _columns(
    model: Any, model_path: str, text: tuple[str, ...] | None
) -> tuple[list[str], str | None]:
    """Return the columns to read; and the column of the texts, if --text renames it."""
    texts, numeric, categorical = model.features_.column_names()
    needed = [*texts, *numeric, *categorical]
    if not needed and text is None:
        raise ValueError(
            f"{model_path} was trained on texts without columns: say which column holds them, "
            "--text COLUMN"
        )
    if text is None or text == texts:
        return needed, None
    if len(needed) > 1 or len(text) > 1:
        listed = ", ".join(repr(name) for name in needed)
        raise ValueError(f"{model_path} was trained on the columns {listed}; --text cannot rename")
    return [text[0]], text[0]
