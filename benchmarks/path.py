"""The cost of a path over C next to one cold fit: ``python -m benchmarks.path``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.command_line import (
    add_data,
    add_json,
    positive,
    print_columns,
    print_machine,
    run_command,
    write_json,
)
from benchmarks.common.data import (
    DMOZ,
    LSHTC,
    WORDNET,
    DataSet,
    default_folder,
    in_folder,
    known,
    load,
)
from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.selection import default_penalties
from multimargin.selection._warm_fits import WarmFits, dense_bytes

_BAR = 3.0
_QUICK_SAMPLES = 4_000  # of WordNet, with their classes
_SETS = ("clinc150", LSHTC, DMOZ)
_MOST_DENSE_BYTES = 2**31
_EPILOG = """\
Ten values of C (multimargin.selection.default_penalties), with an intercept, in one thread. A path
is fitted from the smallest C to the largest, each model from the one before; cold is the dearest of
the same ten fits, each by itself. Ratios are of seconds of training, models to gap <= tol included.
The bar is 3, against the dearest of the ten cold fits at the same tol. One-vs-rest is above it
where classes have few samples: a cold fit takes a few passes then, and the certificates of ten
models alone cost nearly as much. The exit status is 1 if a ratio is above the bar.
"""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.path", description=__doc__, epilog=_EPILOG
    )
    add = parser.add_argument
    add(
        "sets",
        nargs="*",
        type=known,
        metavar="SET",
        help=f"default: {_QUICK_SAMPLES:,} samples of {WORDNET}, and those of {', '.join(_SETS)} "
        f"that are in the folder; {WORDNET} by its name is all of it",
    )
    add("--formulations", default=",".join(FORMULATIONS), metavar="A,B", help="default: all")
    add("--tol", type=float, default=0.01, metavar="T", help="default: 0.01")
    add("--threads", type=positive, default=1, metavar="N", help="default: 1")
    add("--repeats", type=positive, default=1, metavar="N", help="the fastest counts (default: 1)")
    add_data(parser)
    add_json(parser, "every fit")
    args = parser.parse_args()
    unknown = [name for name in args.formulations.split(",") if name not in FORMULATIONS]
    if unknown:
        parser.error(f"no formulation {unknown[0]}: choose from {', '.join(FORMULATIONS)}")
    return args


def _quick_wordnet(path: Path | None) -> DataSet:
    """Some of the samples in the package, of whole classes: those of labels that come first."""
    data = load(WORDNET, path)
    order = np.argsort(data.y, kind="stable")[:_QUICK_SAMPLES]
    y = np.unique(data.y[order], return_inverse=True)[1]
    return DataSet(data.X[order], y, None, None, data.source)


def _seconds(data: DataSet, formulation: str, args: argparse.Namespace, warm: bool) -> list[Any]:
    """Seconds, passes and gap of the ten fits."""
    model = MulticlassSVC(formulation, tol=args.tol, n_jobs=args.threads, random_state=0)
    fits = WarmFits(model, data.X, data.y)
    Cs = default_penalties(formulation, len(fits.classes))
    rows = []
    began = time.perf_counter()
    for fit in fits.along(Cs, warm=warm):
        done = time.perf_counter()
        model = fit.model
        rows.append([float(model.C), done - began, int(model.n_iter_), float(model.dual_gap_)])
        if not model.converged_:
            warnings.warn(f"{formulation}, C={model.C:g}: tol not reached", stacklevel=2)
        began = time.perf_counter()
    return rows


def _fastest(data: DataSet, formulation: str, args: argparse.Namespace, warm: bool) -> list[Any]:
    runs = [_seconds(data, formulation, args, warm) for _ in range(args.repeats)]
    best: list[Any] = min(runs, key=lambda rows: sum(row[1] for row in rows))
    return best


def _measured(
    name: str, data: DataSet, formulation: str, args: argparse.Namespace
) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    n, d, k = len(data.y), data.X.shape[1], int(data.y.max()) + 1
    if (size := dense_bytes(formulation, n, d, k)) > _MOST_DENSE_BYTES:
        why = f"skipped: {size / 2**30:.0f} GiB"
        return (name, formulation, "-", "-", "-", "<= 3", why), None
    cold = _fastest(data, formulation, args, warm=False)
    warm = _fastest(data, formulation, args, warm=True)
    dearest = max(cold, key=lambda row: row[1])
    total = sum(row[1] for row in warm)
    ratio = total / dearest[1]
    line = (
        name,
        formulation,
        f"{dearest[1]:.2f} s (C={dearest[0]:.3g})",
        f"{total:.2f} s",
        f"{ratio:.2f}",
        f"<= {_BAR:g}",
        "yes" if ratio <= _BAR else "NO",
    )
    facts = {"set": name, "formulation": formulation, "ratio": ratio, "tol": args.tol}
    return line, {**facts, "cold": cold, "path": warm}


def main() -> int:
    """Measure what the command line asks for; returns the exit status."""
    args = _parse()
    about = print_machine()
    path = args.data or default_folder()
    names = args.sets or ["quick", *(name for name in _SETS if in_folder(name, path))]
    lines = [("set", "", "one cold fit", "path of ten", "ratio", "bar", "reached?")]
    content: dict[str, Any] = {"machine": about, "runs": []}
    for name in names:
        data = _quick_wordnet(path) if name == "quick" else load(name, path)
        title = f"{WORDNET}, {_QUICK_SAMPLES:,} samples" if name == "quick" else name
        for formulation in args.formulations.split(","):
            line, facts = _measured(title, data, formulation, args)
            print("  ".join(line), file=sys.stderr, flush=True)
            lines.append(line)
            content["runs"] += [facts] if facts is not None else []
    print_columns(lines, right=frozenset({4}))
    if args.json is not None:
        write_json(args.json, content)
    return int(any(line[-1] == "NO" for line in lines))


if __name__ == "__main__":
    run_command(main)
