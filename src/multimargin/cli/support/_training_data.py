"""Data to train on: LIBSVM files or columns of tables, and the options that describe them."""

from __future__ import annotations

import argparse
import copy
from typing import Any

from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._arguments import (
    add_columns,
    adder,
    checked,
    names,
    positive_float,
    positive_int,
    seed,
)
from multimargin.cli.support._labels import check_two_classes, labelled_rows, note_skipped
from multimargin.distributed._fit import NORMS
from multimargin.estimator._svc import MulticlassSVC
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.tables import Table, read_table
from multimargin.tables._read import FORMATS, table_format
from multimargin.text import TextClassifier
from multimargin.text._options import ANALYZERS

_DATA_HELP = (
    "LIBSVM text; or, with --text and --label, a table: CSV, TSV or JSON lines, all of these plain "
    "or compressed, or Parquet"
)

# Options by what they belong to, with the values that stand for not given.
_TABLE: dict[str, Any] = {
    **dict.fromkeys(("text", "label", "numeric", "categorical", "format", "encoding")),
    "skip_unlabelled": False,
}
_VECTORIZER: dict[str, Any] = {
    **dict.fromkeys(("analyzer", "ngrams", "min_df", "max_df", "max_features", "stop_words")),
    "no_idf": False,
}
_LIBSVM = {"normalize": "none", "features": None, "zero_based": False, "dtype": "float32"}


# ---------------------------------------------------------------- options


