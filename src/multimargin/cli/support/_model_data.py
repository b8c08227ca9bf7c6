"""Data for a model that is there: read and treated as its training data was."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._arguments import n_jobs
from multimargin.cli.support._labels import is_table, note_skipped, read_columns, read_labelled
from multimargin.cli.support._messages import note
from multimargin.cli.support._training_data import read_libsvm
from multimargin.cli.support._vectors import is_vectors, read_vector_data
from multimargin.distributed._fit import NORMS
from multimargin.models.probabilities._calibration import Calibration
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.solvers._layout import filled_rows
from multimargin.tables._read import FORMATS
from multimargin.tables._selection import Selection

# Options that say what a table holds; a model of LIBSVM text takes none of them.
_TABLE_OPTIONS = ("text", "label", "format", "encoding", "delimiter", "skip_unlabelled")
# What `train` may record with a model of LIBSVM text, and a model without it was trained with.
_PREPROCESSING: dict[str, Any] = {"normalize": "none", "zero_based": False, "dtype": "float32"}
_ALLOWED: dict[str, Collection[Any]] = {
    "normalize": NORMS,
    "zero_based": (False, True),
    "dtype": ("float32", "float64"),
    "label_separator": (",",),
}


class Samples(NamedTuple):
    """Samples as a model takes them, their labels, and the columns of the file that are kept.

    `X` is a CSR matrix; or a table or texts for a model that has `features_`.
    """

    X: Any
    y: Any
    kept: Mapping[str, NDArray[Any]]


def read_data_for(
    model: distributed.DistributedModel,
    args: argparse.Namespace,
    *,
    labelled: bool,
    keep: Sequence[str] | None = (),
) -> Samples:
    """Read samples and labels of DATA, treated as the model's training data. Called by all ranks.

    Labels of a table are None unless `labelled`; then every row must have one. Features that the
    model has never seen have no coefficients and are left out. `keep` names columns of a table;
    None keeps all.
    """
    separator = separator_of(model, args)
    if hasattr(model, "features_"):
        if labelled:
            return _read_labelled_for(model, args, separator)
        return _read_table_for(model, args, keep)
    if not is_vectors(args):
        args.vector = model.preprocessing_.get("vector")
    if is_vectors(args):
        return _read_vectors_for(model, args, labelled, keep)
    given = {name: getattr(args, name, None) for name in _TABLE_OPTIONS} | {"keep": keep}
    for name, value in given.items():
        if value:
            raise ValueError(
                f"--{name.replace('_', '-')} is for models of tables; {args.model} takes LIBSVM "
                "text"
            )
    if is_table(args):
        raise ValueError(
            f"{args.data} is a table, but {args.model} was trained on LIBSVM text or vectors and "
            "knows no words; --vector COLUMN names a column of vectors"
        )
    _check_recorded(model.preprocessing_, _ALLOWED, args.model)
    several = {} if model.multilabel_ is None else {"label_separator": ","}
    X, y = read_libsvm(
        args.data,
        _PREPROCESSING | dict(model.preprocessing_) | several,
        n_features=model.n_features_in_,
        n_threads=args.threads,
        ignore_extra_features=True,
        comm=model.comm,
    )
    return Samples(X, y, {})


def _read_vectors_for(
    model: distributed.DistributedModel,
    args: argparse.Namespace,
    labelled: bool,
    keep: Sequence[str] | None,
) -> Samples:
    recorded = dict(model.preprocessing_)
    columns = {name: recorded.pop(name, None) for name in ("vector", "label")}
    _check_recorded(recorded, {**_ALLOWED, "zero_based": (False,)}, args.model)
    if labelled and args.vector is not None:
        args.label = args.label or columns["label"]
    with raise_on_all(model.comm):
        norm = recorded.get("normalize", "none")
        found = read_vector_data(args, labelled=labelled, norm=norm, keep=keep)
        numbers, known = found.X.shape[1], model.n_features_in_
        if numbers != known:
            raise ValueError(
                f"{args.data} has vectors of {numbers:,} numbers, but {args.model} takes {known:,}"
            )
    note_skipped(found.skipped, model.comm)
    return Samples(found.X, found.y, found.kept)


def model_and_data(
    args: argparse.Namespace,
    comm: Communicator | None = None,
    *,
    labelled: bool,
    verify: bool = True,
    keep: Sequence[str] | None = (),
) -> tuple[distributed.DistributedModel, Samples]:
    """Open MODEL and read DATA for it, as `read_data_for` does; called by all ranks, if any."""
    comm = comm or SerialCommunicator()
    # All of it is about to be read anyway, and a wrong index would be a wrong memory access.
    model = distributed.load_model(
        args.model, verify=verify, n_jobs=n_jobs(args), comm=comm, encoder=args.encoder
    )
    if comm.rank == 0 and getattr(model, "calibration_", Calibration(1.0)).stale:
        note(f"note: the probabilities of {args.model} are those of its weights before pruning")
    return model, read_data_for(model, args, labelled=labelled, keep=keep)


def features_of(model: distributed.DistributedModel, X: Any) -> Any:
    """Return the features of what `read_data_for` read; note the samples that have none."""
    if not hasattr(model, "features_"):
        return X
    with raise_on_all(model.comm):
        model.features_.shows_progress = model.comm.rank == 0 and sys.stderr.isatty()
        matrix: Any = model.features_.transform(X)
    empty = int(np.count_nonzero(~filled_rows(matrix)))
    if empty and model.comm.rank == 0:
        have = "row has" if matrix.shape[0] == 1 else "rows have"
        note(
            f"note: {empty:,} of {matrix.shape[0]:,} {have} no word that the model knows; scores "
            "are the intercepts there"
        )
    return matrix


def separator_of(model: Any, args: argparse.Namespace) -> str | None:
    """Return what stands between the labels of a sample; None where each has one."""
    given = getattr(args, "label_separator", None)
    if model.multilabel_ is None:
        if given is not None:
            raise ValueError(f"--label-separator: {args.model} has one label for each sample")
        return None
    return str(given or model.preprocessing_.get("label_separator", ","))


def _read_labelled_for(model: Any, args: argparse.Namespace, separator: str | None) -> Samples:
    wanted, renamed = _wanted(model, args)
    label = args.label or model.preprocessing_.get("label")
    if label is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    with raise_on_all(model.comm):
        table, y, skipped = read_labelled(args, wanted, label, separator)
    note_skipped(skipped, model.comm)
    return Samples(table if renamed is None else table[renamed], y, {})


def _read_table_for(model: Any, args: argparse.Namespace, keep: Sequence[str] | None) -> Samples:
    wanted, renamed = _wanted(model, args)
    selection = Selection(wanted, keep)
    with raise_on_all(model.comm):
        table = read_columns(args, selection)
    if selection.left_out and model.comm.rank == 0:
        listed = ", ".join(map(repr, selection.left_out[:5]))
        note(
            f"note: columns without a name of their own, or with bytes, are not kept: {listed}"
            + (", ..." if len(selection.left_out) > 5 else "")
        )
    names = table.columns if keep is None else keep
    kept = {name: table[name] for name in names}
    return Samples(table if renamed is None else table[renamed], None, kept)


def _wanted(model: Any, args: argparse.Namespace) -> tuple[list[str], str | None]:
    """Return what `_columns` does, after checks of model and DATA."""
    recorded = model.preprocessing_
    read = ("label", "label_separator")
    _check_recorded({k: v for k, v in recorded.items() if k not in read}, {}, args.model)
    if not is_table(args):
        raise ValueError(
            f"{args.data}: {args.model} takes tables, and the name does not tell which this is: "
            f"give --format {'|'.join(FORMATS)}"
        )
    return _columns(model, args.model, args.text)


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
