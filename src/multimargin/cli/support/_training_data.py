"""The data of the subcommands that train: LIBSVM files, or columns of tables."""

from __future__ import annotations

import argparse
import copy
from typing import Any

from numpy.typing import NDArray

from multimargin.cli.support._common import note_skipped, positive_int, read_data
from multimargin.cli.support._labels import check_two_classes, labelled_rows
from multimargin.distributed._fit import NORMS
from multimargin.estimator._svc import MulticlassSVC
from multimargin.parallel._agreement import raise_on_all
from multimargin.parallel._communicator import Communicator, SerialCommunicator
from multimargin.tables import Table, read_table
from multimargin.tables._read import FORMATS, table_format
from multimargin.text import TextClassifier
from multimargin.text._options import ANALYZERS

DATA_HELP = (
    "LIBSVM text; or, with --text and --label, a table: CSV, TSV or JSON lines, all of these plain "
    "or compressed, or Parquet"
)

# Options by what they belong to, with the values that stand for not given.
_TABLE = {
    "text": None,
    "label": None,
    "numeric": None,
    "categorical": None,
    "format": None,
    "encoding": None,
    "skip_unlabelled": False,
}
_VECTORIZER: dict[str, Any] = {
    "analyzer": None,
    "ngrams": None,
    "min_df": None,
    "max_df": None,
    "max_features": None,
    "stop_words": None,
    "no_idf": False,
}
_LIBSVM = {"normalize": "none", "features": None, "zero_based": False, "dtype": "float32"}


# ---------------------------------------------------------------- options


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how DATA is read and how features are made of it."""
    table = parser.add_argument_group("tables (CSV, TSV, JSON lines, Parquet)")
    add_column_options(table)
    add = table.add_argument
    add("--numeric", type=names, metavar="A,B", help="columns with numbers, as further features")
    add("--categorical", type=names, metavar="A,B", help="columns with categories, likewise")
    _add_vectorizer_options(parser.add_argument_group("features of texts"))
    add = parser.add_argument_group("LIBSVM text").add_argument
    add(
        "--normalize",
        choices=NORMS,
        default="none",
        help="l2: scale each sample to unit length, here and in predict and evaluate "
        "(default: none)",
    )
    add("--features", type=positive_int, metavar="N", help="number of features (default: as found)")
    add("--zero-based", action="store_true", help="feature numbers start at 0, not at 1")
    add(
        "--dtype",
        choices=("float32", "float64"),
        default="float32",
        help="type of the feature values (default: float32)",
    )


def add_column_options(group: argparse._ArgumentGroup, *, labels: bool = True) -> None:
    """Add what says which columns of a table hold what, and how it is read."""
    add = group.add_argument
    add("--text", type=names, metavar="COLUMN", help="the column with the texts, or several: A,B")
    if labels:
        add("--label", metavar="COLUMN", help="the column with the labels")
        add(
            "--skip-unlabelled",
            action="store_true",
            help="leave out rows without a label, which are an error otherwise",
        )
    add("--format", choices=FORMATS, help="of DATA (default: what its name ends in)")
    add("--encoding", metavar="NAME", help="of DATA, such as cp1252 (default: utf-8)")


def _add_vectorizer_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
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
    add("--max-features", type=positive_int, metavar="N", help="keep the N most frequent")
    add("--stop-words", choices=("english",), help="leave out frequent words of a language")
    add("--no-idf", action="store_true", help="do not give rare words more weight")


def names(text: str) -> tuple[str, ...]:
    """Parse names of columns."""
    found = tuple(text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of columns such as a,b")
    return found


def _ngrams(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    try:
        bounds = int(low), int(high if dash else low)
    except ValueError:
        bounds = 0, 0
    if not 1 <= bounds[0] <= bounds[1]:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range such as 1-2")
    return bounds


def _frequency(text: str) -> float:
    try:
        value = int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        value = -1
    whole = isinstance(value, int)
    if not (value >= 1 if whole else 0 <= value <= 1):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a whole number of at least 1 nor a share from 0.0 to 1.0"
        )
    return value


# ---------------------------------------------------------------- what they mean


def _given(args: argparse.Namespace, options: dict[str, Any]) -> list[str]:
    """Those of the options that were given, as they are written."""
    return [
        "--" + name.replace("_", "-")
        for name, default in options.items()
        if getattr(args, name, default) != default
    ]


def takes_table(args: argparse.Namespace) -> bool:
    """Whether DATA is a table. Refuses options that do not go together.

    Called before anything is read.
    """
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
    """An estimator that takes the data, with default parameters but for those of the features."""
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
    """What `save_model` is told of the data as `preprocessing`."""
    if takes_table(args):
        return {"label": args.label}
    return {name: getattr(args, name) for name in ("normalize", "zero_based", "dtype")}


def read_training(
    args: argparse.Namespace, comm: Communicator
) -> tuple[Any, NDArray[Any], MulticlassSVC]:
    """The samples, their labels, and an unfitted estimator that takes them. Called by all ranks.

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
        As `unfitted` has it.
    """
    template = unfitted(args)
    if not isinstance(template, TextClassifier):
        X, y = read_data(
            args.data, recorded(args), n_features=args.features, threads=args.threads, comm=comm
        )
        return X, y, template
    with raise_on_all(comm):
        table, y, skipped = _read_labelled(args)
        check_two_classes(args.data, args.label, y)
    note_skipped(skipped, comm)
    return table, y, template


def read_validation(args: argparse.Namespace, path: str) -> tuple[Table, NDArray[Any]]:
    """Another table with the columns of the training data, which may have fewer labels."""
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
