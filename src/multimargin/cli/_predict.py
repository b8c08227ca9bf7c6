"""``multimargin predict``: the labels of a data file."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from multimargin import distributed
from multimargin._agreement import agreed
from multimargin._atomic import atomic_write, check_writable
from multimargin._mpi import world
from multimargin.cli._common import (
    EXIT_OK,
    add_threads,
    n_jobs,
    positive_int,
    read_data_for,
    refuse_same_file,
)

# Rows for which labels and scores are held as Python objects at a time.
_ROWS = 4096


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command."""
    parser = commands.add_parser(
        "predict",
        help="predict labels",
        description="Write the predicted label of each sample of DATA, one on each line. "
        "The labels in DATA are not used, but the format wants one: write 0.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")
    parser.add_argument("data", metavar="DATA", help="LIBSVM text, plain or compressed")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the file to write; - is stdout"
    )
    parser.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="write the K best labels with their scores, 'label:score label:score ...'",
    )
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Load, predict, write; under ``mpiexec`` each rank scores its classes, the first writes."""
    comm = world()
    to_file = args.output != "-" and not _is_device(args.output)
    with agreed(comm):
        if to_file and comm.rank == 0:
            refuse_same_file(args.output, args.model, args.data)
            check_writable(args.output)
    # All of it is about to be read anyway, and a wrong index would be a wrong memory access.
    model = distributed.load_model(args.model, verify=True, n_jobs=n_jobs(args), comm=comm)
    X, _ = read_data_for(model, args.model, args.data, threads=args.threads)
    lines = _lines(model, X, args.top_k)
    if comm.rank == 0:
        _write(lines, args.output, to_file)
    return EXIT_OK


def _write(lines: Iterator[str], output: str, to_file: bool) -> None:
    if output == "-":
        for line in lines:
            sys.stdout.write(line)
    elif to_file:
        with atomic_write(output) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            text.writelines(lines)
            text.flush()
            text.detach()  # the file is closed by its owner
    else:
        with Path(output).open("w", encoding="utf-8") as device:
            device.writelines(lines)


def _is_device(path: str) -> bool:
    """Tell whether this is a pipe or something like /dev/null, which cannot be replaced."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()


def _lines(model: distributed.DistributedModel, X: Any, k: int | None) -> Iterator[str]:
    """The lines to write. All ranks predict, here; the lines are made as they are asked for."""
    if k is None:
        labels: NDArray[Any] = model.predict(X)
        return (f"{label}\n" for label in labels.tolist())
    return _scored_lines(*model.predict_topk(X, min(k, len(model.classes_))))


def _scored_lines(best: NDArray[Any], scores: NDArray[Any]) -> Iterator[str]:
    for start in range(0, len(best), _ROWS):
        rows = slice(start, start + _ROWS)
        for names, values in zip(best[rows].tolist(), scores[rows].tolist(), strict=True):
            pairs = (f"{n}:{v:.6g}" for n, v in zip(names, values, strict=True))
            yield " ".join(pairs) + "\n"
