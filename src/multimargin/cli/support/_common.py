"""What the subcommands share: arguments, data, messages and exit codes."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._model_data import read_raw
from multimargin.distributed._fit import NORMS
from multimargin.io._text_table import shown
from multimargin.parallel._agreement import raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.tables._read import table_format

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_NOT_CONVERGED = 3
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
EXIT_PIPE = 141  # 128 + SIGPIPE

# What `train` records with the model, and what a model without it was trained with.
_PREPROCESSING: dict[str, Any] = {"normalize": "none", "zero_based": False, "dtype": "float32"}


# ---------------------------------------------------------------- messages


def note(message: str) -> None:
    """Print one line about the run to stderr; stdout is for results."""
    print(f"multimargin: {shown(message)}", file=sys.stderr, flush=True)


def describe_error(error: BaseException) -> str:
    """Return one line without the name of the Python class."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return " ".join(str(error).split()) or type(error).__name__


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a Python warning as one line."""
    note(f"warning: {' '.join(str(message).split())}")


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object to stdout; numbers that JSON lacks become null."""
    print(json.dumps(_finite(result)))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(rows: dict[str, str]) -> None:
    """Print names and values to stdout, aligned."""
    width = max(len(name) for name in rows)
    for name, value in rows.items():
        print(f"{name:<{width}}  {shown(value)}")


# ---------------------------------------------------------------- arguments


def positive_int(text: str) -> int:
    """Parse an argument that counts something."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value


def seed(text: str) -> int:
    """Parse the seed of the random numbers."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return value


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Parse a time such as 60, 60s, 5m or 1h, in seconds."""
    number = text.strip().rstrip("smh")
    unit = _UNITS.get(text.strip()[len(number) :])
    try:
        value = float(number) * (math.nan if unit is None else unit)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 60s, 5m or 1h")
    return value


def positive_float(text: str) -> float:
    """Parse an argument that must be positive and finite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def penalty(text: str) -> float:
    """Parse C: positive, "inf" included; which formulations take that is the estimator's affair."""
    return math.inf if text.strip().lower() in ("inf", "infinity") else positive_float(text)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the option that every subcommand with work to do has."""
    parser.add_argument(
        "--threads",
        type=positive_int,
        metavar="N",
        help="number of threads, of each process under mpiexec (default: one for each processor, "
        "divided by the processes of a host)",
    )


def n_jobs(args: argparse.Namespace) -> int:
    """Return the threads as estimators count them, for which None would mean one."""
    return -1 if args.threads is None else int(args.threads)


def refuse_same_file(output: str, *inputs: str) -> None:
    """Refuse to replace one of the files that are read."""
    for path in inputs:
        try:
            same = Path(output).samefile(path)
        except OSError:  # one of them is not there; whoever opens it will say so
            continue
        if same:
            raise ValueError(f"{output} would be overwritten, but it is also the input {path}")


# ---------------------------------------------------------------- data


def read_data(
    path: str,
    preprocessing: dict[str, Any],
    *,
    n_features: int | None,
    threads: int | None,
    comm: Communicator,
) -> tuple[csr_matrix[Any], NDArray[Any]]:
    """Read a file for training, and do to it what `preprocessing` says."""
    return distributed.load(
        path, **preprocessing, n_features=n_features, n_threads=threads, comm=comm
    )


def read_data_for(
    model: distributed.DistributedModel, args: argparse.Namespace, *, labelled: bool
) -> tuple[Any, Any]:
    """Read DATA for prediction, treated as the training data of the model was.

    Features that the model has never seen have no coefficients and are left out.

    Parameters
    ----------
    model : DistributedModel
    args : Namespace
        With ``model``, ``data``, ``threads`` and what `add_column_options` adds.
    labelled : bool
        Whether a table must have labels, or has none that are looked at.

    Returns
    -------
    X : csr_matrix; or a Table or an array of texts for a model that has `features_`
    y : ndarray, or None where a table has no labels
    """
    names = ("text", "label", "format", "encoding", "skip_unlabelled")
    table = {name: value for name in names if (value := getattr(args, name, None))}
    model_path, path = args.model, args.data
    if hasattr(model, "features_"):
        X, y, skipped = read_raw(model, model_path, path, labelled=labelled, **table)
        note_skipped(skipped, model.comm)
        return X, y
    for name in table:
        raise ValueError(
            f"--{name.replace('_', '-')} is for models of tables; {model_path} takes LIBSVM text"
        )
    if table_format(path) is not None:
        raise ValueError(
            f"{path} is a table, but {model_path} was trained on LIBSVM text and knows no words"
        )
    return distributed.load(
        path,
        **_known_preprocessing(model.preprocessing_, model_path),
        n_features=model.n_features_in_,
        n_threads=args.threads,
        ignore_extra_features=True,
        comm=model.comm,
    )


def note_skipped(rows: int, comm: Communicator) -> None:
    """Say that rows without a label are left out."""
    if rows and comm.rank == 0:
        note(f"note: {rows:,} rows without a label are left out")


def features_of(model: distributed.DistributedModel, X: Any) -> Any:
    """Features of what `read_data_for` has read, with a note of the samples that have none."""
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


def _known_preprocessing(recorded: Mapping[str, Any], model_path: str) -> dict[str, Any]:
    """Return the model's preprocessing, or refuse one that this command cannot repeat."""
    found: dict[str, Any] = {**_PREPROCESSING, **recorded}
    for name, value in found.items():
        allowed = {
            "normalize": NORMS,
            "zero_based": (False, True),
            "dtype": ("float32", "float64"),
        }.get(name, ())
        if value not in allowed:
            raise ValueError(
                f"{model_path}: the model was trained on samples with {name}={value!r}, which "
                "this command cannot repeat; load the model in Python with multimargin.load_model"
            )
    return found
