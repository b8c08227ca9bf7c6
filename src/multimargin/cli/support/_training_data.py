"""Data to train on: LIBSVM files, columns of tables or vectors, and options that describe them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import FEATURES
from multimargin.cli.support._label_costs import label_cost_of, tree_of
from multimargin.cli.support._labels import (
    check_two_classes,
    is_table,
    note_skipped,
    read_labelled,
)
from multimargin.cli.support._vectors import is_vectors, read_vector_data
from multimargin.estimator._svc import MulticlassSVC
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.tables import Table
from multimargin.tables._read import FORMATS
from multimargin.text import TextClassifier

# Options by what they belong to, with the values that stand for not given.
_TABLE: dict[str, Any] = {
    **dict.fromkeys(("text", "label", "numeric", "categorical", "format", "encoding", "delimiter")),
    "skip_unlabelled": False,
}
_VECTORIZER: dict[str, Any] = {
    **dict.fromkeys(("analyzer", "ngrams", "min_df", "max_df", "max_features", "stop_words")),
    "encoder": None,
    "no_idf": False,
}
_LIBSVM = {"zero_based": False, "dtype": "float32"}
_NORM = {"normalize": "none"}
# What says nothing of vectors.
_COLUMNS = dict.fromkeys(("text", "numeric", "categorical"))


def _given(args: argparse.Namespace, options: dict[str, Any]) -> list[str]:
    return [
        "--" + name.replace("_", "-")
        for name, default in options.items()
        if getattr(args, name, default) != default
    ]


def takes_table(args: argparse.Namespace) -> bool:
    """Tell whether DATA is a table, before it is read; refuse options that do not go together."""
    if is_vectors(args):
        _check_vectors(args)
        return False
    if args.labels is not None:
        raise ValueError("--labels is for vectors, DATA.npy: tables have --label COLUMN")
    table = _given(args, _TABLE)
    if not table and not _given(args, _VECTORIZER):
        if not is_table(args):
            if isinstance(args.features, str):
                raise ValueError(f"--features {args.features} is for tables: --text COLUMN")
            return False
        raise ValueError(
            f"{args.data} is a table: say which column holds the texts and which the labels, "
            "--text COLUMN --label COLUMN"
        )
    if not (args.text or args.numeric or args.categorical):
        given = (table or _given(args, _VECTORIZER))[0]
        raise ValueError(
            f"{given} is for tables: say which column holds the texts, --text COLUMN, or which "
            "hold other features, --numeric A,B --categorical C,D"
        )
    if args.label is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    if not is_table(args):
        raise ValueError(
            f"{args.data}: the name does not tell which table this is: give --format "
            f"{'|'.join(FORMATS)}. LIBSVM text has no columns: leave --text and --label out"
        )
    if given_here := _given(args, _LIBSVM | _NORM):
        raise ValueError(f"{given_here[0]} is for LIBSVM text, not for tables")
    if isinstance(args.features, int):
        allowed = ", ".join(FEATURES)
        raise ValueError(f"--features {args.features} is for LIBSVM text; for tables: {allowed}")
    if not args.text and _given(args, _VECTORIZER):
        raise ValueError(f"{_given(args, _VECTORIZER)[0]} is for texts: --text COLUMN")
    return True


def _check_vectors(args: argparse.Namespace) -> None:
    given = _given(args, _COLUMNS | _VECTORIZER | _LIBSVM | {"features": None})
    if given:
        raise ValueError(f"{given[0]} says nothing of vectors, which {args.data} holds")
    if args.vector is not None and args.labels is not None:
        raise ValueError("--labels is for .npy files: with --vector, labels are in --label COLUMN")


def unfitted(args: argparse.Namespace) -> MulticlassSVC:
    """Return an estimator for the data, with the parameters that the shared options give."""
    if args.free_intercept and args.no_intercept:
        raise ValueError("--free-intercept and --no-intercept exclude each other: give one of them")
    shared = {
        "tol": args.tol,
        "fit_intercept": "free" if args.free_intercept else not args.no_intercept,
        "class_weight": args.class_weight,
        "label_cost": tree_of(args),
        "n_jobs": arguments.n_jobs(args),
        "random_state": args.seed,
    }
    if not takes_table(args):
        return MulticlassSVC(**shared)
    same = ["analyzer", "min_df", "max_df", "max_features", "stop_words", "numeric", "categorical"]
    same += ["encoder", "features"]
    given = {
        **{name: getattr(args, name) for name in same},
        "ngram_range": args.ngrams,
        "use_idf": False if args.no_idf else None,
        "text": None if not args.text else args.text[0] if len(args.text) == 1 else args.text,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return TextClassifier(**shared, **given)


def recorded(args: argparse.Namespace) -> dict[str, Any]:
    separator = getattr(args, "label_separator", None)
    several = {} if separator is None else {"label_separator": separator}
    if takes_table(args):
        return {"label": args.label, **several}
    if is_vectors(args):
        if several:
            raise ValueError("--label-separator is for tables of texts and for LIBSVM text")
        columns = {} if args.vector is None else {"vector": args.vector, "label": args.label}
        return {"normalize": args.normalize} | columns
    if separator not in (None, ","):
        raise ValueError("LIBSVM text has commas between labels: --label-separator comma")
    return {name: getattr(args, name) for name in ("normalize", "zero_based", "dtype")} | several


def read_libsvm(path: str, treated: Mapping[str, Any], **more: Any) -> tuple[Any, Any]:
    """Read LIBSVM text, treated as `recorded` says."""
    given = {name: value for name, value in treated.items() if name != "label_separator"}
    return distributed.load(path, **given, multilabel="label_separator" in treated, **more)


def read_training(
    args: argparse.Namespace, comm: Communicator
) -> tuple[Any, NDArray[Any], MulticlassSVC]:
    """Read DATA for training: a CSR matrix or a table, the labels, and the result of `unfitted`.

    Called by all ranks.
    """
    template = unfitted(args)
    more = {"comm": comm, "divide": getattr(args, "divide", "classes")}  # `tune` has no such option
    libsvm = not is_vectors(args) and not isinstance(template, TextClassifier)
    if more["divide"] == "samples" and not libsvm:
        raise ValueError("--divide samples is for LIBSVM text, not for tables and vectors")
    X: Any
    if is_vectors(args):
        with raise_on_all(comm):
            X, y, _, skipped = read_vector_data(args, labelled=True, norm=args.normalize)
            check_two_classes(args.data, args.label, y)
        note_skipped(skipped, comm)
    elif libsvm:
        X, y = read_libsvm(
            args.data, recorded(args), n_features=args.features, n_threads=args.threads, **more
        )
    else:
        with raise_on_all(comm):
            X, y, skipped = _read_labelled(args)
            if "label_separator" not in recorded(args):
                check_two_classes(args.data, args.label, y)
        note_skipped(skipped, comm)
    if args.label_cost is not None:
        template.set_params(label_cost=label_cost_of(args, np.unique(y)))
    return X, y, template


def read_as_training(args: argparse.Namespace, path: str, X: Any) -> tuple[Any, NDArray[Any]]:
    """Read a file as the training samples `X` were; it may have fewer labels."""
    comm = SerialCommunicator()
    other = argparse.Namespace(**vars(args) | {"data": path})
    if takes_table(args):
        table, y, skipped = _read_labelled(other)
        note_skipped(skipped, comm)
        return table, y
    if is_vectors(args):
        if args.labels is not None:
            raise ValueError(f"{path}: vectors need their labels in the file: .npz or Parquet")
        found = read_vector_data(other, labelled=True, norm=args.normalize)
        note_skipped(found.skipped, comm)
        return found.X, found.y
    # Features that no training sample has would have no weights.
    return read_libsvm(
        path,
        recorded(args),
        n_features=X.shape[1],
        n_threads=args.threads,
        ignore_extra_features=True,
        comm=comm,
    )


def _read_labelled(args: argparse.Namespace) -> tuple[Table, NDArray[Any], int]:
    wanted = [*(args.text or ()), *(args.numeric or ()), *(args.categorical or ())]
    if args.label in wanted:
        raise ValueError(f"column {args.label!r} holds the labels: it cannot be a feature, too")
    return read_labelled(args, wanted, args.label, getattr(args, "label_separator", None))
