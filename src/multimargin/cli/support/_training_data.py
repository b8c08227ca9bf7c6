"""Data to train on: LIBSVM files or columns of tables, and the options that describe them."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._label_costs import LABEL_COSTS, label_cost_of, tree_of
from multimargin.cli.support._labels import check_two_classes, note_skipped, read_labelled
from multimargin.distributed._fit import NORMS
from multimargin.estimator._svc import MulticlassSVC
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.tables import Table
from multimargin.tables._read import FORMATS, table_format
from multimargin.text import TextClassifier
from multimargin.text._options import ANALYZERS

# Rows that begin and that end the options of a command which trains.
TRAINING = f"""\
DATA                     LIBSVM text; or, with --text and --label, a table: CSV, TSV or JSON lines,
                         all of these plain or compressed, or Parquet
--tol T = 0.01           tolerance
--no-intercept           scores without a constant term
--free-intercept         a constant term that is not regularised (ww and cs)
--class-weight balanced  weigh classes by their inverse frequency
{LABEL_COSTS}"""
DATA_OPTIONS = f"""\
{arguments.LABELLED_TABLES}
--numeric A,B       columns with numbers, as further features
--categorical A,B   columns with categories, likewise
[features of texts]
--analyzer {"|".join(ANALYZERS)}  what features are made of: words, characters, or characters within
                    words (default: word)
--ngrams N-M        from N to M of them (default: 1-1)
--min-df N          leave out what is in fewer texts, a number (2) or a share (0.001) (default: 1)
--max-df N          leave out what is in more texts (default: 1.0, all)
--max-features N    keep the N most frequent
--stop-words english  leave out frequent words of a language
--no-idf            do not give rare words more weight
[LIBSVM text]
--normalize {"|".join(NORMS)} = none  l2: scale each sample to unit length, here and in predict and
                    evaluate
--features N        number of features (default: as found)
--zero-based        feature numbers start at 0, not at 1
--dtype float32|float64 = float32  type of the feature values"""

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


_frequency = arguments.checked(
    _count_or_share,
    lambda value: value >= 1 if isinstance(value, int) else 0 <= value <= 1,
    "a whole number of at least 1 or a share from 0.0 to 1.0",
)
KINDS: dict[str, Any] = {
    "tol": arguments.positive_float,
    "seed": arguments.seed,
    **dict.fromkeys(("text", "numeric", "categorical"), arguments.names),
    "ngrams": arguments.checked(_bounds, lambda n: 1 <= n[0] <= n[1], "a range such as 1-2"),
    **dict.fromkeys(("min_df", "max_df"), _frequency),
}


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
    same = ("analyzer", "min_df", "max_df", "max_features", "stop_words", "numeric", "categorical")
    given = {
        **{name: getattr(args, name) for name in same},
        "ngram_range": args.ngrams,
        "use_idf": False if args.no_idf else None,
        "text": None if not args.text else args.text[0] if len(args.text) == 1 else args.text,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return TextClassifier(**shared, **given)


def recorded(args: argparse.Namespace) -> dict[str, Any]:
    """Return the `preprocessing` that `save_model` records."""
    if takes_table(args):
        return {"label": args.label}
    return {name: getattr(args, name) for name in ("normalize", "zero_based", "dtype")}


def read_training(
    args: argparse.Namespace, comm: Communicator
) -> tuple[Any, NDArray[Any], MulticlassSVC]:
    """Read DATA for training: a CSR matrix or a table, the labels, and the result of `unfitted`.

    Called by all ranks.
    """
    template = unfitted(args)
    if not isinstance(template, TextClassifier):
        X: Any
        X, y = distributed.load(
            args.data, **recorded(args), n_features=args.features, n_threads=args.threads, comm=comm
        )
    else:
        with raise_on_all(comm):
            X, y, skipped = _read_labelled(args)
            check_two_classes(args.data, args.label, y)
        note_skipped(skipped, comm)
    if args.label_cost is not None:
        template.set_params(label_cost=label_cost_of(args, np.unique(y)))
    return X, y, template


def read_validation(args: argparse.Namespace, X: Any) -> tuple[Any, NDArray[Any]] | None:
    """Read the file of --validation as the training samples `X` were; it may have fewer labels."""
    if args.validation is None:
        return None
    comm = SerialCommunicator()
    if takes_table(args):
        table, y, skipped = _read_labelled(
            argparse.Namespace(**vars(args) | {"data": args.validation})
        )
        note_skipped(skipped, comm)
        return table, y
    # Features that no training sample has would have no weights.
    return distributed.load(
        args.validation,
        **recorded(args),
        n_features=X.shape[1],
        n_threads=args.threads,
        ignore_extra_features=True,
        comm=comm,
    )


def _read_labelled(args: argparse.Namespace) -> tuple[Table, NDArray[Any], int]:
    wanted = [*(args.text or ()), *(args.numeric or ()), *(args.categorical or ())]
    if args.label in wanted:
        raise ValueError(f"column {args.label!r} holds the labels: it cannot be a feature, too")
    return read_labelled(args, wanted, args.label)
