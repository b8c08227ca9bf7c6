"""``multimargin evaluate``: how well a model predicts a labelled file."""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from numpy.typing import NDArray

from multimargin import distributed
from multimargin._measures import measures
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
    X, y = read_data_for(model, args, labelled=True)
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
        # Not of a model that was put together by hand.
        "density": float(getattr(model, "model_density_", math.nan)),
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
