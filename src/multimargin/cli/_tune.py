"""``multimargin tune``: which formulation, and which C."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import time
from typing import Any

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    exit_status,
    note,
    print_json,
    print_table,
)
from multimargin.cli.support._training_data import (
    read_as_training,
    read_training,
    recorded,
    takes_table,
)
from multimargin.cli.usage._data_rows import DATA_OPTIONS, TRAINING
from multimargin.io._atomic import atomic_write, check_writable
from multimargin.io._figure_file import check_figure
from multimargin.io._text_table import counted, text_table
from multimargin.parallel._communicator import SerialCommunicator
from multimargin.persistence import save_model
from multimargin.selection._plots import write_plot
from multimargin.selection._tune import Tuner
from multimargin.selection._tuning import Candidate, Tuning
from multimargin.tables._write import write_table


def tune(args: argparse.Namespace) -> int:
    """Read, compare, print; after Ctrl-C print what was measured until then."""
    _check_files(args)
    X, y, template = read_training(args, SerialCommunicator())
    tuner = Tuner(
        X,
        y,
        estimator=template,
        formulations=args.formulations,
        Cs=args.C,
        folds=args.folds,
        holdout=args.holdout,
        validation=None if args.validation is None else read_as_training(args, args.validation, X),
        measure=args.measure,
        top_k=args.top_k,
        split_seed=args.seed,
        complete=args.complete,
    )
    interrupted = False
    try:
        _compare(tuner, args)
    except KeyboardInterrupt:
        if not tuner.tuning.candidates:
            raise
        interrupted = True
    _write(args, tuner.tuning, interrupted)
    if interrupted:
        note("interrupted: this is what was measured until then")
        return EXIT_INTERRUPTED
    if args.model is None:
        return EXIT_OK
    return _refit(args, template, X, y, tuner.tuning.best())


def _check_files(args: argparse.Namespace) -> None:
    """Check the files before the fits, not after."""
    takes_table(args)
    if args.plot is not None:
        check_figure(args.plot)
    for path in (args.plot, args.csv, args.model):
        if path is not None:
            arguments.refuse_same_file(path, args.data, args.validation)
            check_writable(path)


def _compare(tuner: Tuner, args: argparse.Namespace) -> None:
    if args.quiet:
        tuner.run()
        return
    if once := tuner.tuning.seen_once:
        are = "is seen once: it is" if once == 1 else "are seen once: they are"
        note(f"note: {counted(once, 'label')} {are} in training only")
    for name, why in tuner.tuning.left_out.items():
        note(f"note: {name} is left out, since {why}; --formulations {name} tries it")
    tuner.run_shown()


def _refit(args: argparse.Namespace, template: Any, X: Any, y: Any, best: Candidate) -> int:
    began = time.perf_counter()
    model = template.set_params(**best.parameters).fit(X, y)
    save_model(model, args.model, preprocessing=recorded(args))
    if not args.quiet:
        note(
            f"{best.formulation} with C={best.C:.6g}, trained on all {len(y):,} samples in "
            f"{time.perf_counter() - began:.1f} s: {args.model}"
        )
    return exit_status(model)


# ---------------------------------------------------------------- results


def _write(args: argparse.Namespace, tuning: Tuning, interrupted: bool) -> None:
    if args.csv is not None:
        rows = tuning.rows()
        with atomic_write(args.csv) as file:
            write_table(file, "csv", list(rows[0]), (list(row.values()) for row in rows))
    if args.plot is not None:
        write_plot(args.plot, tuning.curves(), tuning.label)
    following = _next(args, tuning.best())
    if args.json:
        print_json({**tuning.as_dict(), "interrupted": interrupted, "next": following})
    else:
        _print(tuning)
        if not interrupted:
            print(f"\nnext: {following}")


def _next(args: argparse.Namespace, best: Candidate) -> str:
    """Return the command that trains the best, or uses its model if it is trained already."""
    if args.model is not None:
        return shlex.join(["multimargin", "predict", args.model, "NEW_DATA"])
    words = ["multimargin", "train", args.data, "MODEL"]
    words += ["--formulation", best.formulation, "--C", f"{best.C:.6g}"]
    rows = "\n".join((TRAINING, DATA_OPTIONS, "--seed N = 0", arguments.THREADS))
    for option, default in re.findall(r"^(--\S+)(?: \S+)?(?: = (\S+))?", rows, re.MULTILINE):
        value = _written(getattr(args, option[2:].replace("-", "_")))
        if value not in ("", default):
            words += [option] if value == "True" else [option, value]
    return shlex.join(words)


def _written(value: Any) -> str:
    """Return the value of an option as it is written in a command; empty if it is not given."""
    if value is None or value is False:
        return ""
    if isinstance(value, tuple):
        return ("," if isinstance(value[0], str) else "-").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _print(tuning: Tuning) -> None:
    best, simplest = tuning.best(), tuning.simplest()
    head = ["", "C", "error %", "micro-F1", "macro-F1", f"top-{tuning.top_k} %"]
    titles, lines = [*head, "density %", "seconds", ""], []
    for one in tuning.candidates:
        marks = ["best"] if one is best else []
        marks += ["simplest within 1 SE"] if one is simplest and one is not best else []
        marks += [f"{len(one.points)} of {tuning.folds} folds"] * (len(one.points) < tuning.folds)
        marks += ["tolerance not reached"] * (not one.converged)
        lines.append(
            [
                one.formulation,
                f"{one.C:.3g}",
                _spread(one, "error", 100),
                _spread(one, "micro-f1"),
                _spread(one, "macro-f1"),
                _spread(one, "top-k", 100),
                f"{100 * one.density:.3g}",
                f"{one.seconds:.2f}",
                ", ".join(marks),
            ]
        )
    print(text_table(titles, lines, left=(0, len(titles) - 1)))
    print()
    rows = {"best": _named(best, tuning)}
    if simplest is not best:
        rows["simplest within one standard error"] = _named(simplest, tuning)
    print_table(rows)
    if advice := tuning.advice():
        note(f"note: {advice}")


def _named(one: Candidate, tuning: Tuning) -> str:
    value = f"{tuning.label} {one.mean(tuning.measure):.4f}"
    return f"--formulation {one.formulation} --C {one.C:.6g}  ({value})"


def _spread(one: Candidate, measure: str, factor: float = 1.0) -> str:
    """Write mean and standard error to significant digits."""
    digits = 2 if factor > 1 else 4
    mean, error = factor * one.mean(measure), factor * one.standard_error(measure)
    shown = f"{mean:.{digits}f}"
    return shown if math.isnan(error) else f"{shown} ±{error:.{digits}f}"