def _bounds(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    return int(low), int(high if dash else low)


def _count_or_share(text: str) -> int | float:
    return int(text) if text.strip().isdigit() else float(text)


_ngrams = checked(_bounds, lambda bounds: 1 <= bounds[0] <= bounds[1], "a range such as 1-2")
_frequency = checked(
    _count_or_share,
    lambda value: value >= 1 if isinstance(value, int) else 0 <= value <= 1,
    "a whole number of at least 1 or a share from 0.0 to 1.0",
)


def add_training_options(parser: argparse.ArgumentParser, *, seed_of: str) -> None:
    """Add DATA and the options of every training."""
    add = adder(parser)
    add("data", metavar="DATA", help=_DATA_HELP)
    add("--tol", type=positive_float, default=0.01, metavar="T", help="tolerance")
    add("--no-intercept", action="store_true", help="scores without a constant term")
    add("--class-weight", choices=("balanced",), help="weigh classes by their inverse frequency")
    add("--seed", type=seed, default=0, help=f"of {seed_of} (default: 0)")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how DATA is read and how features are made of it."""
    add = adder(add_columns(parser))
    add("--numeric", type=names, metavar="A,B", help="columns with numbers, as further features")
    add("--categorical", type=names, metavar="A,B", help="columns with categories, likewise")
    _add_vectorizer_options(parser.add_argument_group("features of texts"))
    add = adder(parser.add_argument_group("LIBSVM text"))
    add(
        "--normalize",
        choices=NORMS,
        default="none",
        help="l2: scale each sample to unit length, here and in predict and evaluate",
    )
    add("--features", type=positive_int, help="number of features (default: as found)")
    add("--zero-based", action="store_true", help="feature numbers start at 0, not at 1")
    add(
        "--dtype",
        choices=("float32", "float64"),
        default="float32",
        help="type of the feature values",
    )


def _add_vectorizer_options(group: argparse._ArgumentGroup) -> None:
    add = adder(group)
    add(
        "--analyzer",
        choices=ANALYZERS,
        help="what features are made of: words, characters, or characters within words "
        "(default: word)",
    )
    add("--ngrams", type=_ngrams, metavar="N-M", help="from N to M of them (default: 1-1)")
    add(
        "--min-df",
        type=_frequency,
        metavar="N",
        help="leave out what is in fewer texts, a number (2) or a share (0.001) (default: 1)",
    )
    add(
        "--max-df",
        type=_frequency,
        metavar="N",
        help="leave out what is in more texts (default: 1.0, all)",
    )
    add("--max-features", type=positive_int, help="keep the N most frequent")
    add("--stop-words", choices=("english",), help="leave out frequent words of a language")
    add("--no-idf", action="store_true", help="do not give rare words more weight")


# ---------------------------------------------------------------- what they mean


def _given(args: argparse.Namespace, options: dict[str, Any]) -> list[str]:
    """Return the options that were given, as they are written."""
    return [
        "--" + name.replace("_", "-")
        for name, default in options.items()
        if getattr(args, name, default) != default
    ]


def takes_table(args: argparse.Namespace) -> bool:
    """Tell whether DATA is a table, before it is read; refuse options that do not go together."""
    table = _given(args, _TABLE)
    if not table and not _given(args, _VECTORIZER):
        if table_format(args.data) is None:
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
    if args.format is None and table_format(args.data) is None:
        raise ValueError(
            f"{args.data}: the name does not tell which table this is: give --format "
            f"{'|'.join(FORMATS)}. LIBSVM text has no columns: leave --text and --label out"
        )
    if _given(args, _LIBSVM):
        raise ValueError(f"{_given(args, _LIBSVM)[0]} is for LIBSVM text, not for tables")
    if not args.text and _given(args, _VECTORIZER):
        raise ValueError(f"{_given(args, _VECTORIZER)[0]} is for texts: --text COLUMN")
    return True


def unfitted(args: argparse.Namespace) -> MulticlassSVC:
    """Return an estimator for the data, with the given parameters of the features."""
    if not takes_table(args):
        return MulticlassSVC()
    given = {
        "analyzer": args.analyzer,
        "ngram_range": args.ngrams,
        "min_df": args.min_df,
        "max_df": args.max_df,
        "max_features": args.max_features,
        "stop_words": args.stop_words,
        "use_idf": False if args.no_idf else None,
        "text": None if not args.text else args.text[0] if len(args.text) == 1 else args.text,
        "numeric": args.numeric,
        "categorical": args.categorical,
    }
    return TextClassifier(**{name: value for name, value in given.items() if value is not None})


def recorded(args: argparse.Namespace) -> dict[str, Any]:
    """Return the `preprocessing` that `save_model` records."""
    if takes_table(args):
        return {"label": args.label}
    return {name: getattr(args, name) for name in ("normalize", "zero_based", "dtype")}


def read_training(
    args: argparse.Namespace, comm: Communicator
) -> tuple[Any, NDArray[Any], MulticlassSVC]:
    """Read DATA for training. Called by all ranks.

    Parameters
    ----------
    args : Namespace
        With ``data``, ``threads`` and what `add_data_options` adds.
    comm : Communicator

    Returns
    -------
    X : csr_matrix or Table
    y : ndarray of shape (n_samples,)
    template : MulticlassSVC
        The result of `unfitted`.
    """
    template = unfitted(args)
    if not isinstance(template, TextClassifier):
        X, y = distributed.load(
            args.data, **recorded(args), n_features=args.features, n_threads=args.threads, comm=comm
        )
        return X, y, template
    with raise_on_all(comm):
        table, y, skipped = _read_labelled(args)
        check_two_classes(args.data, args.label, y)
    note_skipped(skipped, comm)
    return table, y, template


def read_validation(args: argparse.Namespace, path: str) -> tuple[Table, NDArray[Any]]:
    """Read another table with the columns of the training data; it may have fewer labels."""
    other = copy.copy(args)
    other.data = path
    table, y, skipped = _read_labelled(other)
    note_skipped(skipped, SerialCommunicator())
    return table, y


def _read_labelled(args: argparse.Namespace) -> tuple[Table, NDArray[Any], int]:
    wanted = [*(args.text or ()), *(args.numeric or ()), *(args.categorical or ())]
    if args.label in wanted:
        raise ValueError(f"column {args.label!r} holds the labels: it cannot be a feature, too")
    table = read_table(
        args.data, [*wanted, args.label], format=args.format, encoding=args.encoding or "utf-8"
    )
    return labelled_rows(table, args.label, skip_unlabelled=args.skip_unlabelled)
