"""``multimargin evaluate``: how well a model predicts a labelled file."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from multimargin import distributed
from multimargin.cli._common import (
    EXIT_OK,
    add_threads,
    features_of,
    n_jobs,
    note,
    positive_int,
    print_json,
    print_table,
    read_data_for,
)
from multimargin.cli._samples import add_column_options


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command."""
    parser = commands.add_parser(
        "evaluate",
        help="measure a model on labelled data",
        description="Compare the predictions of MODEL with the labels in DATA. Labels that the "
        "model does not know count as errors. Macro-F1 is the mean over all labels that are in "
        "DATA or were predicted.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")
    parser.add_argument("data", metavar="DATA", help="data as the model was trained on")
    parser.add_argument(
        "--top-k",
        type=positive_int,
        default=5,
        metavar="K",
        help="also how often the label is among the K best (default: 5)",
    )
    add_threads(parser)
    add_column_options(parser.add_argument_group("tables (CSV, TSV, JSON lines, Parquet)"))
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Load, predict, compare; under ``mpiexec`` each rank scores its classes."""
    # All of it is about to be read anyway, and a wrong index would be a wrong memory access.
    model = distributed.load_model(args.model, verify=True, n_jobs=n_jobs(args))
    X, y = read_data_for(
        model,
        args.model,
        args.data,
        threads=args.threads,
        text=args.text,
        label=args.label,
        labelled=True,
        format=args.format,
        encoding=args.encoding,
        skip_unlabelled=args.skip_unlabelled,
    )
    X = features_of(model, X)
    k = min(args.top_k, len(model.classes_))
    started = time.perf_counter()
    best, _ = model.predict_topk(X, k)
    seconds = time.perf_counter() - started
    if model.comm.rank == 0:
        _report(args, model, y, best, seconds)
    return EXIT_OK


def _report(
    args: argparse.Namespace,
    model: distributed.DistributedModel,
    y: NDArray[Any],
    best: NDArray[Any],
    seconds: float,
) -> None:
    result = {
        **measures(model.classes_, y, best),
        "density": float(model.model_density_),
        "predict_seconds": seconds,
    }
    if result["unseen_samples"]:
        note(
            f"note: {result['unseen_samples']:,} samples have one of {result['unseen_labels']:,} "
            "labels that the model does not know; they count as errors"
        )
    if args.json:
        print_json(result)
    else:
        _print(result)


def measures(classes: NDArray[Any], y: NDArray[Any], best: NDArray[Any]) -> dict[str, Any]:
    """Compare labels with predictions.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels that the model knows, sorted.
    y : ndarray of shape (n_samples,)
        True labels.
    best : ndarray of shape (n_samples, k)
        Predicted labels, the best one first.

    Returns
    -------
    result : dict
    """
    truth, n_unseen_labels = _codes(classes, y)
    predicted = np.searchsorted(classes, best)
    hit = predicted == truth[:, None]
    return {
        "samples": len(y),
        "error": 1.0 - float(hit[:, 0].mean()),
        "micro_f1": float(f1_score(truth, predicted[:, 0], average="micro", zero_division=0)),
        "macro_f1": float(f1_score(truth, predicted[:, 0], average="macro", zero_division=0)),
        "top_k": best.shape[1],
        "top_k_accuracy": float(hit.any(axis=1).mean()),
        "unseen_labels": n_unseen_labels,
        "unseen_samples": int((truth >= len(classes)).sum()),
    }


def _codes(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Number the labels: their place among the classes, or from n_classes on if not there.

    Also returns how many different labels are not there.
    """
    values, inverse = np.unique(y, return_inverse=True)
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.empty(len(values), dtype=np.intp)
    n_unseen = 0
    for i, label in enumerate(values.tolist()):
        code = place.get(as_class(label, classes))
        if code is None:
            code = len(classes) + n_unseen
            n_unseen += 1
        codes[i] = code
    return codes[inverse], n_unseen


def as_class(label: int | str, classes: NDArray[Any]) -> Any:
    """Return a label in the type of the classes.

    A file has integer labels if all of them are integers and text labels otherwise, so that
    the label 3 can be 3 in the training data and "3" in the test data, or the reverse.
    """
    if classes.dtype.kind in "UO":
        return str(label)
    if isinstance(label, str):
        try:
            return float(label)  # equal to the integer, and has its hash
        except ValueError:
            return None
    return label


def _print(result: dict[str, Any]) -> None:
    print_table(
        {
            "samples": f"{result['samples']:,}",
            "error": f"{100 * result['error']:.2f} %",
            "micro-F1": f"{result['micro_f1']:.4f}",
            "macro-F1": f"{result['macro_f1']:.4f}",
            f"top-{result['top_k']} accuracy": f"{100 * result['top_k_accuracy']:.2f} %",
            "density": f"{100 * result['density']:.3g} %",
            "prediction": f"{result['predict_seconds']:.2f} s",
        }
    )
